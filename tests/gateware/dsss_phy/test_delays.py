# SPDX-License-Identifier: GPL-2.0-or-later
"""dsss_phy: what perhop.registers.radio says of its delays, from the MAC to the air and from the air to the MAC.

A frame begins on the air half a chip before the middle of its first chip's pulse, and ends half a chip behind that of
its last one.
"""

from collections.abc import Iterator

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from perhop.phy import constants as phy
from perhop.phy.plcp import RATE_2MBPS, Frame
from perhop.phy.transmitter import transmitted
from perhop.registers.radio import modem_delays_clocks
from testbench.build import cocotb_tests, simulate

SEED = 1
TRIALS = 3
INPUTS = ("rx_sample_valid", "rx_i", "rx_q", "tx_sample_take", "phy_tx_start", "phy_tx_valid", "phy_tx_data")
INPUTS += ("phy_tx_last", "cfg_energy_detect")
FRAME = Frame(b"x", RATE_2MBPS, short_preamble=True)


class Time:
    """Clocks, and in which of them there is a sample."""

    def __init__(self, dut, clocks_per_sample: float, phase: float) -> None:
        self.dut = dut
        self.clock = 0
        self._clocks_per_sample = clocks_per_sample
        self._next = phase * clocks_per_sample

    def sample(self) -> bool:
        """Whether this clock has one."""
        due = self.clock >= self._next
        if due:
            self._next += self._clocks_per_sample
        return due

    async def step(self) -> None:
        await FallingEdge(self.dut.clk)
        self.clock += 1


async def reset(dut) -> None:
    for name in INPUTS:
        getattr(dut, name).value = 0
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0


async def clocks_to_the_air(dut, time: Time, samples_per_chip: int, begin: float) -> float:
    """From phy_tx_start to the begin of the frame, which is `begin` samples after its first one."""
    expected = transmitted(FRAME, samples_per_chip)[:40]
    start, sent = 20, []
    while len(sent) < 80:
        dut.phy_tx_start.value = int(time.clock == start)
        take = time.sample()
        if take:
            sent.append((time.clock, dut.tx_i.value.to_signed(), dut.tx_q.value.to_signed()))
        dut.tx_sample_take.value = int(take)
        await time.step()
    values = np.array(sent)[:, 1:]
    (first,) = [at for at in range(40) if np.array_equal(values[at : at + len(expected)], expected)]
    return sent[first][0] + begin - start


def noisy(samples: np.ndarray, random: np.random.Generator) -> Iterator[list[int]]:
    """The samples with a little noise before and after."""
    noise = np.round(random.standard_normal((600, 2)) * 4).astype(np.int64)
    return iter(np.vstack([noise[:300], samples * 4, noise[300:]]).tolist())


@cocotb.test()
@cocotb.parametrize(clocks_per_sample=[1, 16 / 11, 2, 32 / 11, 3, 4])
async def the_delays_are_those_that_software_writes(dut, clocks_per_sample: float):
    """Both are within half a sample and a clock of what is said of them; their sum does not creep with the trials."""
    samples_per_chip = int(dut.SAMPLES_PER_CHIP.value)
    if samples_per_chip == 2 and clocks_per_sample < 2:
        return
    random = np.random.default_rng(SEED)
    Clock(dut.clk, 2, "step").start()
    settings = {"short_preamble": 1, "tx_gain": 256, "rssi_base_dbm": -120, "energy_threshold_dbm": 0}
    settings |= {"ramp_log2_samples": 4, "lead_samples": 0, "hold_samples": 0}
    settings |= {"transmit_power_dbm": 0, "limit_threshold": 0}
    for name, value in (settings | {"carrier_sense": 1}).items():
        getattr(dut, f"cfg_{name}").value = value
    dut.phy_tx_rate.value, dut.phy_tx_bytes.value = RATE_2MBPS, 1
    half_pulse = (phy.PULSE_CHIPS * samples_per_chip - 1) / 2
    begin_samples = half_pulse - samples_per_chip / 2
    end_samples = begin_samples + samples_per_chip * phy.BARKER_CHIPS * FRAME.airtime_us()
    tx, rx = modem_delays_clocks(clocks_per_sample, {"samples_per_chip": samples_per_chip, "rate_in": 0, "rate_22": 0})
    sums = []
    for _ in range(TRIALS):
        await reset(dut)
        time = Time(dut, clocks_per_sample, random.uniform())
        begin_clocks = begin_samples * clocks_per_sample
        tx_clocks = await clocks_to_the_air(dut, time, samples_per_chip, begin_clocks)

        await reset(dut)
        time, heard = Time(dut, clocks_per_sample, random.uniform()), []
        air = noisy(transmitted(FRAME, samples_per_chip), random)
        while not int(dut.phy_rx_end.value):
            valid = time.sample()
            if valid:
                heard.append(time.clock)
                dut.rx_i.value, dut.rx_q.value = next(air)
            dut.rx_sample_valid.value = int(valid)
            await time.step()
        whole = int(300 + end_samples)
        rx_clocks = time.clock - heard[whole] - (300 + end_samples - whole) * clocks_per_sample
        dut._log.info("transmission %.2f clocks, reception %.2f", tx_clocks, rx_clocks)
        assert tx_clocks == pytest.approx(tx, abs=clocks_per_sample / 2 + 1)
        assert rx_clocks == pytest.approx(rx, abs=1.5)
        sums.append(tx_clocks + rx_clocks)
    assert np.mean(sums) == pytest.approx(tx + rx, abs=clocks_per_sample / 2 + 1)


NAMES = cocotb_tests(globals())
# The clock rates that most radios will have; the others are long.
QUICK = {(2, "clocks_per_sample=2"), (4, "clocks_per_sample=1")}


@pytest.mark.parametrize(
    ("samples_per_chip", "name"),
    [
        pytest.param(chip, name, marks=() if (chip, name.partition("/")[2]) in QUICK else pytest.mark.long)
        for chip in phy.PULSES
        for name in NAMES
    ],
)
def test_delays(samples_per_chip, name):
    simulate("dsss_phy", __file__, name, parameters={"SAMPLES_PER_CHIP": samples_per_chip})
