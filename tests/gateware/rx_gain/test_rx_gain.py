# SPDX-License-Identifier: GPL-2.0-or-later
"""rx_gain: 16 bits become 6 with the shift that the block before asks for; none while a frame is received."""

import cocotb
import numpy as np
import pytest
from perhop.phy.receiver import GAIN_APPLY, SYMBOL_SAMPLES, limited
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
    shift, sums = 0, []
    for at, (i, q) in enumerate(raw.tolist()):
        block, place = divmod(at, SYMBOL_SAMPLES)
        if place == 0 and block:
            values = raw[at - SYMBOL_SAMPLES : at]
            sums.append(int(np.where(values < 0, ~values, values).sum()))
        # The gain stands still in block 9.
        if place == GAIN_APPLY and block and block != 9:
            shift = min(max(sums[-1].bit_length() - 9, 0), 10)
        dut.in_i.value, dut.in_q.value = i, q
        await gain.clock(sample_valid=1, hold=block == 9)
        expected = limited(np.array([i, q]), shift).tolist()
        assert [dut.out_i.value.to_signed(), dut.out_q.value.to_signed()] == expected, at
        if place == 0 and block:
            assert gain.block_sum == sums[-1]
        await gain.clock(in_i=7, in_q=7)


@cocotb.test()
async def a_sum_is_told_once_a_block(dut):
    gain = Clocked(dut, "rst", "sample_valid", "in_i", "in_q", "hold")
    await gain.reset()
    told = []
    for at in range(3 * SYMBOL_SAMPLES):
        await gain.set(sample_valid=1, in_i=100, in_q=5)
        if gain.block_done:
            told.append((at, gain.block_sum))
        await gain.clock()
        gain.hold(sample_valid=0)
        await gain.clock()
        assert not gain.block_done
    assert told == [(23, 22 * 105), (45, 22 * 105)]


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_rx_gain(name):
    simulate("rx_gain", __file__, name, cocotb_tests(globals()))
