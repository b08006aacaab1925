# SPDX-License-Identifier: GPL-2.0-or-later
"""contention_window: CWmin, doubling, CWmax, and slots out of random numbers (IEEE 802.11-2012, 9.3.3)."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked


async def started(dut, cw_min: int, cw_max: int) -> Clocked:
    window = Clocked(
        dut, "reset_window", "double_window", "random", "cfg_quirk_draw_below_cw", cfg_cw_min=cw_min, cfg_cw_max=cw_max
    )
    await window.reset()
    return window


async def held(window: Clocked) -> int:
    """The window itself: what a random number of all ones draws."""
    await window.set(random=0x3FF)
    return window.draw_slots


@cocotb.test()
@cocotb.parametrize((("cw_min", "cw_max"), [(31, 1023), (15, 1023), (0, 7), (31, 31), (1023, 1023)]))
async def the_window_doubles_up_to_its_limit_and_a_success_resets_it(dut, cw_min, cw_max):
    window = await started(dut, cw_min, cw_max)
    expected = cw_min
    for _ in range(12):
        assert await held(window) == expected
        await window.clock(double_window=1)
        expected = min(2 * expected + 1, cw_max)
    await window.clock(reset_window=1)
    assert await held(window) == cw_min
    assert window.outcome_cw == cw_max


@cocotb.test()
async def the_record_keeps_the_window_that_the_outcome_found(dut):
    window = await started(dut, 31, 1023)
    await window.clock(double_window=1)
    await window.clock(reset_window=1)
    assert window.outcome_cw == 63
    await window.clock(double_window=1)
    assert window.outcome_cw == 63


@cocotb.test()
async def every_random_number_gives_slots_within_the_window_evenly(dut):
    window = await started(dut, 7, 1023)
    counts = [0] * 8
    for random in range(1024):
        await window.set(random=random)
        assert window.redraw == 0
        counts[window.draw_slots] += 1
    assert counts == [128] * 8


@cocotb.test()
async def ns2_draws_the_window_itself_again(dut):
    window = await started(dut, 7, 1023)
    await window.set(cfg_quirk_draw_below_cw=1)
    for random in range(64):
        await window.set(random=random)
        assert window.redraw == (random & 7 == 7)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_contention_window(name):
    simulate("contention_window", __file__, name, cocotb_tests(globals()))
