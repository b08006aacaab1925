# SPDX-License-Identifier: GPL-2.0-or-later
"""burst_split: no packet of the stream is longer than its transport carries; the last piece alone ends the burst."""

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from testbench.build import cocotb_tests, simulate

WORDS = 5
SEED = 6


async def pieces_of(dut, lengths: list[int], pause: float) -> list[list[int]]:
    """For packets of so many words, the words of each piece of each."""
    random = np.random.default_rng([SEED, int(10 * pause)])
    Clock(dut.clk, 10, "ns").start()
    dut.rst.value, dut.s_valid.value, dut.s_last.value, dut.m_ready.value = 1, 0, 0, 0
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    told = []
    for length in lengths:
        pieces, words, at = [], 0, 0
        while at < length:
            valid, ready = (int(random.random() >= pause) for _ in range(2))
            dut.s_valid.value, dut.m_ready.value, dut.s_last.value = valid, ready, int(at == length - 1)
            await RisingEdge(dut.clk)
            if valid and ready:
                words += 1
                if dut.m_last.value == 1:
                    pieces.append(words)
                    words = 0
                    assert dut.m_burst_ends.value == int(at == length - 1)
                at += 1
        assert words == 0, "a packet's end ends its last piece"
        told.append(pieces)
    return told


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.5])
async def a_packet_is_cut_where_it_is_too_long_and_nowhere_else(dut, pause: float):
    lengths = [1, WORDS - 1, WORDS, WORDS + 1, 2 * WORDS, 3 * WORDS + 2, 1, WORDS, 1]
    wanted = [[WORDS] * (length // WORDS) + [length % WORDS] * (length % WORDS > 0) for length in lengths]
    assert await pieces_of(dut, lengths, pause) == wanted


@cocotb.test()
async def without_a_limit_none_is_cut(dut):
    lengths = [1, 7, 700]
    assert await pieces_of(dut, lengths, 0.2) == [[length] for length in lengths]


NAMES = cocotb_tests(globals())
CUT_NAMES = [name for name in NAMES if name.startswith("a_packet_is_cut")]
WHOLE_NAMES = [name for name in NAMES if name not in CUT_NAMES]


@pytest.mark.parametrize("name", CUT_NAMES)
def test_burst_split(name):
    simulate("burst_split", __file__, name, CUT_NAMES, {"WORDS": WORDS})


@pytest.mark.parametrize("name", WHOLE_NAMES)
def test_burst_split_without_a_limit(name):
    simulate("burst_split", __file__, name, WHOLE_NAMES, {"WORDS": 0})
