# SPDX-License-Identifier: GPL-2.0-or-later
"""dsss_phy with a converter of 25 or 20.48 Msps: its frames last as long as their chips, and it hears them again."""

import random

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from perhop.converter_rates import CONVERTER_RATES, resampled
from perhop.phy.channel import resampled as ideally_resampled
from perhop.phy.plcp import RATE_2MBPS, Frame
from perhop.phy.receiver import Receiver
from perhop.phy.transmitter import transmitted
from testbench.build import cocotb_tests, simulate

# The resamplers' own tests, and those of dsss_phy without them, run in `make test`.
pytestmark = pytest.mark.long

SEED = 1
INPUTS = ("rx_sample_valid", "rx_i", "rx_q", "tx_sample_take", "phy_tx_start", "phy_tx_rate", "phy_tx_bytes")
INPUTS += ("phy_tx_data", "phy_tx_valid", "phy_tx_last", "cfg_energy_detect", "cfg_energy_threshold_dbm")
RAMP_US = 16 / 44


class Bench:
    """Clocks, samples at the converter's rate, and octets both ways."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.rate_in, self.rate_22 = int(dut.RATE_IN.value), int(dut.RATE_22.value)
        self.msps = 22 * self.rate_in / self.rate_22
        self.clocks_per_sample = 2 if self.rate_in > self.rate_22 else 3
        self.random = np.random.default_rng(SEED)
        self.octets, self.ends, self.errors = bytearray(), 0, 0
        for name in INPUTS:
            getattr(dut, name).value = 0
        dut.cfg_tx_gain.value, dut.cfg_short_preamble.value, dut.cfg_carrier_sense.value = 256, 1, 1
        dut.cfg_rssi_base_dbm.value = -120
        dut.rst.value = 1

    async def reset(self) -> None:
        cocotb.start_soon(Clock(self.dut.clk, 2, "step").start())
        for _ in range(3):
            await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0

    async def send(self, psdu: bytes) -> np.ndarray:
        """The converter's samples from phy_tx_start until tx_active has fallen."""
        dut, waiting, samples, clock = self.dut, list(psdu), [], 0
        dut.phy_tx_start.value, dut.phy_tx_rate.value, dut.phy_tx_bytes.value = 1, RATE_2MBPS, len(psdu)
        while clock < 200 or int(dut.tx_active.value):
            take = clock % self.clocks_per_sample == 0
            dut.tx_sample_take.value = int(take)
            dut.phy_tx_valid.value, dut.phy_tx_last.value = bool(waiting), len(waiting) == 1
            dut.phy_tx_data.value = waiting[0] if waiting else 0
            await RisingEdge(dut.clk)
            ready = int(dut.phy_tx_ready.value)
            if take:
                samples.append((dut.tx_i.value.to_signed(), dut.tx_q.value.to_signed()))
            if ready and waiting:
                waiting.pop(0)
            dut.phy_tx_start.value = 0
            clock += 1
        dut.tx_sample_take.value = 0
        assert not waiting
        return np.array(samples)

    async def hear(self, samples: np.ndarray) -> None:
        dut = self.dut
        for i, q in samples.tolist():
            for clock in range(self.clocks_per_sample):
                dut.rx_i.value, dut.rx_q.value, dut.rx_sample_valid.value = i, q, int(clock == 0)
                await RisingEdge(dut.clk)
                if int(dut.phy_rx_valid.value):
                    self.octets.append(int(dut.phy_rx_data.value))
                if int(dut.phy_rx_end.value):
                    self.ends += 1
                    self.errors += int(dut.phy_rx_error.value)


@cocotb.test()
async def a_frame_goes_out_at_11_mchip_a_second_and_is_heard_again(dut):
    """Against the model's transmitter at the converter's rate; then through noise and offsets into the receiver."""
    bench = Bench(dut)
    await bench.reset()
    psdu = random.Random(SEED).randbytes(12)
    frame = Frame(psdu, RATE_2MBPS, short_preamble=True)
    samples = await bench.send(psdu)

    # As long as preamble, header, PSDU, pulse and ramp are, to a sample.
    sounding = np.flatnonzero(np.abs(samples).sum(axis=1) > 30)
    whole_us = len(transmitted(frame, 4)) / 44
    assert (sounding[-1] - sounding[0]) / bench.msps == pytest.approx(whole_us, abs=2 * RAMP_US / 3)

    # Each sample is close to what the transmitter's pulse has there: only the line between two of its samples differs.
    ideal = ideally_resampled(transmitted(frame, 4) @ np.array([1, 1j]), 44 / bench.msps, 0, len(samples))
    ours = samples @ np.array([1, 1j])
    first = sounding[0]
    errors = []
    for shift in np.arange(-3, 3, 1 / 64):
        moved = ideally_resampled(transmitted(frame, 4) @ np.array([1, 1j]), 44 / bench.msps, shift, len(ideal))
        part = slice(first + 40, first + 40 + 22 * 60)
        errors.append(np.linalg.norm(ours[part] - moved[40 : 40 + 22 * 60]) / np.linalg.norm(moved[40 : 40 + 22 * 60]))
    error_db = 20 * np.log10(min(errors))
    dut._log.info("%s Msps: %.1f dB between what is sent and an ideal pulse", bench.msps, error_db)
    assert error_db < -25

    for carrier_khz in (-120, 120):
        turn = np.exp(2j * np.pi * carrier_khz / 1e3 * np.arange(len(ours)) / bench.msps)
        wave = np.concatenate([np.zeros(400), ours * turn, np.zeros(200)])
        sigma = 1400 * np.sqrt(bench.msps / 10**2 / 2)  # Es/N0 20 dB
        wave = wave + sigma * (bench.random.standard_normal((2, len(wave))).T @ np.array([1, 1j]))
        heard = np.clip(np.round(np.stack([wave.real, wave.imag], axis=1)), -32768, 32767).astype(np.int64)
        bench.octets.clear()
        await bench.hear(heard)
        assert bytes(bench.octets) == psdu
        # And so does the model, behind the model of the resampler.
        assert [r.psdu for r in Receiver().run(resampled(heard, bench.rate_in, bench.rate_22))] == [psdu]
    assert (bench.ends, bench.errors) == (2, 0)


@pytest.mark.parametrize("rates", CONVERTER_RATES.values(), ids=CONVERTER_RATES)
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_converter_rates(name, rates):
    simulate("dsss_phy", __file__, name, parameters={"RATE_IN": rates[0], "RATE_22": rates[1]})
