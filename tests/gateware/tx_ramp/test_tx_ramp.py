# SPDX-License-Identifier: GPL-2.0-or-later
"""tx_ramp: samples times the gain, times the part of the ramp that has been climbed."""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_transmitter's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


@cocotb.test()
async def the_amplitude_rises_stays_and_falls_with_the_gain_of_the_begin(dut):
    source = random.Random(SEED)
    ramp = Clocked(dut, "rst", "sample_take", "cfg_gain", "rise", "fall", "sending", "shaped_i", "shaped_q")
    await ramp.reset()
    for gain, ramp_log2 in ((256, 4), (255, 4), (1, 4), (100, 4), (255, 1), (77, 5), (256, 3)):
        steps_of_it = 1 << ramp_log2
        ramp.hold(cfg_gain=gain, cfg_ramp_log2_samples=ramp_log2)
        await ramp.clock(sample_take=1)
        ramp.hold(cfg_gain=gain // 2)
        inputs = [(step, 1, 0) for step in range(steps_of_it)] + [(steps_of_it, 0, 0)] * 5
        inputs += [(steps_of_it - 1 - step, 0, 1) for step in range(steps_of_it)]
        before = None
        for steps, rise, fall in inputs:
            await ramp.clock(sample_take=1, rise=rise, fall=fall, sending=1)
            if before is not None:
                assert [dut.out_i.value.to_signed(), dut.out_q.value.to_signed()] == before
            # The sample that goes with a step is there one sample_take later.
            values = source.randrange(-2000, 2001), source.randrange(-2000, 2001)
            ramp.hold(shaped_i=values[0] & 0xFFF, shaped_q=values[1] & 0xFFF)
            before = [value * (gain * steps // steps_of_it) >> 8 for value in values]
            await ramp.clock()
        await ramp.clock(sample_take=1)
        assert [dut.out_i.value.to_signed(), dut.out_q.value.to_signed()] == before
        await ramp.clock(sample_take=1)
        assert int(dut.out_i.value) == int(dut.out_q.value) == 0


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_tx_ramp(name):
    simulate("tx_ramp", __file__, name, cocotb_tests(globals()))
