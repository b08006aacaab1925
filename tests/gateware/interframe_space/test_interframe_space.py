# SPDX-License-Identifier: GPL-2.0-or-later
"""interframe_space: DIFS or EIFS, and how long the medium has been idle (IEEE 802.11-2012, 9.3.2.3)."""

import cocotb
import pytest
from perhop.registers.spec_generated import AccessMode
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

DIFS_US, EIFS_US = 34, 94


async def started(dut) -> Clocked:
    space = Clocked(
        dut, "tick_n", "cca_busy", "rx_end", "rx_bad", "tx_go", "waive", "reserved_us", "cfg_quirk_eifs_as_nav",
        "cfg_access_mode", "cfg_aifs_extra_slots", "cfg_slot_us",
        cfg_difs_us=DIFS_US, cfg_eifs_us=EIFS_US,
    )  # fmt: skip
    await space.reset()
    return space


@cocotb.test()
async def idle_time_adds_up_and_a_carrier_ends_it(dut):
    space = await started(dut)
    await space.clock(tick_n=30)
    await space.clock(tick_n=12)
    assert space.idle_us == 42
    await space.clock(tick_n=5, cca_busy=1)
    assert space.idle_us == 0
    await space.clock(tick_n=7)
    assert space.idle_us == 7


@cocotb.test()
async def idle_time_saturates(dut):
    space = await started(dut)
    await space.clock(tick_n=0xFFF0)
    await space.clock(tick_n=0xFFFFFF)
    assert space.idle_us == 0xFFFF


@cocotb.test()
async def only_what_lies_beyond_a_reservation_is_idle(dut):
    space = await started(dut)
    await space.clock(tick_n=1000)
    await space.clock(tick_n=100, reserved_us=300)
    assert space.idle_us == 0
    await space.clock(tick_n=250, reserved_us=200)
    assert space.idle_us == 50


@cocotb.test()
async def a_bad_frame_calls_for_eifs_until_a_good_one_ends(dut):
    space = await started(dut)
    assert space.ifs_us == DIFS_US
    await space.clock(rx_end=1, rx_bad=1)
    assert space.ifs_us == EIFS_US
    await space.clock(tick_n=1000)
    assert space.ifs_us == EIFS_US
    await space.clock(rx_end=1)
    assert space.ifs_us == DIFS_US


@cocotb.test()
async def an_own_frame_puts_difs_back(dut):
    space = await started(dut)
    await space.clock(rx_end=1, rx_bad=1)
    await space.clock(tx_go=1)
    assert space.ifs_us == DIFS_US


@cocotb.test()
async def ns2_has_its_eifs_in_the_nav(dut):
    space = await started(dut)
    await space.set(cfg_quirk_eifs_as_nav=1)
    await space.clock(rx_end=1, rx_bad=1)
    assert space.ifs_us == DIFS_US


@cocotb.test()
async def ns2_may_waive_the_space_until_the_medium_is_busy_again(dut):
    space = await started(dut)
    await space.clock(waive=1)
    assert space.idle_us >= EIFS_US
    await space.clock(tick_n=1, cca_busy=1)
    assert space.idle_us == 0


@cocotb.test()
@cocotb.parametrize(mode=[AccessMode.CSMA, AccessMode.FAMA])
async def other_access_modes_have_no_inter_frame_space(dut, mode):
    space = await started(dut)
    await space.set(cfg_access_mode=mode)
    assert space.ifs_us == 0
    await space.clock(rx_end=1, rx_bad=1)
    assert space.ifs_us == 0


@cocotb.test()
async def a_queue_of_low_priority_waits_for_slots_more(dut):
    """AIFS: DIFS and EIFS alike; what 16 bits cannot hold stays at their end."""
    space = await started(dut)

    async def settings(**values: int) -> None:
        """They stand in two clocks."""
        await space.set(**values)
        await space.clock()
        await space.clock()

    await settings(cfg_aifs_extra_slots=5, cfg_slot_us=9)
    assert space.ifs_us == DIFS_US + 45
    await space.clock(rx_end=1, rx_bad=1)
    assert space.ifs_us == EIFS_US + 45
    await settings(cfg_aifs_extra_slots=15, cfg_slot_us=8191)
    assert space.ifs_us == 0xFFFF
    await space.set(cfg_access_mode=int(AccessMode.CSMA))
    assert space.ifs_us == 0


@cocotb.test()
async def what_is_told_late_says_since_when_the_medium_is_idle_and_which_space_follows(dut):
    space = await started(dut)
    difs_us = space.ifs_us
    await space.clock(tick_n=1000, cca_busy=1, summary_us=900, summary_idle_us=30)
    assert (space.idle_us, space.ifs_us) == (30, difs_us)
    await space.clock(tick_n=20, summary_us=10, summary_idle_us=4000, summary_heard=1, summary_bad=1)
    assert space.idle_us == 50, "no longer than this station knows itself"
    assert space.ifs_us - difs_us == EIFS_US - DIFS_US
    await space.clock(tick_n=20, summary_heard=1)
    assert (space.idle_us, space.ifs_us) == (70, difs_us)


LOWER = ["a_queue_of_low_priority_waits_for_slots_more"]
NAMES = [name for name in cocotb_tests(globals()) if name not in LOWER]


@pytest.mark.parametrize("name", NAMES)
def test_interframe_space(name):
    simulate("interframe_space", __file__, name, NAMES)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_interframe_space_of_two_queues(name):
    simulate("interframe_space", __file__, name, cocotb_tests(globals()), {"QUEUES": 2})
