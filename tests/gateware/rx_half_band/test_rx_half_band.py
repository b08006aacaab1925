# SPDX-License-Identifier: GPL-2.0-or-later
"""rx_half_band: one sample of two, number by number as the model; the model against what a half-band filter must do."""

import cocotb
import numpy as np
import pytest
from perhop.phy.half_band import SHIFT, TAPS, decimated
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
MSPS = 44
LATENCY_CLOCKS = 6


async def filtered(unit: Clocked, samples: np.ndarray, pauses: np.ndarray) -> tuple[list[list[int]], list[int]]:
    """What comes out, and how many clocks each output comes after its pair's second sample."""
    out, late, clock, second = [], [], 0, []

    async def step(**inputs: int) -> None:
        nonlocal clock
        await unit.clock(**inputs)
        clock += 1
        if unit.out_valid:
            out.append([unit.dut.out_i.value.to_signed(), unit.dut.out_q.value.to_signed()])
            late.append(clock - second[len(out) - 1])

    for number, (i, q) in enumerate(samples.tolist()):
        if number % 2:
            second.append(clock)
        await step(in_valid=1, in_i=i & 0xFFFF, in_q=q & 0xFFFF)
        for _ in range(int(pauses[number])):
            await step(in_i=0x5555, in_q=0xAAAA)
    for _ in range(LATENCY_CLOCKS):
        await step()
    return out, late


@cocotb.test()
async def an_impulse_comes_out_as_every_second_tap(dut):
    """A timeline, a sample a clock; the impulse is a pair's second sample, then a pair's first.

    clock    0      1      2 ...            7
    in       first  second
    out                                     second's tap, the filter's last pair's first
    """
    unit = Clocked(dut, "rst", "in_valid", "in_i", "in_q")
    for place, expected in ((1, TAPS[0::2]), (0, TAPS[1::2])):
        await unit.reset()
        samples = np.zeros((30, 2), dtype=np.int64)
        samples[place] = 1 << SHIFT, -(1 << SHIFT)
        out, late = await filtered(unit, samples, np.zeros(30))
        assert [i for i, _ in out] == [*expected.tolist(), *[0] * (15 - len(expected))]
        assert [q for _, q in out] == [-i for i, _ in out]
        assert set(late) == {LATENCY_CLOCKS}


@cocotb.test()
@cocotb.parametrize(most_pauses=[0, 1, 3])
async def what_comes_out_is_the_model_s(dut, most_pauses: int):
    """Random samples over the whole range, and the worst ones, which do not fit."""
    random = np.random.default_rng([SEED, most_pauses])
    worst = np.where(np.sign(TAPS) < 0, -32768, 32767)
    samples = np.vstack(
        [
            random.integers(-32768, 32768, (400, 2)),
            np.stack([worst, -worst - 1], axis=1),
            np.zeros((1, 2), dtype=np.int64),
            np.stack([-worst - 1, worst], axis=1),
            random.integers(-20, 20, (101, 2)),
        ]
    )
    unit = Clocked(dut, "rst", "in_valid", "in_i", "in_q")
    await unit.reset()
    out, late = await filtered(unit, samples, random.integers(0, most_pauses + 1, len(samples)))
    model = decimated(samples)
    assert {-32768, 32767} <= set(model.ravel().tolist())
    assert out == model.tolist()
    assert set(late) == {LATENCY_CLOCKS}


def gain_db(mhz: np.ndarray) -> np.ndarray:
    turns = np.exp(-2j * np.pi * np.outer(mhz / MSPS, np.arange(len(TAPS))))
    return 20 * np.log10(np.abs(turns @ (TAPS / 2**SHIFT)) + 1e-12)


def test_the_filter_lets_a_channel_through_and_keeps_the_next_one_out():
    assert TAPS.sum() == 1 << SHIFT
    assert np.abs(gain_db(np.linspace(0, 7.5, 200))).max() < 0.01
    assert gain_db(np.linspace(14.5, 22, 400)).max() < -59
    assert gain_db(np.array([11.0]))[0] == pytest.approx(-6.02, abs=0.01)


def test_a_tone_of_the_next_channel_is_gone_and_one_of_ours_is_not():
    """Through the rounding, too: 59 dB below where it would have been."""
    samples = np.arange(4000)
    for mhz, at_most, at_least in ((18.0, 20, 0), (3.0, 20001, 19900)):
        tone = 20000 * np.exp(2j * np.pi * mhz / MSPS * samples)
        out = decimated(np.round(np.stack([tone.real, tone.imag], axis=1)).astype(np.int64))[50:]
        amplitude = np.sqrt(2 * np.mean(out[:, 0].astype(float) ** 2))
        assert at_least <= amplitude <= at_most


# dsss_phy's tests run all of it, and sooner.
@pytest.mark.long
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_rx_half_band(name):
    simulate("rx_half_band", __file__, name, cocotb_tests(globals()))
