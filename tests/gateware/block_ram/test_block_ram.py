# SPDX-License-Identifier: GPL-2.0-or-later
"""block_ram keeps what was written; a word comes one clock after its address."""

import os
import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = int(os.environ.get("PERHOP_SEED", "77"))
SIZES = ((8, 2048), (36, 16), (1, 2))  # bits, words


@cocotb.test()
async def a_word_comes_one_clock_after_its_address(dut):
    """clock      0        1        2        3
       write      1 <- 3   0 <- 2
       address             1        0        1
       read data                    3        2
    """  # fmt: skip
    memory = Clocked(dut, "write", "write_address", "write_data", "read_address")
    one, other = 1, (1 << len(dut.write_data)) - 2
    await memory.play(
        ({"write": 1, "write_address": 1, "write_data": one}, {}),
        ({"write": 1, "write_address": 0, "write_data": other, "read_address": 1}, {}),
        ({"read_address": 0}, {"read_data": one}),
        ({"read_address": 1}, {"read_data": other}),
        ({}, {"read_data": one}),
    )


@cocotb.test()
async def it_is_a_list_of_words(dut):
    """Random words at random addresses; nobody reads a word in the clock in which it is written."""
    print(f"PERHOP_SEED={SEED}")
    source = random.Random(SEED)
    memory = Clocked(dut, "write", "write_address", "write_data", "read_address")
    bits, words = len(dut.write_data), 1 << len(dut.read_address)
    model = [source.getrandbits(bits) for _ in range(words)]
    for address, word in enumerate(model):
        await memory.clock(write=1, write_address=address, write_data=word, read_address=(address + 1) % words)
    for _ in range(2000):
        address, write_address = source.randrange(words), source.randrange(words)
        word = source.getrandbits(bits)
        write = source.random() < 0.5 and address != write_address
        await memory.clock(write=int(write), write_address=write_address, write_data=word, read_address=address)
        assert memory.read_data == model[address], address
        if write:
            model[write_address] = word


@pytest.mark.parametrize(("width", "depth"), SIZES)
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_block_ram(name, width, depth):
    simulate("block_ram", __file__, name, cocotb_tests(globals()), {"WIDTH": width, "DEPTH": depth})
