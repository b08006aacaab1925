# SPDX-License-Identifier: GPL-2.0-or-later
"""retry_counters: SSRC and SLRC with their limits (IEEE 802.11-2012, 9.3.3)."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked


async def started(dut, short_limit: int, long_limit: int) -> Clocked:
    counters = Clocked(
        dut, "short_failure", "long_failure", "long_next", "short_success", "clear",
        cfg_short_retry_limit=short_limit, cfg_long_retry_limit=long_limit,
    )  # fmt: skip
    await counters.reset()
    return counters


async def fails(counters: Clocked, which: str) -> bool:
    """One failure; True when the counters say that it was the last one allowed."""
    await counters.set(**{which: 1}, long_next=int(which == "long_failure"))
    last = bool(counters.limit_reached)
    await counters.clock()
    await counters.set(**{which: 0})
    return last


@cocotb.test()
@cocotb.parametrize(limit=[1, 2, 7, 31])
async def the_last_allowed_failure_is_told_as_it_happens(dut, limit):
    for which, other in (("short_failure", "slrc"), ("long_failure", "ssrc")):
        counters = await started(dut, limit, limit)
        assert [await fails(counters, which) for _ in range(limit)] == [False] * (limit - 1) + [True]
        assert getattr(counters, other) == 0
        assert getattr(counters, "ssrc" if other == "slrc" else "slrc") == limit


@cocotb.test()
async def short_and_long_failures_do_not_add_up(dut):
    counters = await started(dut, 3, 3)
    for _ in range(2):
        assert not await fails(counters, "short_failure")
        assert not await fails(counters, "long_failure")
    assert (counters.ssrc, counters.slrc) == (2, 2)
    assert await fails(counters, "long_failure")


@cocotb.test()
async def a_cts_starts_the_short_count_anew_and_leaves_the_long(dut):
    counters = await started(dut, 7, 4)
    await fails(counters, "short_failure")
    await fails(counters, "long_failure")
    await counters.clock(short_success=1)
    assert (counters.ssrc, counters.slrc) == (0, 1)


@cocotb.test()
async def counts_stand_until_the_next_packet(dut):
    counters = await started(dut, 7, 4)
    await fails(counters, "short_failure")
    await fails(counters, "long_failure")
    for _ in range(5):
        await counters.clock()
    assert (counters.ssrc, counters.slrc) == (1, 1)
    await counters.clock(clear=1)
    assert (counters.ssrc, counters.slrc) == (0, 0)


@cocotb.test()
async def each_kind_has_its_limit_before_it_fails(dut):
    counters = await started(dut, 1, 2)
    assert counters.limit_reached == 1
    await counters.set(long_next=1)
    assert counters.limit_reached == 0


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_retry_counters(name):
    simulate("retry_counters", __file__, name, cocotb_tests(globals()))
