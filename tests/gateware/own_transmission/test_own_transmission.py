# SPDX-License-Identifier: GPL-2.0-or-later
"""own_transmission: how long the own frame, or SIFS and the own response, still hold the medium."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked


@cocotb.test()
async def the_hold_counts_down_and_stops_at_zero(dut):
    own = Clocked(dut, "tick_n", "hold", "hold_us")
    await own.reset()
    assert own.own_left_us == 0
    await own.clock(hold=1, hold_us=314)
    assert own.own_left_us == 314
    await own.clock()
    assert own.own_left_us == 314
    await own.clock(tick_n=10)
    assert own.own_left_us == 304
    await own.clock(tick_n=303)
    assert own.own_left_us == 1
    await own.clock(tick_n=1)
    assert own.own_left_us == 0
    await own.clock(tick_n=5)
    assert own.own_left_us == 0


@cocotb.test()
async def a_jump_beyond_the_end_ends_at_zero(dut):
    own = Clocked(dut, "tick_n", "hold", "hold_us")
    await own.reset()
    await own.clock(hold=1, hold_us=0xFFFF)
    await own.clock(tick_n=0xFFFFFF)
    assert own.own_left_us == 0


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_own_transmission(name):
    simulate("own_transmission", __file__, name, cocotb_tests(globals()))
