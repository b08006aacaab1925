# SPDX-License-Identifier: GPL-2.0-or-later
"""dsss_transmitter: its samples are those of the model, host/python/perhop/phy."""

import random

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, Frame
from perhop.phy.transmitter import transmitted
from testbench import dsss_vectors
from testbench.build import cocotb_tests, simulate

KINDS = {"1 Mb/s": (RATE_1MBPS, False), "2 Mb/s": (RATE_2MBPS, False), "2 Mb/s, short": (RATE_2MBPS, True)}
LATENCIES = (3, 4)
"""Samples taken from the start on before the first one of the frame."""
SEED = 1


class Transmitter:
    """Takes samples at uneven times and gives octets as the MAC does."""

    def __init__(self, dut, seed: int = SEED) -> None:
        self.dut = dut
        self.random = random.Random(seed)
        self.samples_per_chip = int(dut.SAMPLES_PER_CHIP.value)
        for name in ("rst", "sample_take", "start", "start_2mbps", "start_short", "start_bytes", "s_data", "s_valid"):
            getattr(dut, name).value = 0
        dut.cfg_gain.value = 256
        dut.cfg_ramp_log2_samples.value = 4
        self.octets: list[int] = []
        self.underruns = 0

    async def reset(self) -> None:
        self.dut.rst.value = 1
        cocotb.start_soon(Clock(self.dut.clk, 2, "step").start())
        for _ in range(3):
            await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0
        await RisingEdge(self.dut.clk)

    async def send(self, frame: Frame, octets: int | None = None) -> np.ndarray:
        """The samples from the start of a frame until nothing is active; `octets`: as many as there are for it."""
        dut = self.dut
        dut.start.value = 1
        dut.start_2mbps.value = frame.rate == RATE_2MBPS
        dut.start_short.value = frame.short_preamble
        dut.start_bytes.value = len(frame.psdu)
        # As those of a frame that follows at once, which nobody may take.
        queue = [*frame.psdu[:octets], *([0xEE] * 3 if octets is None else [])]
        dut.s_valid.value, dut.s_data.value = 1, queue[0]
        samples, gap = [], 1
        await RisingEdge(dut.clk)
        dut.start.value = 0
        idle = 0
        while idle < 4:
            gap -= 1
            take = gap == 0
            if take:
                gap = self.random.choice((2, 2, 3))
            dut.sample_take.value = take
            ready = int(dut.s_ready.value)
            self.underruns += int(dut.evt_underrun.value)
            if take:
                samples.append((dut.out_i.value.to_signed(), dut.out_q.value.to_signed()))
                idle = 0 if int(dut.active.value) else idle + 1
            await RisingEdge(dut.clk)
            if ready and queue:
                queue.pop(0)
                dut.s_valid.value = bool(queue)
                dut.s_data.value = queue[0] if queue else 0
        self.octets = queue
        return np.array(samples)


def latency(samples: np.ndarray, frame: Frame, samples_per_chip: int, gain: int = 256) -> int:
    """Samples that were taken before the first one of a frame; fails where any sample is not the model's."""
    expected = transmitted(frame, samples_per_chip, gain)
    found = [
        at
        for at in LATENCIES
        if np.array_equal(samples[at : at + len(expected)], expected)
        and not samples[:at].any()
        and not samples[at + len(expected) :].any()
    ]
    assert len(found) == 1, "the samples are not the model's"
    return found[0]


@cocotb.test()
@cocotb.parametrize(kind=list(KINDS))
async def samples_are_those_of_the_model(dut, kind: str):
    rate, short = KINDS[kind]
    transmitter = Transmitter(dut)
    await transmitter.reset()
    # Two frames, the second at another gain and without a reset.
    for gain, octets in ((77, 1), (256, 2)) if short else ((256, 1),):
        dut.cfg_gain.value = gain
        frame = Frame(random.Random(octets).randbytes(octets), rate, short)
        samples = await transmitter.send(frame)
        latency(samples, frame, transmitter.samples_per_chip, gain)
        assert transmitter.octets == [0xEE] * 3 and not transmitter.underruns


@cocotb.test()
async def an_octet_that_is_missing_is_told_and_the_frame_keeps_its_length(dut):
    transmitter = Transmitter(dut)
    await transmitter.reset()
    frame = Frame(bytes([0x5A, 0xC3, 0, 0]), RATE_2MBPS, short_preamble=True)
    samples = await transmitter.send(frame, octets=2)
    latency(samples, frame, transmitter.samples_per_chip)
    assert transmitter.underruns == 2


@cocotb.test()
@cocotb.parametrize(name=list(dsss_vectors.NAMES))
async def chips_of_the_other_implementation(dut, name: str):
    """The samples at the middle of our chips against theirs, for the same PSDU."""
    wave = dsss_vectors.waveform(name)
    frame = Frame(wave.psdu, wave.rate)
    transmitter = Transmitter(dut)
    await transmitter.reset()
    samples = await transmitter.send(frame)
    chips = 11 * frame.airtime_us()
    spc = transmitter.samples_per_chip
    at = latency(samples, frame, spc) + 3 * spc + spc * np.arange(chips)
    # Our chips' middles are between two samples.
    ours = (samples[at - 1] + samples[at]) @ np.array([1, 1j])
    theirs = wave.samples[dsss_vectors.FIRST_CHIP :: 4][:chips] @ np.array([1, 1j])
    whole = slice(22, None)  # behind the ramp
    ours, theirs = np.exp(1j * np.angle(ours[whole])), np.exp(1j * np.angle(theirs[whole]))
    correlation = abs(np.vdot(ours, theirs)) / len(ours)
    dut._log.info("correlation %.5f", correlation)
    assert correlation > 0.9995


CHIPS = [name for name in cocotb_tests(globals()) if "other_implementation" in name]
QUICK = [name for name in cocotb_tests(globals()) if name not in CHIPS]


@pytest.mark.parametrize("name", QUICK)
def test_dsss_transmitter(name):
    simulate("dsss_transmitter", __file__, name, QUICK, {"SAMPLES_PER_CHIP": 2})


@pytest.mark.long
@pytest.mark.parametrize("name", QUICK)
def test_dsss_transmitter_at_four_samples_a_chip(name):
    simulate("dsss_transmitter", __file__, name, QUICK, {"SAMPLES_PER_CHIP": 4})


@pytest.mark.long
@pytest.mark.parametrize("name", CHIPS)
def test_chips(name):
    dsss_vectors.folder()
    simulate("dsss_transmitter", __file__, name, CHIPS, {"SAMPLES_PER_CHIP": 2})
