# SPDX-License-Identifier: GPL-2.0-or-later
"""TSF timer (IEEE 802.11-2012, 10.1.3.1)."""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked


@cocotb.test()
async def the_timer_is_the_sum_of_all_ticks_since_reset(dut):
    timer = Clocked(dut, "tick_n")
    await timer.reset()
    source = random.Random(1)
    total_us = 0
    for _ in range(500):
        ticks = source.choice((0, 0, 1, source.getrandbits(24), (1 << 24) - 1))
        await timer.clock(tick_n=ticks)
        total_us += ticks
        assert timer.tsf_us == total_us
    await timer.reset()
    assert timer.tsf_us == 0


@cocotb.test()
async def a_carry_into_the_upper_half_is_never_seen_half_done(dut):
    """2**32 - 1 -> 2**32: both halves change at one clock."""
    timer = Clocked(dut, "tick_n")
    await timer.reset()
    for _ in range(256):
        await timer.clock(tick_n=(1 << 24) - 1)
    await timer.clock(tick_n=255)
    assert timer.tsf_us == (1 << 32) - 1
    await timer.clock(tick_n=1)
    assert timer.tsf_us == 1 << 32


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_tsf_timer(name):
    simulate("tsf_timer", __file__, name, cocotb_tests(globals()))
