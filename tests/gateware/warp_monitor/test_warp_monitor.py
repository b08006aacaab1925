# SPDX-License-Identifier: GPL-2.0-or-later
"""warp_monitor: how far time may run, and that nobody lets it run further."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate, stops_the_simulation
from testbench.clocked import Clocked

NEVER = 0xFFFF_FFFF


async def started(dut) -> Clocked:
    monitor = Clocked(
        dut, "tick_n", "rx_pending", "sequence_pending", "sequence_wait_valid", "sequence_wait_us", "responder_busy",
        "responder_wait_us",
    )  # fmt: skip
    await monitor.reset()
    return monitor


@cocotb.test()
async def nothing_to_do_means_quiescent_for_ever(dut):
    monitor = await started(dut)
    assert (monitor.quiescent, monitor.next_timer) == (1, NEVER)


@cocotb.test()
async def the_earlier_of_both_timers_is_next(dut):
    monitor = await started(dut)
    await monitor.set(sequence_wait_valid=1, sequence_wait_us=100)
    assert monitor.next_timer == 100
    await monitor.set(responder_busy=1, responder_wait_us=10)
    assert monitor.next_timer == 10
    await monitor.set(sequence_wait_us=9)
    assert monitor.next_timer == 9
    await monitor.set(sequence_wait_valid=0)
    assert monitor.next_timer == 10


@cocotb.test()
async def whatever_is_pending_keeps_time_standing(dut):
    monitor = await started(dut)
    for name in ("rx_pending", "sequence_pending"):
        await monitor.set(**{name: 1})
        assert monitor.quiescent == 0
        await monitor.set(**{name: 0})
        assert monitor.quiescent == 1
    await monitor.set(responder_busy=1, responder_wait_us=0)
    assert monitor.quiescent == 0
    await monitor.set(responder_wait_us=1)
    assert monitor.quiescent == 1


@cocotb.test()
async def time_may_run_up_to_the_next_timer(dut):
    monitor = await started(dut)
    await monitor.set(sequence_wait_valid=1, sequence_wait_us=100)
    await monitor.clock(tick_n=100)
    assert monitor.next_timer == 100


@cocotb.test()
async def breaks_the_rule_that_time_stands_while_something_is_pending(dut):
    monitor = await started(dut)
    await monitor.set(sequence_pending=1)
    await monitor.clock(tick_n=1)
    await monitor.clock()


@cocotb.test()
async def breaks_the_rule_that_time_stops_at_the_next_timer(dut):
    monitor = await started(dut)
    await monitor.set(sequence_wait_valid=1, sequence_wait_us=100)
    await monitor.clock(tick_n=101)
    await monitor.clock()


NAMES = [name for name in cocotb_tests(globals()) if not name.startswith("breaks")]


@pytest.mark.parametrize("name", NAMES)
def test_warp_monitor(name):
    simulate("warp_monitor", __file__, name, NAMES)


def test_time_that_passes_too_early_stops_the_simulation():
    name = "breaks_the_rule_that_time_stands_while_something_is_pending"
    assert "a_time_passes_when_quiescent" in stops_the_simulation("warp_monitor", __file__, name)


def test_time_that_passes_too_far_stops_the_simulation():
    name = "breaks_the_rule_that_time_stops_at_the_next_timer"
    assert "a_time_stops_at_next_timer" in stops_the_simulation("warp_monitor", __file__, name)
