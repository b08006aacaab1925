# SPDX-License-Identifier: GPL-2.0-or-later
"""dsss_phy with a converter of 25 or 20.48 Msps: its frames last as long as their chips, it hears them again, and its
delays are those that perhop.registers.radio says."""

import itertools
import random

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from perhop.phy.channel import resampled as ideally_resampled
from perhop.phy.converter_rates import CONVERTER_RATES, resampled
from perhop.phy.plcp import RATE_2MBPS, Frame
from perhop.phy.receiver import Receiver
from perhop.phy.transmitter import transmitted
from perhop.registers.radio import modem_delays_clocks
from testbench.build import cocotb_tests, simulate
from testbench.converter_air import find_begin_us, wave_of

# The resamplers' own tests, and those of dsss_phy without them, run in `make test`.
pytestmark = pytest.mark.long

SEED = 1
INPUTS = ("rx_sample_valid", "rx_i", "rx_q", "tx_sample_take", "phy_tx_start", "phy_tx_rate", "phy_tx_bytes")
INPUTS += ("phy_tx_data", "phy_tx_valid", "phy_tx_last", "cfg_energy_detect", "cfg_energy_threshold_dbm")
RAMP_US = 16 / 44
DELAY_TRIALS = 30
FRAME = Frame(b"x", RATE_2MBPS, short_preamble=True)


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
        dut.cfg_ramp_log2_samples.value, dut.cfg_lead_samples.value, dut.cfg_hold_samples.value = 4, 0, 0
        dut.cfg_gain_range_steps.value, dut.cfg_gain_settle_looks.value = 0, 1
        dut.cfg_limit_threshold.value = dut.cfg_transmit_power_dbm.value = 0
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


async def again(dut) -> None:
    """A reset: the resamplers' phases begin anew."""
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0


async def clocks_to_the_air(bench: Bench, clocks_per_sample: float, phase: float) -> float:
    """From phy_tx_start to the begin of a frame, which is searched in the converter's samples."""
    dut, start, due, sent = bench.dut, 20, phase * clocks_per_sample, []
    dut.phy_tx_rate.value, dut.phy_tx_bytes.value, dut.phy_tx_valid.value = RATE_2MBPS, 1, 1
    dut.phy_tx_data.value, dut.phy_tx_last.value = FRAME.psdu[0], 1
    for clock in itertools.count():
        dut.phy_tx_start.value, take = int(clock == start), clock >= due
        dut.tx_sample_take.value = int(take)
        if take:
            due += clocks_per_sample
            sent.append((clock, dut.tx_i.value.to_signed(), dut.tx_q.value.to_signed()))
        if len(sent) > 60 * bench.msps:
            break
        await FallingEdge(dut.clk)
    dut.tx_sample_take.value = dut.phy_tx_valid.value = 0
    values = np.array(sent)
    begin, error_db = find_begin_us(FRAME, values[:, 1:], bench.msps)
    assert error_db < -25
    whole = int(begin * bench.msps)
    return values[whole, 0] + (begin * bench.msps - whole) * clocks_per_sample - start


async def clocks_from_the_air(bench: Bench, clocks_per_sample: float, phase: float) -> float:
    """From the end of a frame, somewhere between two samples, to phy_rx_end; with a little noise."""
    dut, clock, due, heard = bench.dut, 0, phase * clocks_per_sample, []
    begin = 12 + bench.random.uniform()
    end = begin + FRAME.airtime_us()
    air = wave_of(FRAME, bench.msps, begin, int((end + 12) * bench.msps)) * 4
    air = air + bench.random.standard_normal((len(air), 2)) @ np.array([4, 4j])
    samples = iter(np.round(np.stack([air.real, air.imag], axis=1)).astype(int).tolist())
    while not int(dut.phy_rx_end.value):
        take = clock >= due
        if take:
            due += clocks_per_sample
            heard.append(clock)
            dut.rx_i.value, dut.rx_q.value = next(samples)
        dut.rx_sample_valid.value = int(take)
        await FallingEdge(dut.clk)
        clock += 1
    dut.rx_sample_valid.value = 0
    whole = int(end * bench.msps)
    return clock - heard[whole] - (end * bench.msps - whole) * clocks_per_sample


@cocotb.test()
@cocotb.parametrize(more_clocks=[0.125, 0.4, 1.0, 2.0])
async def the_delays_are_those_that_software_writes(dut, more_clocks: float):
    """To the air within a sample, from it within a sample of the receiver and a clock; their sums' mean within half a
    sample."""
    bench = Bench(dut)
    modem = {"samples_per_chip": 2, "rate_in": bench.rate_in, "rate_22": bench.rate_22}
    clocks_per_sample = bench.clocks_per_sample + more_clocks
    tx, rx = modem_delays_clocks(clocks_per_sample, modem)
    await bench.reset()
    found = []
    for _ in range(DELAY_TRIALS):
        await again(dut)
        to_air = await clocks_to_the_air(bench, clocks_per_sample, bench.random.uniform())
        await again(dut)
        found.append((to_air, await clocks_from_the_air(bench, clocks_per_sample, bench.random.uniform())))
    sums = [sum(each) for each in found]
    dut._log.info(
        "%.3f clocks a sample: transmission and reception %s, sums' mean %.2f",
        clocks_per_sample,
        np.round(found, 2),
        np.mean(sums),
    )
    for to_air, from_air in found:
        assert to_air == pytest.approx(tx, abs=clocks_per_sample)
        assert from_air == pytest.approx(rx, abs=clocks_per_sample * bench.msps / 22 + 1)
    assert np.mean(sums) == pytest.approx(tx + rx, abs=clocks_per_sample / 2)


@pytest.mark.parametrize("rates", CONVERTER_RATES.values(), ids=CONVERTER_RATES)
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_converter_rates(name, rates):
    simulate("dsss_phy", __file__, name, parameters={"RATE_IN": rates[0], "RATE_22": rates[1]})
