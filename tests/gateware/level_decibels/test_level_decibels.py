# SPDX-License-Identifier: GPL-2.0-or-later
"""level_decibels: 20 log10 of each input within 1.3 dB, as the model tells it."""

import math
import random

import cocotb
import pytest
from perhop.phy.receiver import decibels
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_phy's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


@cocotb.test()
async def every_input_has_its_decibels(dut):
    source = random.Random(SEED)
    unit = Clocked(dut)
    sets = [[0, 1, 2, 3], [7, 8, 15, 16], [(1 << 21) - 1, 1 << 20, 1000, 5]]
    sets += [[source.getrandbits(source.randrange(1, 22)) for _ in range(4)] for _ in range(60)]
    for levels in sets:
        for index, level in enumerate(levels):
            dut.level[index].value = level
        for _ in range(6):
            await unit.clock()
        for index, level in enumerate(levels):
            told = int(dut.level_db[index].value)
            assert told == decibels(level)
            if level:
                assert abs(told - 20 * math.log10(level)) <= 1.3


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_level_decibels(name):
    simulate("level_decibels", __file__, name, cocotb_tests(globals()))
