# SPDX-License-Identifier: GPL-2.0-or-later
"""descriptor_queue: packets in order, each with the time of its arrival."""

import random
from collections import deque

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

WIDTHS = {"ra": 48, "peer": 4, "bytes": 12, "rate": 3, "airtime_us": 16, "use_rts": 1, "tag": 16}
SERIES_WIDTHS = {"series_attempts": 20, "series_rate": 9, "series_airtime_us": 48}


async def started(dut) -> Clocked:
    queue = Clocked(
        dut,
        "tick_n",
        "tsf_us",
        "desc_valid",
        "desc_queue",
        "head_wanted",
        "head_taken",
        *(f"desc_{name}" for name in WIDTHS),
    )
    await queue.reset()
    return queue


def descriptor(source: random.Random) -> dict[str, int]:
    return {f"desc_{name}": source.getrandbits(width) for name, width in WIDTHS.items()}


def head(queue: Clocked) -> dict[str, int]:
    return {f"desc_{name}": getattr(queue, f"head_{name}") for name in WIDTHS}


@cocotb.test()
async def a_packet_is_at_the_head_in_the_next_clock(dut):
    queue = await started(dut)
    assert queue.head_valid == 0
    packet = descriptor(random.Random(1))
    await queue.clock(desc_valid=1, **packet)
    assert queue.head_valid == 1
    assert head(queue) == packet


@cocotb.test()
async def a_packet_arrives_at_the_end_of_the_ticks_of_its_clock(dut):
    queue = await started(dut)
    await queue.clock(desc_valid=1, tsf_us=(5 << 32) + 1000, tick_n=234)
    assert queue.head_t_enqueue_us == 1234
    await queue.reset()
    await queue.clock(desc_valid=1, tsf_us=1000)
    assert queue.head_t_enqueue_us == 1000


@cocotb.test()
async def a_full_queue_takes_no_packet_and_loses_none(dut):
    queue = await started(dut)
    source = random.Random(1)
    packets = [descriptor(source) for _ in range(5)]
    for packet in packets[:4]:
        assert queue.desc_ready == 1
        await queue.clock(desc_valid=1, **packet)
    assert queue.desc_ready == 0
    await queue.clock(desc_valid=1, **packets[4])
    for packet in packets[:4]:
        assert head(queue) == packet
        await queue.clock(head_taken=1)
        assert queue.desc_ready == 1
    assert queue.head_valid == 0


@cocotb.test()
async def a_random_sequence_keeps_the_order(dut):
    queue = await started(dut)
    source = random.Random(3)
    waiting: deque[tuple[dict[str, int], int]] = deque()
    for now_us in range(600):
        assert queue.head_valid == bool(waiting)
        assert queue.desc_ready == (len(waiting) < 4)
        if waiting:
            assert (head(queue), queue.head_t_enqueue_us) == waiting[0]
        give, take = source.random() < 0.6, bool(waiting) and source.random() < 0.5
        packet = descriptor(source)
        accepted = give and len(waiting) < 4
        await queue.clock(desc_valid=int(give), head_taken=int(take), tsf_us=now_us, **packet)
        if take:
            waiting.popleft()
        if accepted:
            waiting.append((packet, now_us))


@cocotb.test()
async def a_rate_series_goes_with_its_packet(dut):
    queue = await started(dut)
    source = random.Random(8)
    series = [{name: source.getrandbits(width) for name, width in SERIES_WIDTHS.items()} for _ in range(4)]
    for words in series:
        await queue.clock(desc_valid=1, **descriptor(source), **{f"desc_{name}": word for name, word in words.items()})
    for words in series:
        assert {name: getattr(queue, f"head_{name}") for name in SERIES_WIDTHS} == words
        await queue.clock(head_taken=1)


@cocotb.test()
async def two_queues_keep_their_packets_apart(dut):
    """Of two heads that could be taken in one clock the higher goes first; a full queue leaves the other its room."""
    queue = await started(dut)
    source = random.Random(5)
    waiting: list[deque[dict[str, int]]] = [deque(), deque()]
    both = 0
    for _ in range(800):
        assert queue.desc_ready == sum((len(packets) < 4) << number for number, packets in enumerate(waiting))
        assert queue.head_valid == sum(bool(packets) << number for number, packets in enumerate(waiting))
        wanted = source.randrange(4)
        await queue.set(head_wanted=wanted)
        could = [number for number in (0, 1) if wanted >> number & 1 and waiting[number]]
        both += len(could) == 2
        if could:
            assert queue.head_valid & wanted == 1 << could[-1]
            assert head(queue) == waiting[could[-1]][0]
            await queue.set(head_taken=1 << could[-1])
        give, to, packet = source.random() < 0.7, source.randrange(2), descriptor(source)
        accepted = give and queue.desc_ready >> to & 1
        await queue.clock(desc_valid=int(give), desc_queue=to, **packet)
        await queue.set(head_wanted=0, head_taken=0)
        if could:
            waiting[could[-1]].popleft()
        if accepted:
            waiting[to].append(packet)
    assert both > 50


TWO = ["two_queues_keep_their_packets_apart"]
ONE_RATE = [name for name in cocotb_tests(globals()) if "series" not in name and name not in TWO]


@pytest.mark.parametrize("name", TWO)
def test_descriptor_queue_of_two_queues(name):
    simulate("descriptor_queue", __file__, name, TWO, {"QUEUES": 2})


@pytest.mark.parametrize("name", ONE_RATE)
def test_descriptor_queue(name):
    simulate("descriptor_queue", __file__, name, ONE_RATE)


@pytest.mark.parametrize("name", [name for name in cocotb_tests(globals()) if name not in TWO])
def test_descriptor_queue_with_rate_series(name):
    names = [name for name in cocotb_tests(globals()) if name not in TWO]
    simulate("descriptor_queue", __file__, name, names, {"RATE_SERIES": 4})
