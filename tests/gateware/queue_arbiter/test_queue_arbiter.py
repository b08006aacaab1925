# SPDX-License-Identifier: GPL-2.0-or-later
"""queue_arbiter: one exchange at a time, the higher queue first, one draw a clock (IEEE 802.11-2012, 9.19.2).

Timelines are in clocks; a bit pattern names queues: 1 is the lower, 2 the higher, 3 both.
"""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

LOW, HIGH, BOTH = 1, 2, 3


async def started(dut) -> Clocked:
    arbiter = Clocked(dut, "wants", "in_exchange", "outcome", "draw_wanted", "redraw")
    await arbiter.reset()
    return arbiter


async def exchange(arbiter: Clocked, queue: int) -> None:
    """A whole exchange of one queue, so that the arbiter's choice stands at it."""
    await arbiter.set(wants=queue)
    while not arbiter.granted & queue:
        await arbiter.clock()
    await arbiter.clock()
    await arbiter.set(wants=0, in_exchange=queue)
    await arbiter.clock(outcome=queue)
    await arbiter.set(in_exchange=0)


@cocotb.test()
@cocotb.parametrize(queue=[LOW, HIGH], last=[LOW, HIGH])
async def a_queue_alone_gets_the_medium(dut, queue, last):
    """clock   0        1          2
       wants   queue    queue      -
       granted -        queue      -      whichever queue sent last
    """  # fmt: skip
    arbiter = await started(dut)
    await exchange(arbiter, last)
    await arbiter.set(wants=queue)
    assert (arbiter.granted & queue, arbiter.collided) == (0, 0)
    await arbiter.clock()
    assert arbiter.held == BOTH - queue
    assert (arbiter.granted & queue, arbiter.collided, arbiter.sender) == (queue, 0, queue == HIGH)
    await arbiter.clock()
    await arbiter.set(wants=0, in_exchange=queue)
    assert (arbiter.held, arbiter.sender) == (BOTH - queue, queue == HIGH)
    await arbiter.clock()
    await arbiter.set(in_exchange=0)
    assert arbiter.held == 0


@cocotb.test()
@cocotb.parametrize(last=[LOW, HIGH])
async def of_two_in_one_clock_the_higher_goes_and_the_lower_has_collided_once(dut, last):
    """clock     0      1            2
       wants     both   high         -
       collided  low    -            -
       granted   -      high         -     (in clock 0 where it was the higher that sent last)
    """  # fmt: skip
    arbiter = await started(dut)
    await exchange(arbiter, last)
    await arbiter.set(wants=BOTH)
    assert arbiter.collided == LOW
    assert arbiter.granted & LOW == 0
    assert arbiter.granted == 0
    await arbiter.clock()
    assert arbiter.held == LOW
    await arbiter.set(wants=HIGH)
    assert (arbiter.granted, arbiter.sender) == (HIGH, 1)
    await arbiter.clock()
    await arbiter.set(wants=0, in_exchange=HIGH)
    assert (arbiter.collided, arbiter.held) == (0, LOW)


@cocotb.test()
async def who_comes_a_clock_later_finds_the_medium_taken_and_has_not_collided(dut):
    """clock     0      1          2
       wants     low    low,(high) -      the higher sent last
       held      -      high       high   so it cannot want in clock 1
       granted   -      low        -
    """  # fmt: skip
    arbiter = await started(dut)
    await exchange(arbiter, HIGH)
    await arbiter.set(wants=LOW)
    await arbiter.clock()
    assert (arbiter.held, arbiter.granted & LOW) == (HIGH, LOW)
    await arbiter.set(wants=BOTH)  # a frame_sequence that is held does not, but nothing depends on that
    assert (arbiter.collided, arbiter.granted) == (0, LOW)
    await arbiter.clock()
    await arbiter.set(wants=0, in_exchange=LOW)
    assert arbiter.held == HIGH


@cocotb.test()
async def the_record_is_that_of_the_queue_whose_packet_is_done(dut):
    """Also where the lower gives up because the higher goes."""
    arbiter = await started(dut)
    await arbiter.clock(outcome=LOW)
    assert arbiter.reporter == 0
    await arbiter.clock(wants=BOTH, outcome=LOW)
    assert (arbiter.reporter, arbiter.sender) == (0, 1)
    await arbiter.clock(in_exchange=HIGH, outcome=HIGH)
    assert (arbiter.reporter, arbiter.sender) == (1, 1)


@cocotb.test()
async def a_number_goes_to_the_higher_queue_first(dut):
    """A number that will not do (ns-2: the window itself) costs its queue a clock, not its turn."""
    arbiter = await started(dut)
    await arbiter.set(draw_wanted=BOTH)
    assert (arbiter.draw, arbiter.draw_again & LOW) == (HIGH, LOW)
    await arbiter.set(redraw=HIGH)
    assert (arbiter.draw, arbiter.draw_again) == (0, BOTH)
    await arbiter.set(draw_wanted=LOW, redraw=HIGH)
    assert (arbiter.draw, arbiter.draw_again & LOW) == (LOW, 0)
    await arbiter.set(draw_wanted=LOW, redraw=LOW)
    assert (arbiter.draw, arbiter.draw_again & LOW) == (0, LOW)
    await arbiter.set(draw_wanted=0)
    assert arbiter.draw == 0


@cocotb.test()
async def whatever_the_queues_do_only_one_is_in_an_exchange(dut):
    """Queues as frame_sequence is: they want while nothing holds them, go when granted, stop when collided."""
    arbiter = await started(dut)
    source = random.Random(7)
    wants, in_exchange = set(), set()
    exchanges, collisions = {LOW: 0, HIGH: 0}, 0
    for _ in range(4000):
        for queue in (LOW, HIGH):
            if source.random() < 0.2 and queue not in in_exchange:
                wants.add(queue)
        await arbiter.set(wants=0, in_exchange=sum(in_exchange))
        held = arbiter.held
        asked = sum(queue for queue in wants - in_exchange if not held & queue)
        await arbiter.set(wants=asked)
        assert arbiter.held == held
        went = [queue for queue in (LOW, HIGH) if arbiter.granted & asked & queue]
        lost = [queue for queue in (LOW, HIGH) if arbiter.collided & queue]
        assert len(went) <= 1
        assert not (went and in_exchange)
        assert lost in ([], [LOW])
        assert not lost or asked == BOTH
        await arbiter.clock()
        if source.random() < 0.3:
            in_exchange.clear()
        for queue in went:
            exchanges[queue] += 1
            wants.discard(queue)
            in_exchange.add(queue)
        wants -= set(lost)
        collisions += len(lost)
    assert min(*exchanges.values(), collisions) > 50


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_queue_arbiter(name):
    simulate("queue_arbiter", __file__, name, cocotb_tests(globals()), {"QUEUES": 2})
