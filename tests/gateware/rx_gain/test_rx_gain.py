# SPDX-License-Identifier: GPL-2.0-or-later
"""rx_gain: 16 bits without DC become 6; the shift is what the block before asks for, and stands in a frame."""

import cocotb
import numpy as np
import pytest
from perhop.phy.receiver import GAIN_APPLY, SYMBOL_SAMPLES, limited, without_dc
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


@cocotb.test()
async def the_shift_follows_the_level_within_two_blocks(dut):
    random = np.random.default_rng(SEED)
    gain = Clocked(dut, "rst", "sample_valid", "in_i", "in_q", "hold")
    await gain.reset()
    levels = [20, 20, 32000, 32000, 5000, 5000, 600, 600, 60, 60, 3, 3]
    raw = np.vstack([random.integers(-level, level, (SYMBOL_SAMPLES, 2)) for level in levels])
    raw[50], raw[51] = (-32768, 32767), (32767, -32768)
    raw += [2000, -300]
    raw = np.clip(raw, -32768, 32767)
    clean = without_dc(raw)
    shift, sums = 0, []
    for at, (i, q) in enumerate(raw.tolist()):
        block, place = divmod(at, SYMBOL_SAMPLES)
        if place == 0 and block:
            values = clean[at - SYMBOL_SAMPLES : at]
            sums.append(int(np.where(values < 0, ~values, values).sum()))
        # The gain stands still in block 9.
        if place == GAIN_APPLY and block and block != 9:
            shift = min(max(sums[-1].bit_length() - 9, 0), 10)
        dut.in_i.value, dut.in_q.value = i, q
        await gain.clock(sample_valid=1, hold=block == 9)
        if place == 0 and block:
            assert gain.block_sum == sums[-1]
        # Q takes the way of I with the clock after it.
        await gain.clock(in_i=7, in_q=7)
        expected = limited(clean[at], shift).tolist()
        assert [dut.out_i.value.to_signed(), dut.out_q.value.to_signed()] == expected, at


@cocotb.test()
async def a_sum_is_told_once_a_block_after_dc_was_learnt(dut):
    gain = Clocked(dut, "rst", "sample_valid", "in_i", "in_q", "hold")
    await gain.reset()
    told = []
    raw = np.tile([[100, 5], [-100, -5]], (77, 1))
    for at, (i, q) in enumerate(raw.tolist()):
        await gain.set(sample_valid=1, in_i=i & 0xFFFF, in_q=q & 0xFFFF)
        if gain.block_done:
            told.append((at, gain.block_sum))
        await gain.clock()
        gain.hold(sample_valid=0)
        await gain.clock()
        assert not gain.block_done
    clean = without_dc(raw)
    sizes = np.where(clean < 0, ~clean, clean).sum(axis=1)
    assert told == [(22 * block + 23, sizes[22 * block : 22 * (block + 1)].sum()) for block in (3, 4, 5)]


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_rx_gain(name):
    simulate("rx_gain", __file__, name, cocotb_tests(globals()))
