# SPDX-License-Identifier: GPL-2.0-or-later
"""length_counter: over with as many symbols as LENGTH says, at once for none."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


@cocotb.test()
async def it_is_over_after_as_many_symbols_as_length_says(dut):
    unit = Clocked(dut, "rst", "load", "load_length_us", "symbol_done")
    await unit.reset()
    for length in (1, 2, 30, 255, 256):
        # The header's last symbol does not count.
        await unit.set(load=1, load_length_us=length, symbol_done=1)
        assert not unit.over
        await unit.clock()
        await unit.set(load=0, load_length_us=9, symbol_done=0)
        for symbol in range(length):
            await unit.clock()
            assert unit.running and not unit.over
            await unit.set(symbol_done=1)
            assert unit.over == (symbol == length - 1)
            await unit.clock()
            await unit.set(symbol_done=0)
        assert not unit.running
        await unit.set(symbol_done=1)
        assert not unit.over
        await unit.clock()
        await unit.set(symbol_done=0)


@cocotb.test()
async def nothing_to_count_is_over_at_once_and_a_reset_ends_it(dut):
    unit = Clocked(dut, "rst", "load", "load_length_us", "symbol_done")
    await unit.reset()
    await unit.set(load=1, load_length_us=0)
    assert unit.over
    await unit.clock()
    await unit.set(load=0)
    assert not unit.running and not unit.over
    await unit.clock(load=1, load_length_us=65535)
    assert unit.running
    await unit.clock(rst=1)
    assert not unit.running


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_length_counter(name):
    simulate("length_counter", __file__, name, cocotb_tests(globals()))
