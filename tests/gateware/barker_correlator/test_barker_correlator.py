# SPDX-License-Identifier: GPL-2.0-or-later
"""barker_correlator: the model's correlations of any samples, and the code's own: one peak."""

import cocotb
import numpy as np
import pytest
from perhop.phy.receiver import correlated
from perhop.phy.transmitter import BARKER
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


async def correlations(dut, samples: list[int]) -> list[int]:
    correlator = Clocked(dut, "rst", "sample_valid", "sample")
    await correlator.reset()
    out = []
    for sample in [*samples, 0]:
        dut.sample.value = sample
        await correlator.clock(sample_valid=1)
        out.append(dut.correlation.value.to_signed())
        await correlator.clock(sample=9)
    return out[: len(samples)]


@cocotb.test()
async def any_samples_correlate_as_in_the_model(dut):
    random = np.random.default_rng(SEED)
    samples = np.concatenate([random.integers(-32, 32, 150), np.full(30, -32), np.full(30, 31)])
    # The largest sums that there are.
    samples = np.concatenate(
        [samples, np.repeat(np.where(BARKER > 0, 31, -32), 2), np.repeat(np.where(BARKER > 0, -32, 31), 2)]
    )
    expected = correlated(np.stack([samples, samples], axis=1))[:, 0].tolist()
    assert await correlations(dut, samples.tolist()) == expected


@cocotb.test()
async def the_code_alone_has_one_peak(dut):
    samples = np.concatenate([np.zeros(30, dtype=int), np.repeat(BARKER, 2) * 10, np.zeros(30, dtype=int)])
    out = await correlations(dut, samples.tolist())
    # The last chip's second sample, whose neighbour is the first.
    assert out.index(max(out)) == 30 + 21 and max(out) == 11 * 2 * 10
    assert max(abs(value) for at, value in enumerate(out) if abs(at - 51) > 2) <= 2 * 10


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_barker_correlator(name):
    simulate("barker_correlator", __file__, name, cocotb_tests(globals()))
