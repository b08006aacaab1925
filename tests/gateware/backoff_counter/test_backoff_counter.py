# SPDX-License-Identifier: GPL-2.0-or-later
"""backoff_counter: whole idle slots, frozen by a busy medium (IEEE 802.11-2012, 9.3.4.3)."""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SLOT_US = 20


async def started(dut, slot_us: int = SLOT_US) -> Clocked:
    backoff = Clocked(
        dut, "tick_n", "draw", "draw_slots", "access_taken", "cca_busy", "reserved_us", "ifs_left_us",
        packet_waiting=1, cfg_slot_us=slot_us,
    )  # fmt: skip
    await backoff.reset()
    assert backoff.running == 0
    return backoff


@cocotb.test()
async def slots_are_counted_whole_and_their_rest_is_kept_while_idle(dut):
    backoff = await started(dut)
    await backoff.clock(draw=1, draw_slots=3)
    assert (backoff.running, backoff.slots_left, backoff.slots_left_us) == (1, 3, 60)
    await backoff.clock(tick_n=19)
    assert (backoff.slots_left, backoff.slots_left_us) == (3, 41)
    await backoff.clock(tick_n=1)
    assert (backoff.slots_left, backoff.slots_left_us) == (2, 40)
    await backoff.clock(tick_n=40)
    assert (backoff.running, backoff.slots_left, backoff.slots_left_us) == (1, 0, 0)


@cocotb.test()
async def a_carrier_discards_the_part_of_a_slot_and_keeps_the_slots(dut):
    backoff = await started(dut)
    await backoff.clock(draw=1, draw_slots=3)
    await backoff.clock(tick_n=25)
    assert (backoff.slots_left, backoff.slots_left_us) == (2, 35)
    await backoff.set(cca_busy=1)
    await backoff.clock(tick_n=300)
    await backoff.set(cca_busy=0, ifs_left_us=50)
    assert (backoff.slots_left, backoff.slots_left_us) == (2, 40)
    await backoff.clock(tick_n=50)
    await backoff.set(ifs_left_us=0)
    assert (backoff.slots_left, backoff.slots_left_us) == (2, 40)
    await backoff.clock(tick_n=20)
    assert backoff.slots_left == 1


@cocotb.test()
async def time_inside_reservation_and_inter_frame_space_counts_no_slot(dut):
    """A jump of 100: 30 reserved, 50 inter-frame space, one slot."""
    backoff = await started(dut)
    await backoff.clock(draw=1, draw_slots=5)
    await backoff.clock(tick_n=100, reserved_us=30, ifs_left_us=50)
    assert backoff.slots_left == 4


@cocotb.test()
async def a_post_backoff_ends_by_itself(dut):
    backoff = await started(dut)
    await backoff.set(packet_waiting=0)
    await backoff.clock(draw=1, draw_slots=2)
    await backoff.clock(tick_n=39)
    assert backoff.running == 1
    await backoff.clock(tick_n=1)
    assert backoff.running == 0


@cocotb.test()
async def a_post_backoff_of_no_slots_ends_with_the_inter_frame_space(dut):
    backoff = await started(dut)
    await backoff.set(packet_waiting=0, ifs_left_us=50)
    await backoff.clock(draw=1, draw_slots=0)
    await backoff.clock(tick_n=49)
    assert backoff.running == 1
    await backoff.set(ifs_left_us=1)
    await backoff.clock(tick_n=1)
    assert backoff.running == 0


@cocotb.test()
async def a_busy_medium_keeps_a_post_backoff_of_no_slots(dut):
    backoff = await started(dut)
    await backoff.set(packet_waiting=0, cca_busy=1)
    await backoff.clock(draw=1, draw_slots=0)
    await backoff.clock(tick_n=1000)
    assert backoff.running == 1


