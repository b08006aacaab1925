# SPDX-License-Identifier: GPL-2.0-or-later
"""sample_decimator and sample_interpolator against their filter in floating point, at every factor."""

import sys
from pathlib import Path

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from testbench.build import cocotb_tests, simulate

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "hw" / "fpga"))

from generate_filter import BRANCHES, FACTORS, UNITY, taps  # noqa: E402

SEED = 1


def packed(sample: np.ndarray) -> int:
    return (int(sample[0]) & 0xFFFF) << 16 | (int(sample[1]) & 0xFFFF)


def unpacked(word: int) -> list[int]:
    return [half - 0x10000 if half & 0x8000 else half for half in (word >> 16, word & 0xFFFF)]


async def started(dut) -> np.random.Generator:
    Clock(dut.clk, 10, "ns").start()
    dut.rst.value = 1
    for name in INPUTS[dut._name]:
        getattr(dut, name).value = 0
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    return np.random.default_rng(SEED)


INPUTS = {"sample_decimator": ("s_stb", "s_data"), "sample_interpolator": ("m_stb", "s_data")}


def best_shift(got: np.ndarray, wanted: np.ndarray, most: int) -> tuple[int, float]:
    """By how many samples `got` is late, and the largest difference then."""
    found = []
    for late in range(most):
        count = min(len(got) - late, len(wanted))
        part = np.abs(got[late : late + count] - wanted[:count])
        found.append((float(part[BRANCHES:].max()), late))
    error, late = min(found)
    return late, error


@cocotb.test()
async def what_comes_out_is_what_the_filter_makes(dut):
    """Random samples with pauses; within one step of rounding, at one delay that holds throughout."""
    random = await started(dut)
    factor = int(dut.FACTOR.value)
    filter_taps = taps(factor)
    slow = 60
    if dut._name == "sample_decimator":
        samples = random.integers(-20000, 20000, (slow * factor, 2))
        got = []
        for sample in samples:
            while random.random() < 0.2:
                dut.s_stb.value = 0
                await RisingEdge(dut.clk)
                if dut.m_stb.value == 1:
                    got.append(unpacked(int(dut.m_data.value)))
            dut.s_stb.value = 1
            dut.s_data.value = packed(sample)
            await RisingEdge(dut.clk)
            if dut.m_stb.value == 1:
                got.append(unpacked(int(dut.m_data.value)))
        scale = UNITY * 2 ** int(np.ceil(np.log2(factor)))
        full = np.stack([np.convolve(samples[:, column], filter_taps) for column in (0, 1)], axis=1)
        wanted = full[factor - 1 :: factor] / scale
        late, error = best_shift(np.array(got), wanted, 4)
    else:
        samples = random.integers(-20000, 20000, (slow, 2))
        got, at = [], 0
        dut.s_data.value = packed(samples[0])
        while at < slow - 1:
            dut.m_stb.value = int(random.random() < 0.8)
            await RisingEdge(dut.clk)
            if dut.m_stb.value == 1:
                got.append(unpacked(int(dut.m_data.value)))
                if dut.s_stb.value == 1:
                    at += 1
                    dut.s_data.value = packed(samples[at])
        wide = np.zeros((slow * factor, 2))
        wide[::factor] = samples
        wanted = np.stack([np.convolve(wide[:, column], filter_taps) for column in (0, 1)], axis=1) / UNITY
        wanted = wanted[: (slow - 2) * factor]
        late, error = best_shift(np.array(got), wanted, factor + 12)
    dut._log.info("factor %d: late by %d samples, error %.2f", factor, late, error)
    assert error <= 1.0


CASES = [(module, factor) for module in INPUTS for factor in FACTORS]


@pytest.mark.parametrize(("module", "factor"), CASES)
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_rate_change(module, factor, name):
    simulate(module, __file__, name, cocotb_tests(globals()), {"FACTOR": factor})
