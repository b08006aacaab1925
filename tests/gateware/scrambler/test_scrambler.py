# SPDX-License-Identifier: GPL-2.0-or-later
"""scrambler: the first bits of both preambles are the published ones, and any bits come out as the model's."""

import random

import cocotb
import pytest
from perhop.phy import constants as phy
from perhop.phy.plcp import scrambled
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_transmitter's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


async def sent(scrambler: Clocked, bits: list[int], short: bool) -> list[int]:
    out = []
    await scrambler.clock(seed=1, short_preamble=short, take=1)
    for bit in bits:
        await scrambler.set(in_bit=bit)
        out.append(scrambler.out_bit)
        await scrambler.clock()
        assert scrambler.out_bit == out[-1]
        await scrambler.clock(take=1)
        scrambler.hold(in_bit=bit)
    return out


@cocotb.test()
async def both_preambles_begin_as_published(dut):
    scrambler = Clocked(dut, "seed", "short_preamble", "in_bit", "take")
    assert "".join(map(str, await sent(scrambler, [1] * 32, False))) == "01111110111011001110100010100100"
    assert "".join(map(str, await sent(scrambler, [0] * 32, True))) == "00011001101010011100111101101000"


@cocotb.test()
async def any_bits_are_scrambled_as_the_model_does(dut):
    scrambler = Clocked(dut, "seed", "short_preamble", "in_bit", "take")
    source = random.Random(SEED)
    bits = [source.getrandbits(1) for _ in range(300)]
    assert await sent(scrambler, bits, False) == scrambled(bits, phy.SCRAMBLER_SEED_LONG)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_scrambler(name):
    simulate("scrambler", __file__, name, cocotb_tests(globals()))
