# SPDX-License-Identifier: GPL-2.0-or-later
"""pulse_shaper: for all signs of six chips and every place, the sum of the pulse's taps with these signs."""

import cocotb
import pytest
from perhop.phy import constants as phy
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_transmitter's tests run all of it, and sooner.
pytestmark = pytest.mark.long


@cocotb.test()
async def every_sum_of_signs_is_there(dut):
    samples_per_chip = int(dut.SAMPLES_PER_CHIP.value)
    taps = phy.PULSES[samples_per_chip]
    shaper = Clocked(dut, "sample_take", "plus", "place")
    for place in range(samples_per_chip):
        for plus in range(1 << phy.PULSE_CHIPS):
            await shaper.clock(sample_take=1, plus=plus, place=place)
            signs = [1 if plus >> chip & 1 else -1 for chip in range(phy.PULSE_CHIPS)]
            expected = sum(sign * taps[samples_per_chip * chip + place] for chip, sign in enumerate(signs))
            assert dut.shaped.value.to_signed() == expected
            await shaper.clock(plus=plus ^ 5)
            assert dut.shaped.value.to_signed() == expected


@pytest.mark.parametrize("samples_per_chip", phy.PULSES)
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_pulse_shaper(name, samples_per_chip):
    simulate("pulse_shaper", __file__, name, parameters={"SAMPLES_PER_CHIP": samples_per_chip})
