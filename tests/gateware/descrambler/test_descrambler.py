# SPDX-License-Identifier: GPL-2.0-or-later
"""descrambler: finds its state within seven bits; one wrong bit becomes three."""

import random

import cocotb
import pytest
from perhop.phy import constants as phy
from perhop.phy.plcp import scrambled
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


async def plain(dut, bits: list[int]) -> list[int]:
    unit = Clocked(dut, "clear", "valid", "in_bit")
    await unit.clock(clear=1, valid=1, in_bit=1)
    out = []
    for bit in bits:
        await unit.set(valid=1, in_bit=bit)
        out.append(unit.out_bit)
        await unit.clock()
        await unit.set(valid=0, in_bit=1 - bit)
        await unit.clock()
    return out


@cocotb.test()
async def bits_come_back_whatever_the_seed(dut):
    source = random.Random(SEED)
    bits = [source.getrandbits(1) for _ in range(200)]
    for seed in (phy.SCRAMBLER_SEED_LONG, phy.SCRAMBLER_SEED_SHORT, 0x55):
        assert (await plain(dut, scrambled(bits, seed)))[7:] == bits[7:]


@cocotb.test()
async def one_wrong_bit_becomes_three(dut):
    bits = [0] * 60
    wrong = scrambled(bits, phy.SCRAMBLER_SEED_LONG)
    wrong[30] ^= 1
    assert [at for at, bit in enumerate(await plain(dut, wrong)) if bit and at > 7] == [30, 34, 37]


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_descrambler(name):
    simulate("descrambler", __file__, name, cocotb_tests(globals()))
