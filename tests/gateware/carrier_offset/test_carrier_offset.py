# SPDX-License-Identifier: GPL-2.0-or-later
"""carrier_offset: the quotient of any two parts, with its sign, within ten clocks."""

import random

import cocotb
import pytest
from perhop.phy.receiver import tangent_128
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_phy's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


@cocotb.test()
async def the_tangent_of_any_rotation_is_the_models(dut):
    source = random.Random(SEED)
    unit = Clocked(dut, "start", "rotation_i", "rotation_q")
    points = [
        (1000, 0),
        (1000, 500),
        (1000, -500),
        (-1000, 500),
        (-1000, -500),
        (16383, 16382),
        (100, 100),
        (5, -16384),
        (0, 0),
    ]
    points += [(source.randrange(-16384, 16384), source.randrange(-16384, 16384)) for _ in range(60)]
    for real, imaginary in points:
        await unit.clock(start=1, rotation_i=real & 0x7FFF, rotation_q=imaginary & 0x7FFF)
        for _ in range(9):
            await unit.clock()
        told = dut.tangent_128.value.to_signed()
        assert told == tangent_128(real, imaginary)
        if abs(imaginary) < 0.9 * abs(real):
            assert told / 128 == pytest.approx(imaginary / real, abs=1.5 / 128 + 2 / abs(real))


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_carrier_offset(name):
    simulate("carrier_offset", __file__, name, cocotb_tests(globals()))
