# SPDX-License-Identifier: GPL-2.0-or-later
"""line_point: eighths of the way from one sample to the next, rounded down, from end to end of the range."""

import random

import cocotb
import pytest
from cocotb.triggers import Timer
from testbench.build import cocotb_tests, simulate

SEED = 1


@cocotb.test()
async def every_eighth_between_any_two_samples(dut):
    source = random.Random(SEED)
    ends = (-32768, -1, 0, 1, 32767)
    pairs = [(a, b) for a in ends for b in ends]
    pairs += [(source.randint(-32768, 32767), source.randint(-32768, 32767)) for _ in range(300)]
    for older, newer in pairs:
        for eighths in range(8):
            dut.older.value, dut.newer.value, dut.eighths.value = older, newer, eighths
            await Timer(1, "ns")
            assert dut.point.value.to_signed() == (8 * older + (newer - older) * eighths) // 8


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_line_point(name):
    simulate("line_point", __file__, name)
