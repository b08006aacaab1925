# SPDX-License-Identifier: GPL-2.0-or-later
"""device_time: each frame that the host takes has the time of its own end, whatever was heard and kept meanwhile."""

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from testbench.build import cocotb_tests, simulate

FRAMES = 4
SAMPLE_CLOCKS = 3
FIRST_TICKS = (1 << 40) - 50


class Unit:
    """A sample every third clock, each a tick; and what the MAC says, a clock at a time."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.clocks = 0
        self.ticks = FIRST_TICKS
        self.shown = 0
        """The tick of the sample that the modem has."""

    @classmethod
    async def start(cls, dut) -> "Unit":
        Clock(dut.clk, 10, "ns").start()
        dut.rst.value, dut.enabled.value = 1, 1
        unit = cls(dut)
        await unit.clock(4)
        dut.rst.value = 0
        await unit.clock(SAMPLE_CLOCKS)
        return unit

    async def clock(self, count: int = 1, **strobes: int) -> None:
        for _ in range(count):
            taken = self.clocks % SAMPLE_CLOCKS == 0
            self.dut.sample_taken.value, self.dut.sample_ticks.value = int(taken), self.ticks
            for name in ("rx_end", "rx_kept", "rx_last"):
                getattr(self.dut, name).value = strobes.get(name, 0)
            await FallingEdge(self.dut.clk)
            if taken:
                self.shown = self.ticks
                self.ticks += 1
            self.clocks += 1
            assert int(self.dut.now_ticks.value) == self.shown

    async def end(self, kept: bool, wait: int = 4) -> int:
        """A frame ends; whether it is one for the host is known some clocks later. Its time."""
        ticks = self.shown
        await self.clock(rx_end=1)
        await self.clock(wait)
        if kept:
            await self.clock(rx_kept=1)
        await self.clock(5)
        return ticks

    async def take(self) -> int:
        """The host takes a frame's last beat."""
        await self.clock(rx_last=1)
        return int(self.dut.frame_ticks.value)


@cocotb.test()
async def frames_that_wait_keep_their_times_and_others_have_none(dut):
    """
    heard   A kept   B not   C kept   D kept            E kept
    taken                                     A  C               D  E
    """
    unit = await Unit.start(dut)
    a = await unit.end(kept=True)
    await unit.end(kept=False)
    c, d = await unit.end(kept=True, wait=1), await unit.end(kept=True, wait=7)
    assert [await unit.take(), await unit.take()] == [a, c]
    e = await unit.end(kept=True)
    await unit.clock(50)
    assert int(dut.frame_ticks.value) == c, "it stands until the next is taken"
    assert [await unit.take(), await unit.take()] == [d, e]
    assert len({a, c, d, e}) == 4


@cocotb.test()
async def as_many_wait_as_the_mac_keeps(dut):
    unit = await Unit.start(dut)
    for _ in range(3):
        times = [await unit.end(kept=True) for _ in range(FRAMES)]
        assert [await unit.take() for _ in range(FRAMES)] == times


@cocotb.test()
async def what_the_mac_has_forgotten_is_forgotten_here(dut):
    """It was disabled while two frames waited: the next frame has its own time, not theirs."""
    unit = await Unit.start(dut)
    last, _, _ = [await unit.end(kept=True) for _ in range(3)]
    assert await unit.take() == last
    dut.enabled.value = 0
    await unit.clock(3)
    assert int(dut.frame_ticks.value) == last, "the frame that is on its way keeps its time"
    dut.enabled.value = 1
    ticks = await unit.end(kept=True)
    assert await unit.take() == ticks


NAMES = cocotb_tests(globals())


@pytest.mark.parametrize("name", NAMES)
def test_device_time(name):
    simulate("device_time", __file__, name, NAMES, {"FRAMES": FRAMES})
