# SPDX-License-Identifier: GPL-2.0-or-later
"""symbol_mapper: the phases of one bit and of two, IEEE 802.11-2012, 16.4.6.5."""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_transmitter's tests run all of it, and sooner.
pytestmark = pytest.mark.long

QUARTERS = {(0,): 0, (1,): 2, (0, 0): 0, (0, 1): 1, (1, 1): 2, (1, 0): 3}
SEED = 1


@cocotb.test()
async def each_symbol_turns_the_phase_by_what_its_bits_say(dut):
    source = random.Random(SEED)
    mapper = Clocked(dut, "rst", "start", "bit_valid", "bit_data", "bit_pair", "symbol_take")
    await mapper.reset()
    for _ in range(3):
        await mapper.clock(start=1, bit_valid=1, bit_data=1)
        symbols = [source.choice(list(QUARTERS)) for _ in range(60)]
        bits = [(bit, len(symbol) == 2) for symbol in symbols for bit in symbol]
        phase = 0
        for symbol in symbols:
            waited = 0
            while not mapper.symbol_valid:
                await mapper.set(bit_valid=1, bit_data=bits[0][0], bit_pair=bits[0][1])
                taken = mapper.bit_take
                await mapper.clock()
                if taken:
                    bits.pop(0)
                waited += 1
            assert waited <= 3
            phase = (phase + QUARTERS[symbol]) % 4
            assert mapper.symbol_quadrant == phase
            assert not mapper.bit_take, "the next symbol's bits wait"
            await mapper.clock(symbol_take=1)
        assert not bits


@cocotb.test()
async def without_bits_there_is_no_symbol(dut):
    mapper = Clocked(dut, "rst", "start", "bit_valid", "bit_data", "bit_pair", "symbol_take")
    await mapper.reset()
    await mapper.clock(start=1)
    await mapper.clock(bit_valid=1, bit_data=1, bit_pair=1)
    for _ in range(5):
        await mapper.clock()
        assert not mapper.symbol_valid and not mapper.bit_take
    await mapper.clock(bit_valid=1, bit_data=0, bit_pair=1)
    assert mapper.symbol_valid and mapper.symbol_quadrant == 3


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_symbol_mapper(name):
    simulate("symbol_mapper", __file__, name, cocotb_tests(globals()))
