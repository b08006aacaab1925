# SPDX-License-Identifier: GPL-2.0-or-later
"""cdc_fifo: words cross in order and none is lost, whatever the clocks and whoever pauses."""

from collections import deque

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from testbench.build import cocotb_tests, simulate

SEED = 1
WORDS = 600


@cocotb.test()
@cocotb.parametrize(
    (("s_ps", "m_ps"), [(10000, 10000), (5000, 16666), (16666, 4000), (45454, 16667)]),
    pauses=[(0.0, 0.0), (0.5, 0.0), (0.0, 0.6), (0.3, 0.3)],
)
async def words_cross_in_order_and_none_is_lost(dut, s_ps: int, m_ps: int, pauses: tuple[float, float]):
    """A writer and a reader that pause at will; the FIFO is full and empty in between, and a reset leaves nothing."""
    random = np.random.default_rng(SEED)
    Clock(dut.s_clk, s_ps, "ps", period_high=s_ps // 2).start()
    await Timer(1234, "ps")
    Clock(dut.m_clk, m_ps, "ps", period_high=m_ps // 2).start()
    for _ in range(2):
        dut.s_rst.value = dut.m_rst.value = 1
        dut.s_valid.value = dut.m_ready.value = 0
        await ClockCycles(dut.s_clk, 6)
        await ClockCycles(dut.m_clk, 6)
        dut.s_rst.value = dut.m_rst.value = 0
        await RisingEdge(dut.m_clk)
        assert dut.m_valid.value == 0
        words = deque(int(word) for word in random.integers(0, 1 << 32, WORDS))
        wanted, seen_full = list(words), False

        async def write(left: deque = words) -> None:
            nonlocal seen_full
            while left:
                dut.s_valid.value = int(random.random() >= pauses[0])
                dut.s_data.value = left[0]
                await RisingEdge(dut.s_clk)
                if dut.s_valid.value == 1 and dut.s_ready.value == 1:
                    left.popleft()
                seen_full |= dut.s_ready.value == 0
            dut.s_valid.value = 0

        writer = cocotb.start_soon(write())
        got = []
        for _ in range(100 * WORDS):
            dut.m_ready.value = int(random.random() >= pauses[1])
            await RisingEdge(dut.m_clk)
            if dut.m_valid.value == 1 and dut.m_ready.value == 1:
                got.append(int(dut.m_data.value))
            if len(got) == WORDS // 2 and not _stop(got, wanted):
                break
            if len(got) == WORDS:
                break
        assert got == wanted[: len(got)]
        assert len(got) == WORDS
        await writer
        if s_ps < m_ps and not pauses[0]:
            assert seen_full


def _stop(got: list[int], wanted: list[int]) -> bool:
    """Whether the first half came as it went."""
    return got == wanted[: len(got)]


NAMES = cocotb_tests(globals())


@pytest.mark.parametrize("name", NAMES)
def test_cdc_fifo(name):
    simulate("cdc_fifo", __file__, name, NAMES)
