# SPDX-License-Identifier: GPL-2.0-or-later
"""rx_resampler: at the rates of other radios every output is the model's, at the most clocks a sample and fewer."""

import random

import cocotb
import numpy as np
import pytest
from perhop.phy.converter_rates import CONVERTER_RATES, resampled
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
SAMPLES = 1500


@cocotb.test()
async def outputs_are_the_models_and_two_clocks_apart(dut):
    """Full scale and steps from one end to the other; as fast as may be, and at uneven times."""
    source = random.Random(SEED)
    in_rate, out_rate = int(dut.IN_RATE.value), int(dut.OUT_RATE.value)
    fastest = 2 if in_rate > out_rate else 3
    for clocks in ((fastest,), (fastest, fastest + 1, 7)):
        unit = Clocked(dut, "rst", "in_valid", "in_i", "in_q")
        await unit.reset()
        samples = [(source.randint(-32768, 32767), source.choice((-32768, 32767))) for _ in range(SAMPLES)]
        outputs, at, last = [], 0, -2
        for i, q in samples:
            for clock in range(source.choice(clocks)):
                await unit.clock(in_valid=int(clock == 0), in_i=i & 0xFFFF, in_q=q & 0xFFFF)
                at += 1
                if unit.out_valid:
                    outputs.append((dut.out_i.value.to_signed(), dut.out_q.value.to_signed()))
                    assert at - last >= 2
                    last = at
        expected = resampled(np.array(samples), in_rate, out_rate)
        assert len(expected) - len(outputs) in (0, 1)
        assert len(outputs) == pytest.approx(SAMPLES * out_rate / in_rate, abs=2)
        assert np.array_equal(np.array(outputs), expected[: len(outputs)])


@pytest.mark.parametrize("rates", CONVERTER_RATES.values(), ids=CONVERTER_RATES)
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_rx_resampler(name, rates):
    simulate("rx_resampler", __file__, name, parameters={"IN_RATE": rates[0], "OUT_RATE": rates[1]})
