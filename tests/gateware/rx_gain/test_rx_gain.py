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
    gain = Clocked(dut, "rst", "sample_valid", "in_i", "in_q", "hold", "settling", "rose")
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
    gain = Clocked(dut, "rst", "sample_valid", "in_i", "in_q", "hold", "settling", "rose")
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


@cocotb.test()
async def a_block_in_which_the_front_end_s_gain_changes_is_not_told_of(dut):
    """Nor does the fall of the level that goes with it look like a signal's end, at which DC is learnt anew: that would
    take away a third of a signal which changes once a block.

    A timeline in blocks: 0 to 4 nothing | 5 loud | 6, settling from sample 9 to 12 on | 7 to 10 at a sixteenth
    """
    gain = Clocked(dut, "rst", "sample_valid", "in_i", "in_q", "hold", "settling", "rose")
    await gain.reset()
    told = {}
    for at in range(11 * SYMBOL_SAMPLES):
        block, place = divmod(at, SYMBOL_SAMPLES)
        size = 0 if block < 5 else 16000 if (block, place) < (6, 10) else 1000
        value = size * (-1) ** (block if size == 1000 else at) & 0xFFFF
        await gain.set(sample_valid=1, in_i=value, in_q=value, settling=int(block == 6 and 9 <= place <= 12))
        if gain.block_done:
            told[block - 1] = gain.block_sum
        await gain.clock()
        gain.hold(sample_valid=0)
        await gain.clock()
    assert list(told) == [3, 4, 5, 7, 8, 9]
    assert all(told[block] == pytest.approx(2 * SYMBOL_SAMPLES * 1000, rel=0.1) for block in (7, 8, 9)), told


@cocotb.test()
@cocotb.parametrize(rises=[True, False])
async def a_front_end_with_more_gain_has_its_dc_learnt_anew(dut, rises: bool):
    """DC of 100 steps is 500 from block 6 on; two blocks of learning take it away, averages over 512 samples do not."""
    gain = Clocked(dut, "rst", "sample_valid", "in_i", "in_q", "hold", "settling", "rose")
    await gain.reset()
    for at in range(12 * SYMBOL_SAMPLES):
        block, place = divmod(at, SYMBOL_SAMPLES)
        gain.hold(in_i=100 + 400 * (block >= 6), in_q=0)
        await gain.clock(sample_valid=1, rose=int(rises and (block, place) == (6, 5)))
        await gain.clock()
    left = gain.block_sum / SYMBOL_SAMPLES
    assert left < 5 if rises else left > 300, left


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_rx_gain(name):
    simulate("rx_gain", __file__, name, cocotb_tests(globals()))