@cocotb.test()
async def a_taken_access_ends_the_backoff(dut):
    backoff = await started(dut)
    await backoff.clock(draw=1, draw_slots=1)
    await backoff.clock(tick_n=20)
    assert backoff.running == 1
    await backoff.clock(access_taken=1)
    assert backoff.running == 0


@cocotb.test()
async def a_jump_counts_as_many_slots_as_single_ticks_do(dut):
    """Random slot times, counts and splits; the longest back-off is 1023 slots of 8191 us."""
    source = random.Random(2)
    for _ in range(60):
        slot_us = source.choice((1, 9, 13, 20, source.randrange(1, 8192), 8191))
        slots = source.choice((1, 2, source.randrange(1024), 1023))
        backoff = await started(dut, slot_us)
        await backoff.clock(draw=1, draw_slots=slots)
        left_us = slots * slot_us
        while left_us:
            assert backoff.slots_left_us == left_us
            assert backoff.slots_left == -(-left_us // slot_us)
            ticks = source.choice((left_us, source.randint(1, left_us), min(left_us, slot_us)))
            await backoff.clock(tick_n=ticks)
            left_us -= ticks
        assert (backoff.running, backoff.slots_left) == (1, 0)


@cocotb.test()
async def a_jump_beyond_the_end_of_a_post_backoff_ends_it(dut):
    backoff = await started(dut)
    await backoff.set(packet_waiting=0)
    await backoff.clock(draw=1, draw_slots=1000)
    await backoff.clock(tick_n=0xFFFFFF)
    assert (backoff.running, backoff.slots_left) == (0, 0)


@cocotb.test()
async def what_is_told_late_counts_after_what_was_known(dut):
    backoff = await started(dut)
    await backoff.clock(draw=1, draw_slots=5)
    # A slot and a half; then the medium was busy, and idle again for two slots and 7 us.
    await backoff.clock(
        tick_n=SLOT_US * 3 // 2 + 900, summary_us=900, summary_slots=2, summary_phase_us=7, summary_spaced=1
    )
    assert (backoff.slots_left, backoff.slots_left_us) == (2, 2 * SLOT_US - 7)
    await backoff.clock(tick_n=100, reserved_us=100, summary_us=0)
    assert (backoff.slots_left, backoff.slots_left_us, backoff.running) == (2, 2 * SLOT_US, 1)


@cocotb.test()
async def a_back_off_without_a_packet_ends_in_what_is_told_late(dut):
    backoff = await started(dut)
    backoff.hold(packet_waiting=0)
    await backoff.clock(draw=1, draw_slots=2)
    await backoff.clock(tick_n=300, cca_busy=1, summary_us=200, summary_slots=1)
    assert (backoff.slots_left, backoff.running) == (1, 1)
    await backoff.clock(tick_n=300, cca_busy=1, summary_us=200, summary_slots=9)
    assert (backoff.slots_left, backoff.running) == (0, 0)
    await backoff.clock(draw=1, draw_slots=0)
    await backoff.clock(tick_n=300, cca_busy=1, summary_us=200)
    assert backoff.running == 1
    await backoff.clock(tick_n=300, cca_busy=1, summary_us=200, summary_spaced=1)
    assert backoff.running == 0


@cocotb.test()
async def one_stage_is_enough_for_a_tick_a_clock(dut):
    backoff = await started(dut, 9)
    await backoff.clock(draw=1, draw_slots=3)
    for us in range(27):
        assert backoff.slots_left_us == 27 - us
        await backoff.clock(tick_n=1)
    assert backoff.slots_left == 0


NAMES = cocotb_tests(globals())


@pytest.mark.parametrize("name", NAMES)
def test_backoff_counter(name):
    simulate("backoff_counter", __file__, name, NAMES)


def test_backoff_counter_of_the_hardware():
    simulate(
        "backoff_counter",
        __file__,
        "one_stage_is_enough_for_a_tick_a_clock",
        parameters={"RADIX_STAGES": 1},
    )
