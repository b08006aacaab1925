# SPDX-License-Identifier: GPL-2.0-or-later
"""correlation_level: max + min / 2, within 12 % of the magnitude."""

import cocotb
import numpy as np
import pytest
from perhop.phy.receiver import magnitude
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


@cocotb.test()
async def levels_are_the_models_and_near_the_magnitude(dut):
    random = np.random.default_rng(SEED)
    unit = Clocked(dut, "rst", "sample_valid", "in_i", "in_q")
    await unit.reset()
    points = [*random.integers(-704, 705, (80, 2)).tolist(), [-704, -704], [704, 704], [-1, 0], [0, 0], [704, -1]]
    for i, q in points:
        dut.in_i.value, dut.in_q.value = i, q
        await unit.clock(sample_valid=1)
        assert unit.level == int(magnitude(np.array([i, q])))
        assert (dut.out_i.value.to_signed(), dut.out_q.value.to_signed()) == (i, q)
        assert abs(unit.level - abs(complex(i, q))) <= 0.12 * abs(complex(i, q)) + 2
        await unit.clock(in_i=5, in_q=6)
        assert (dut.out_i.value.to_signed(), dut.out_q.value.to_signed()) == (i, q)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_correlation_level(name):
    simulate("correlation_level", __file__, name, cocotb_tests(globals()))
