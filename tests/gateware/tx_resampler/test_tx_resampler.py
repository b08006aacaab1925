# SPDX-License-Identifier: GPL-2.0-or-later
"""tx_resampler: at the rates of other radios every output is the model's, taken as fast as may be and slower."""

import random

import cocotb
import numpy as np
import pytest
from perhop.phy.converter_rates import CONVERTER_RATES, resampled
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
OUTPUTS = 1200
AHEAD = 2
"""Outputs that are shown before the first one of the transmitter: the zeros of the reset, and what is taken first."""


@cocotb.test()
async def outputs_are_the_models_however_they_are_taken(dut):
    source = random.Random(SEED)
    source_rate, out_rate = int(dut.SOURCE_RATE.value), int(dut.OUT_RATE.value)
    fastest = 2 if source_rate < 2 * out_rate else 3
    for clocks in ((fastest,), (fastest, fastest + 1, 9)):
        unit = Clocked(dut, "rst", "source_i", "source_q", "sample_take")
        await unit.reset()
        samples = [(source.randint(-2048, 2047), source.choice((-2048, 2047))) for _ in range(4 * OUTPUTS)]
        taken, outputs = 0, []
        await unit.set(source_i=samples[0][0] & 0xFFF, source_q=samples[0][1] & 0xFFF)
        while len(outputs) < OUTPUTS:
            for clock in range(source.choice(clocks)):
                await unit.set(sample_take=int(clock == 0 and taken > 0))
                if clock == 0 and taken > 0:
                    outputs.append((dut.out_i.value.to_signed(), dut.out_q.value.to_signed()))
                took = unit.source_take
                await unit.clock()
                taken += took
                await unit.set(source_i=samples[taken][0] & 0xFFF, source_q=samples[taken][1] & 0xFFF)
        expected = resampled(np.array(samples), source_rate, out_rate)
        shown = np.array(outputs)
        assert not shown[0].any()
        assert np.array_equal(shown[1:], expected[: OUTPUTS - 1])
        assert taken == pytest.approx(OUTPUTS * source_rate / out_rate, abs=2 * AHEAD + 4)


@pytest.mark.parametrize("rates", CONVERTER_RATES.values(), ids=CONVERTER_RATES)
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_tx_resampler(name, rates):
    simulate("tx_resampler", __file__, name, parameters={"SOURCE_RATE": 2 * rates[1], "OUT_RATE": rates[0]})
