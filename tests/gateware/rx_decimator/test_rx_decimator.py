# SPDX-License-Identifier: GPL-2.0-or-later
"""rx_decimator: the mean of each pair, once for two samples."""

import cocotb
import numpy as np
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_phy's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


@cocotb.test()
async def pairs_become_their_mean(dut):
    random = np.random.default_rng(SEED)
    unit = Clocked(dut, "rst", "in_valid", "in_i", "in_q")
    await unit.reset()
    samples = np.vstack([random.integers(-32768, 32768, (60, 2)), [[32767, -32768], [32767, -32768]]])
    for number, (i, q) in enumerate(samples.tolist()):
        await unit.clock(in_valid=1, in_i=i & 0xFFFF, in_q=q & 0xFFFF)
        assert unit.out_valid == number % 2
        if number % 2:
            mean = (samples[number - 1] + samples[number] >> 1).tolist()
            assert [dut.out_i.value.to_signed(), dut.out_q.value.to_signed()] == mean
        await unit.clock(in_i=1, in_q=1)
        assert not unit.out_valid


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_rx_decimator(name):
    simulate("rx_decimator", __file__, name, cocotb_tests(globals()))
