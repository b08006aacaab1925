# SPDX-License-Identifier: GPL-2.0-or-later
"""duplicate_cache: a retry that was received before is not received again (IEEE 802.11-2012, 9.3.2.10)."""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked


async def started(dut) -> Clocked:
    cache = Clocked(dut, "accept_data", "accept_group", "rx_ta", "rx_sequence", "rx_retry")
    await cache.reset()
    return cache


async def received(cache: Clocked, ta: int, sequence: int, retry: bool) -> str:
    await cache.clock(accept_data=1, rx_ta=ta, rx_sequence=sequence, rx_retry=int(retry))
    outcome = {(1, 0): "new", (0, 1): "duplicate"}[cache.deliver, cache.duplicate]
    await cache.clock()
    assert (cache.deliver, cache.duplicate) == (0, 0)
    return outcome


@cocotb.test()
async def only_a_retry_of_the_last_frame_of_a_station_is_a_duplicate(dut):
    cache = await started(dut)
    assert await received(cache, 0x1B, 5, True) == "new"
    assert await received(cache, 0x1B, 5, True) == "duplicate"
    assert await received(cache, 0x1B, 5, True) == "duplicate"
    assert await received(cache, 0x1B, 5, False) == "new"
    assert await received(cache, 0x1B, 6, True) == "new"
    assert await received(cache, 0x1B, 5, True) == "new"


@cocotb.test()
async def stations_are_told_apart_by_their_whole_address(dut):
    """Stations that share the low bits push each other out; a repetition may pass then, a new frame is never lost."""
    cache = await started(dut)
    assert await received(cache, 0x0200_0000_0003, 9, False) == "new"
    assert await received(cache, 0x0200_0000_0013, 9, True) == "new"
    assert await received(cache, 0x0200_0000_0003, 9, True) == "new"
    assert await received(cache, 0x8200_0000_0003, 9, True) == "new"


@cocotb.test()
async def frames_of_other_stations_do_not_disturb(dut):
    cache = await started(dut)
    for station in range(16):
        assert await received(cache, 0x0200_0000_0000 + station, 100 + station, False) == "new"
    for station in range(16):
        assert await received(cache, 0x0200_0000_0000 + station, 100 + station, True) == "duplicate"


@cocotb.test()
async def group_frames_are_always_new_and_not_remembered(dut):
    cache = await started(dut)
    for _ in range(2):
        await cache.clock(accept_group=1, rx_ta=0x1B, rx_sequence=7, rx_retry=1)
        assert (cache.deliver, cache.duplicate) == (1, 0)
    assert await received(cache, 0x1B, 7, True) == "new"


@cocotb.test()
async def nothing_is_remembered_over_a_reset(dut):
    cache = await started(dut)
    assert await received(cache, 0x1B, 5, False) == "new"
    await cache.reset()
    assert await received(cache, 0x1B, 5, True) == "new"


@cocotb.test()
async def a_new_frame_is_never_taken_for_a_duplicate(dut):
    """Any stations, any order: a duplicate has been received before, with the same number, from the same station."""
    cache = await started(dut)
    source = random.Random(4)
    seen: set[tuple[int, int]] = set()
    for _ in range(1500):
        ta, sequence = source.getrandbits(6) << 40 | source.getrandbits(6), source.choice((0, 1, 2, 0x800, 0x801))
        if await received(cache, ta, sequence, source.random() < 0.7) == "duplicate":
            assert (ta, sequence) in seen
        seen.add((ta, sequence))


@cocotb.test()
async def the_queues_of_a_station_do_not_make_each_other_forgotten(dut):
    """Bit 11 of the number is the queue: a frame of high priority comes between a frame and its retry."""
    cache = await started(dut)
    assert await received(cache, 0x1B, 5, False) == "new"
    assert await received(cache, 0x1B, 0x805, True) == "new"
    assert await received(cache, 0x1B, 5, True) == "duplicate"
    assert await received(cache, 0x1B, 0x805, True) == "duplicate"
    assert await received(cache, 0x2B, 5, True) == "new"  # takes the place of both
    assert await received(cache, 0x2B, 0x805, True) == "new"
    assert await received(cache, 0x1B, 5, True) == "new"
    assert await received(cache, 0x1B, 0x805, True) == "new"


ONE_QUEUE = [name for name in cocotb_tests(globals()) if "queues" not in name]


@pytest.mark.parametrize("name", ONE_QUEUE)
def test_duplicate_cache(name):
    simulate("duplicate_cache", __file__, name, ONE_QUEUE)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_duplicate_cache_of_two_queues(name):
    simulate("duplicate_cache", __file__, name, cocotb_tests(globals()), {"QUEUES": 2})
