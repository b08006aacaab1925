# SPDX-License-Identifier: GPL-2.0-or-later
"""rx_dc_removal: I and Q against their averages as the model has it; a constant goes within the first blocks."""

import cocotb
import numpy as np
import pytest
from perhop.phy.receiver import DC_FAST_SAMPLES, without_dc
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


async def passed_on(dut, samples: np.ndarray) -> np.ndarray:
    """What leaves it of samples that come after a reset; clocks without one change nothing."""
    unit = Clocked(dut, "rst", "valid", "fast", "in")
    await unit.reset()
    out = np.zeros_like(samples)
    for at, row in enumerate(samples.tolist()):
        for column, value in enumerate(row):
            await unit.set(valid=1, fast=at < DC_FAST_SAMPLES, **{"in": value & 0xFFFF})
            out[at, column] = dut.out.value.to_signed()
            await unit.clock()
            if at % 3 == column:
                await unit.set(valid=0)
                await unit.clock()
    return out


@cocotb.test()
async def each_part_is_what_the_model_makes_of_it(dut):
    """Noise on a constant, both ends of the scale, and steps between them, which are more than 16 bits."""
    random = np.random.default_rng(SEED)
    parts = [np.array([3000, -12000]) + random.normal(0, 400, (400, 2)), random.choice((-32768, 32767), (400, 2))]
    parts += [np.full((700, 2), 32767), np.full((700, 2), -32768), random.normal(0, 2, (300, 2))]
    samples = np.clip(np.round(np.vstack(parts)), -32768, 32767).astype(np.int64)
    out = await passed_on(dut, samples)
    assert np.array_equal(out, without_dc(samples))
    assert out.max() == 32767 and out.min() == -32768


@cocotb.test()
async def a_constant_is_gone_when_it_has_been_learnt(dut):
    """Of 20,000 steps, a tenth of what the noise is; I and Q each have their own."""
    noise = np.random.default_rng(SEED).normal(0, 3, (600, 2))
    samples = np.round(np.array([20_000, -5_000]) + noise).astype(np.int64)
    rest = (await passed_on(dut, samples))[DC_FAST_SAMPLES:]
    assert np.abs(rest.mean(axis=0)).max() < 1 and np.abs(rest).max() < 20


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_rx_dc_removal(name):
    simulate("rx_dc_removal", __file__, name, cocotb_tests(globals()))
