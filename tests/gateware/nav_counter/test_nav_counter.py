# SPDX-License-Identifier: GPL-2.0-or-later
"""NAV (IEEE 802.11-2012, 9.3.2.4)."""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

RESET_US, EIFS_US = 556, 364


async def started(dut) -> Clocked:
    nav = Clocked(
        dut, "tick_n", "rx_start", "rx_overheard", "rx_bad", "rx_is_rts", "rx_duration_us",
        "cfg_quirk_no_nav_reset", "cfg_quirk_eifs_as_nav", cfg_nav_reset_us=RESET_US, cfg_eifs_us=EIFS_US,
    )  # fmt: skip
    await nav.reset()
    return nav


@cocotb.test()
async def a_heard_duration_counts_down_to_zero(dut):
    nav = await started(dut)
    await nav.clock(rx_overheard=1, rx_duration_us=1000)
    assert nav.nav_left_us == nav.nav_until_us == 1000
    await nav.clock(tick_n=400)
    assert nav.nav_left_us == 600
    await nav.clock(tick_n=1_000_000)
    assert nav.nav_left_us == nav.nav_until_us == 0


@cocotb.test()
async def a_longer_duration_extends_and_a_shorter_does_not_shorten(dut):
    nav = await started(dut)
    await nav.clock(rx_overheard=1, rx_duration_us=1000)
    await nav.clock(rx_overheard=1, rx_duration_us=999)
    assert nav.nav_left_us == 1000
    await nav.clock(rx_overheard=1, rx_duration_us=0x7FFF)
    assert nav.nav_left_us == 0x7FFF


@cocotb.test()
async def a_duration_that_is_told_late_is_what_is_left_of_it(dut):
    nav = await started(dut)
    await nav.clock(rx_overheard=1, rx_duration_us=1000, rx_is_rts=1)
    await nav.clock(tick_n=400, summary_nav_left_us=2000)
    assert nav.nav_left_us == nav.nav_until_us == 2000
    assert nav.reset_armed == 0
    await nav.clock(tick_n=400)
    assert nav.nav_left_us == 1600


@cocotb.test()
async def random_durations_never_shorten_the_nav(dut):
    nav = await started(dut)
    source = random.Random(1)
    left_us = 0
    for _ in range(400):
        duration_us = source.choice((0, source.randrange(600), source.getrandbits(15)))
        await nav.clock(rx_overheard=1, rx_duration_us=duration_us)
        left_us = max(left_us, duration_us)
        assert nav.nav_left_us == left_us
        ticks = source.choice((1, source.randrange(1, 300), source.randrange(1, 20000)))
        await nav.clock(tick_n=ticks)
        left_us = max(left_us - ticks, 0)
        assert nav.nav_left_us == left_us


@cocotb.test()
async def an_rts_that_leads_to_nothing_is_forgotten(dut):
    """0     556                 3000
    | RTS | reset   ...         |     nothing starts"""
    nav = await started(dut)
    await nav.clock(rx_overheard=1, rx_is_rts=1, rx_duration_us=3000)
    assert (nav.nav_left_us, nav.nav_until_us, nav.reset_armed) == (3000, RESET_US, 1)
    await nav.clock(tick_n=RESET_US - 1)
    assert (nav.nav_left_us, nav.nav_until_us, nav.reset_armed) == (3000 - RESET_US + 1, 1, 1)
    await nav.clock(tick_n=1)
    assert (nav.nav_left_us, nav.nav_until_us, nav.reset_armed) == (0, 0, 0)


@cocotb.test()
async def a_frame_that_starts_keeps_the_nav_of_an_rts(dut):
    nav = await started(dut)
    await nav.clock(rx_overheard=1, rx_is_rts=1, rx_duration_us=3000)
    await nav.clock(tick_n=100)
    await nav.clock(rx_start=1)
    assert (nav.nav_left_us, nav.nav_until_us, nav.reset_armed) == (2900, 2900, 0)
    await nav.clock(tick_n=2899)
    assert nav.nav_left_us == 1


@cocotb.test()
async def a_jump_over_the_reset_ends_the_nav(dut):
    nav = await started(dut)
    await nav.clock(rx_overheard=1, rx_is_rts=1, rx_duration_us=3000)
    await nav.clock(tick_n=1000)
    assert nav.nav_left_us == 0


@cocotb.test()
async def an_rts_with_a_short_duration_needs_no_reset(dut):
    nav = await started(dut)
    await nav.clock(rx_overheard=1, rx_is_rts=1, rx_duration_us=RESET_US)
    assert (nav.nav_left_us, nav.nav_until_us, nav.reset_armed) == (RESET_US, RESET_US, 0)


@cocotb.test()
async def an_rts_that_adds_nothing_arms_no_reset(dut):
    nav = await started(dut)
    await nav.clock(rx_overheard=1, rx_duration_us=3000)
    await nav.clock(rx_overheard=1, rx_is_rts=1, rx_duration_us=2000)
    assert (nav.nav_until_us, nav.reset_armed) == (3000, 0)


@cocotb.test()
async def a_longer_duration_of_another_frame_disarms_the_reset(dut):
    nav = await started(dut)
    await nav.clock(rx_overheard=1, rx_is_rts=1, rx_duration_us=3000)
    await nav.clock(rx_overheard=1, rx_duration_us=3001)
    assert (nav.nav_until_us, nav.reset_armed) == (3001, 0)


@cocotb.test()
async def a_duration_heard_as_the_next_frame_starts_counts_and_is_not_reset(dut):
    nav = await started(dut)
    await nav.clock(rx_overheard=1, rx_is_rts=1, rx_duration_us=3000, rx_start=1)
    assert (nav.nav_left_us, nav.nav_until_us, nav.reset_armed) == (3000, 3000, 0)


@cocotb.test()
async def ns2_never_resets(dut):
    nav = await started(dut)
    await nav.set(cfg_quirk_no_nav_reset=1)
    await nav.clock(rx_overheard=1, rx_is_rts=1, rx_duration_us=3000)
    assert (nav.nav_until_us, nav.reset_armed) == (3000, 0)


@cocotb.test()
async def ns2_takes_a_bad_frame_for_a_reservation_of_eifs(dut):
    nav = await started(dut)
    await nav.clock(rx_bad=1, rx_duration_us=3000)
    assert nav.nav_left_us == 0
    await nav.set(cfg_quirk_eifs_as_nav=1)
    await nav.clock(rx_bad=1, rx_duration_us=3000)
    assert nav.nav_left_us == EIFS_US
    await nav.clock(rx_overheard=1, rx_duration_us=2000)
    await nav.clock(rx_bad=1)
    assert nav.nav_left_us == 2000


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_nav_counter(name):
    simulate("nav_counter", __file__, name, cocotb_tests(globals()))
