# SPDX-License-Identifier: GPL-2.0-or-later
"""From the converter to the modem and back: exactly LOOP_SAMPLES, whatever the clocks, and again after any trouble."""

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from testbench.build import cocotb_tests, simulate

LOOP_SAMPLES = 16


class Path:
    """The converter: numbers the samples, and sees which come back when. Counts what the modem's side tells."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.every = 1
        self.stands = False
        self.at = 0
        self.loops: list[int | None] = []
        """By strobe: how many strobes ago the sample was heard that goes out; None: a zero does."""
        self.lost = self.late = 0

    @classmethod
    async def start(cls, dut, radio_ps: int, mac_ps: int, every: int = 1) -> "Path":
        Clock(dut.radio_clk, radio_ps, "ps", period_high=radio_ps // 2).start()
        await Timer(777, "ps")
        mac_clock = Clock(dut.mac_clk, mac_ps, "ps", period_high=mac_ps // 2)
        mac_clock.start()
        dut.rst.value = dut.own.value = 1
        dut.rx_stb.value = dut.tx_stb.value = dut.rx_data.value = 0
        path = cls(dut)
        path.mac_clock = mac_clock
        path.every = every
        await Timer(300, "ns")
        dut.rst.value = 0
        cocotb.start_soon(path.run())
        cocotb.start_soon(path.count())
        return path

    async def run(self) -> None:
        dut = self.dut
        await RisingEdge(dut.radio_clk)
        while True:
            if not self.stands:
                # Never 0, so that a zero is told from a sample.
                dut.rx_data.value = (self.at % 2048) << 16 | 1
                dut.rx_stb.value = dut.tx_stb.value = 1
                await RisingEdge(dut.radio_clk)
                # What stands at the strobe's edge is what the converter takes with it.
                if dut.tx_running.value == 1 and int(dut.tx_data.value):
                    self.loops.append((self.at - (int(dut.tx_data.value) >> 20)) % 2048)
                else:
                    self.loops.append(None)
                self.at += 1
            else:
                await RisingEdge(dut.radio_clk)
            if self.stands or self.every > 1:
                dut.rx_stb.value = dut.tx_stb.value = 0
                for _ in range(self.every - 1):
                    await RisingEdge(dut.radio_clk)

    async def count(self) -> None:
        while True:
            await RisingEdge(self.dut.mac_clk)
            self.lost += int(self.dut.stat_rx_sample_lost.value == 1)
            self.late += int(self.dut.stat_tx_sample_late.value == 1)


@cocotb.test()
@cocotb.parametrize(
    (("radio_ps", "mac_ps"), [(45454, 16666), (45454, 22700), (22727, 16666), (45455, 20000), (16667, 16666)])
)
async def a_sample_comes_back_after_a_number_of_strobes_that_no_clock_changes(dut, radio_ps: int, mac_ps: int):
    """At 22 million samples a second and others, with a modem's clock of no relation to theirs."""
    path = await Path.start(dut, radio_ps, mac_ps, every=1 if radio_ps > 40000 else 2 if radio_ps > 20000 else 3)
    await Timer(40, "us")
    assert len(path.loops) > 300
    assert set(path.loops[100:]) == {LOOP_SAMPLES}
    assert (path.lost, path.late) == (0, 0)


@cocotb.test()
@cocotb.parametrize(trouble=["too fast", "stands", "clock stops"])
async def after_trouble_the_loop_is_as_before(dut, trouble: str):
    """A converter that is too fast for the modem, one that stands, a modem whose clock is slow for a while."""
    path = await Path.start(dut, 22727, 16666, every=2)
    await Timer(20, "us")
    assert set(path.loops[100:]) == {LOOP_SAMPLES}
    if trouble == "too fast":
        path.every = 1
        await Timer(10, "us")
        path.every = 2
    elif trouble == "stands":
        path.stands = True
        await Timer(10, "us")
        path.stands = False
    else:
        dut.rst.value = 1
        await Timer(5, "us")
        dut.rst.value = 0
    await Timer(20, "us")
    assert (path.lost > 0) == (trouble == "too fast")
    lost, late, settled = path.lost, path.late, len(path.loops)
    await Timer(30, "us")
    assert set(path.loops[settled:]) == {LOOP_SAMPLES}, sorted({str(each) for each in path.loops[settled:]})
    assert (path.lost, path.late) == (lost, late)


@cocotb.test()
async def a_modem_whose_clock_stands_is_in_time_again(dut):
    """Samples wait in the FIFOs, and come out as fast as the converter takes them: without a pause they stay late."""
    path = await Path.start(dut, 45454, 16666)
    await Timer(20, "us")
    path.mac_clock.stop()
    await Timer(3, "us")
    path.mac_clock.start()
    await Timer(20, "us")
    assert path.late > 0
    late, settled = path.late, len(path.loops)
    await Timer(30, "us")
    assert set(path.loops[settled:]) == {LOOP_SAMPLES}, sorted({str(each) for each in path.loops[settled:]})
    assert path.late == late


@cocotb.test()
async def a_loop_that_is_too_short_for_the_clocks_is_told(dut):
    """A modem's clock that is too slow for LOOP_SAMPLES: zeros go out, and it is counted."""
    path = await Path.start(dut, 22727, 60000, every=6)
    await Timer(60, "us")
    assert set(path.loops[60:]) == {LOOP_SAMPLES}
    path.every = 1  # more than the modem takes
    await ClockCycles(dut.radio_clk, 1500)
    assert path.lost > 0 and None in path.loops[-200:]


NAMES = cocotb_tests(globals())


@pytest.mark.parametrize("name", NAMES)
def test_sample_path(name):
    simulate("sample_path_bench", __file__, name, NAMES)
