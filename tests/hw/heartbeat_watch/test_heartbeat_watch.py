# SPDX-License-Identifier: GPL-2.0-or-later
"""heartbeat_watch: a host that does not beat is gone to the clock, and no other."""

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from testbench.build import cocotb_tests, simulate

CLOCKS_PER_US = 2
CLOCKS_PER_MS = 1000 * CLOCKS_PER_US


async def started(dut, limit_ms: int) -> None:
    """Out of reset, with the modem in possession of the converter from this clock on."""
    Clock(dut.clk, 10, "ns").start()
    dut.rst.value, dut.watches.value, dut.beat.value = 1, 0, 0
    dut.cfg_limit_ms.value = limit_ms
    await ClockCycles(dut.clk, 2)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    dut.watches.value = 1


async def beat(dut) -> None:
    dut.beat.value = 1
    await RisingEdge(dut.clk)
    dut.beat.value = 0


async def clocks_until_gone(dut, most: int) -> int | None:
    """Clock edges that pass until the host is gone; None: more than so many."""
    for passed in range(1, most + 1):
        await RisingEdge(dut.clk)
        await ReadOnly()
        if dut.gone.value == 1:
            return passed
    return None


@cocotb.test()
@cocotb.parametrize(limit_ms=[1, 3])
async def a_host_is_gone_when_the_limit_is_over_and_not_a_clock_before(dut, limit_ms: int):
    await started(dut, limit_ms)
    assert await clocks_until_gone(dut, 2 * limit_ms * CLOCKS_PER_MS) == limit_ms * CLOCKS_PER_MS
    # It stays so until the converter is taken away; then nothing of that time is left.
    await ClockCycles(dut.clk, 10)
    assert dut.gone.value == 1
    dut.watches.value = 0
    await RisingEdge(dut.clk)
    dut.watches.value = 1
    assert await clocks_until_gone(dut, 2 * limit_ms * CLOCKS_PER_MS) == limit_ms * CLOCKS_PER_MS


@cocotb.test()
async def each_beat_begins_the_time_anew(dut):
    """Also one in the last clock of a millisecond, and in the one before the end."""
    await started(dut, 2)
    for pause in (1, CLOCKS_PER_MS - 1, CLOCKS_PER_MS, 2 * CLOCKS_PER_MS - 2):
        await beat(dut)
        assert await clocks_until_gone(dut, pause) is None
        await RisingEdge(dut.clk)
    await beat(dut)
    assert await clocks_until_gone(dut, 3 * CLOCKS_PER_MS) == 2 * CLOCKS_PER_MS


@cocotb.test()
async def without_a_limit_or_a_converter_nobody_is_gone(dut):
    await started(dut, 0)
    assert await clocks_until_gone(dut, 3 * CLOCKS_PER_MS) is None
    await RisingEdge(dut.clk)
    dut.watches.value, dut.cfg_limit_ms.value = 0, 1
    assert await clocks_until_gone(dut, 3 * CLOCKS_PER_MS) is None


NAMES = cocotb_tests(globals())


@pytest.mark.parametrize("name", NAMES)
def test_heartbeat_watch(name):
    simulate("heartbeat_watch", __file__, name, NAMES, {"CLOCKS_PER_US": CLOCKS_PER_US})
