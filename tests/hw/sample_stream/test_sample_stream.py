# SPDX-License-Identifier: GPL-2.0-or-later
"""sample_stream: a sample out for each one in, in packets of one length, whoever waits.

clk        0 1 2 3 4 5 6 7 8
s_tdata    a a a a b b b b c      SPACING_CLOCKS = 4
rx_stb     1 . . . 1 . . . 1
tx_data    A       B       C      what the shell shows
m_tdata    . A . . . B . . .
"""

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from testbench.build import cocotb_tests, simulate

SEED = 1


class Bench:
    """Both streams and the shell, a clock at a time."""

    def __init__(self, dut) -> None:
        dut._log.info("seed %d", SEED)
        self.dut = dut
        self.random = np.random.default_rng(SEED)
        self.clock = 0
        self.given, self.heard, self.strobes = [], [], []
        self.shown, self.out, self.lasts = [], [], []
        self._waiting: int | None = None
        for name in ("rst", "s_tvalid", "s_tdata", "m_tready", "tx_data"):
            getattr(dut, name).value = 0

    async def reset(self) -> None:
        self.dut.rst.value, self.dut.s_tvalid.value, self._waiting = 1, 0, None
        for _ in range(3):
            await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0
        for seen in (self.given, self.heard, self.strobes, self.shown, self.out, self.lasts):
            seen.clear()

    async def run(self, clocks: int, comes: float, taken: float) -> None:
        """A sample comes, and one is taken, with these probabilities a clock; what is offered stays until then."""
        dut = self.dut
        for _ in range(clocks):
            if self._waiting is None and self.random.random() < comes:
                self._waiting = int(self.random.integers(1 << 32))
            dut.s_tvalid.value, dut.s_tdata.value = int(self._waiting is not None), self._waiting or 0
            dut.m_tready.value = int(self.random.random() < taken)
            shown = int(self.random.integers(1 << 32))
            dut.tx_data.value = shown
            await RisingEdge(dut.clk)
            if dut.rx_stb.value == 1:
                assert dut.s_tready.value == 1
                self.given.append(self._waiting)
                self.heard.append(int(dut.rx_data.value))
                self.shown.append(shown)
                self.strobes.append(self.clock)
                self._waiting = None
            else:
                assert dut.s_tready.value == 0
            if dut.m_tvalid.value == 1 and dut.m_tready.value == 1:
                self.out.append(int(dut.m_tdata.value))
                self.lasts.append(int(dut.m_tlast.value))
            self.clock += 1

    def check(self) -> None:
        packet, spacing = int(self.dut.SAMPLES_PER_PACKET.value), int(self.dut.SPACING_CLOCKS.value)
        assert self.heard == self.given
        assert len(self.shown) - len(self.out) in (0, 1)
        assert self.out == self.shown[: len(self.out)]
        assert self.lasts == [int(at % packet == packet - 1) for at in range(len(self.lasts))]
        assert len(self.strobes) < 2 or min(np.diff(self.strobes)) >= spacing


@cocotb.test()
@cocotb.parametrize(comes=[0.02, 0.3, 1.0], taken=[0.05, 0.5, 1.0])
async def a_sample_goes_out_for_each_that_comes(dut, comes: float, taken: float):
    """In order, none twice, none lost; packets of one length; never sooner than SPACING_CLOCKS after the last."""
    bench = Bench(dut)
    Clock(dut.clk, 10, "ns").start()
    await bench.reset()
    await bench.run(3000, comes, taken)
    assert len(bench.out) > 20
    bench.check()


@cocotb.test()
async def nobody_waits_longer_than_the_spacing(dut):
    """Both sides ready: a sample every SPACING_CLOCKS, no fewer."""
    bench = Bench(dut)
    Clock(dut.clk, 10, "ns").start()
    await bench.reset()
    await bench.run(1000, 1.0, 1.0)
    assert set(np.diff(bench.strobes).tolist()) == {int(dut.SPACING_CLOCKS.value)}
    bench.check()


@cocotb.test()
async def a_reset_in_the_middle_of_a_packet_begins_a_new_one(dut):
    bench = Bench(dut)
    Clock(dut.clk, 10, "ns").start()
    await bench.reset()
    while len(bench.out) % int(dut.SAMPLES_PER_PACKET.value) != 3:
        await bench.run(1, 1.0, 1.0)
    await bench.reset()
    assert dut.m_tvalid.value == 0
    await bench.run(600, 0.5, 0.5)
    assert sum(bench.lasts) >= 2
    bench.check()


NAMES = cocotb_tests(globals())


@pytest.mark.parametrize("spacing", [1, 7])
@pytest.mark.parametrize("name", NAMES)
def test_sample_stream(name, spacing):
    parameters = {"SAMPLES_PER_PACKET": 8, "SPACING_CLOCKS": spacing}
    simulate("sample_stream", __file__, name, NAMES, parameters)
