# SPDX-License-Identifier: GPL-2.0-or-later
"""sfd_search: both SFDs at their last bit, no other word; 170 symbols and no more."""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


LONG, SHORT = "0000010111001111", "1111001110100000"
INPUTS = ("clear", "valid", "data", "symbol_done", "carrier_lost")


async def symbol(unit: Clocked, bit: int, lost: int = 0) -> tuple[int, int, int]:
    """found, found_short, given_up of a symbol with one bit."""
    await unit.set(valid=1, data=bit)
    found = unit.found, unit.found_short
    await unit.clock()
    await unit.set(valid=0, data=0)
    assert not unit.found
    await unit.clock()
    await unit.set(symbol_done=1, carrier_lost=lost)
    given_up = unit.given_up
    await unit.clock()
    await unit.set(symbol_done=0, carrier_lost=0)
    return *found, given_up


@cocotb.test()
async def either_sfd_is_found_with_its_last_bit_and_no_other_word(dut):
    source = random.Random(SEED)
    for word, before, short in ((LONG, "1", 0), (SHORT, "0", 1)):
        for wrong in (None, *range(16)):
            unit = Clocked(dut, *INPUTS)
            await unit.clock(clear=1)
            bits = [int(bit) for bit in before * source.randrange(9, 30) + word]
            if wrong is not None:
                bits[wrong - 16] ^= 1
            said = [await symbol(unit, bit) for bit in bits]
            assert not any(found for found, _, _ in said[:-1])
            assert said[-1][0] == (wrong is None) and (wrong is not None or said[-1][1] == short)


@cocotb.test()
async def the_first_seven_bits_are_no_part_of_an_sfd(dut):
    """They are the descrambler's, which does not know its state yet: any of them, then the ones or zeros of SYNC."""
    unit = Clocked(dut, *INPUTS)
    for before in "10":
        for first in range(128):
            await unit.clock(clear=1)
            for bit in f"{first:07b}" + 9 * before:
                assert not (await symbol(unit, int(bit)))[0], (first, before)


@cocotb.test()
async def after_170_symbols_it_gives_up(dut):
    unit = Clocked(dut, *INPUTS)
    await unit.clock(clear=1)
    # A frame's first symbol has no bit and does not count.
    await unit.clock(symbol_done=1)
    said = [(await symbol(unit, 1))[2] for _ in range(172)]
    assert said == [0] * 169 + [1, 0, 0]


@cocotb.test()
async def a_lost_carrier_ends_the_search(dut):
    unit = Clocked(dut, *INPUTS)
    await unit.clock(clear=1)
    assert [(await symbol(unit, 1, lost=lost))[2] for lost in (0, 0, 1)] == [0, 0, 1]


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_sfd_search(name):
    simulate("sfd_search", __file__, name, cocotb_tests(globals()))
