# SPDX-License-Identifier: GPL-2.0-or-later
"""channel_access: when a packet goes, when it draws first, and what it waits for. Exchanges are in frame_sequence."""

import cocotb
import pytest
from perhop.registers.spec_generated import AccessMode
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SHORT_MODES = [AccessMode.CSMA, AccessMode.FAMA]


async def access(dut, **values: int) -> Clocked:
    """A packet that contends on an idle medium, and whoever wants gets it; but for what a test says."""
    found = Clocked(
        dut, "cfg_access_mode", "draw_pending", "cca_busy", "ifs_left_us", "reserved_us", "backoff_running",
        "slots_left", "slots_left_us", "held", "draw_again", contending=1, granted=1, idle_us=1000, ifs_us=50,
    )  # fmt: skip
    await found.set(**values)
    return found


@cocotb.test()
@cocotb.parametrize(mode=list(AccessMode))
async def an_idle_medium_is_taken_at_once(dut, mode):
    one = await access(dut, cfg_access_mode=mode)
    assert (one.wants, one.access_taken, one.draw_wanted, one.defer) == (1, 1, 0, 0)
    await one.set(granted=0)
    assert (one.wants, one.access_taken) == (1, 0)


@cocotb.test()
@cocotb.parametrize((("name", "value"), [("cca_busy", 1), ("reserved_us", 1), ("held", 1)]))
async def a_busy_medium_wants_a_draw_unless_a_back_off_runs(dut, name, value):
    one = await access(dut, idle_us=0, **{name: value})
    assert (one.access_taken, one.draw_wanted, one.defer) == (0, 1, 0)
    await one.set(backoff_running=1)
    assert (one.access_taken, one.draw_wanted) == (0, 0)
    await one.set(draw_pending=1)
    assert one.draw_wanted == 1


@cocotb.test()
@cocotb.parametrize((("name", "value"), [("slots_left", 1), ("reserved_us", 1), ("idle_us", 49), ("held", 1)]))
async def nothing_goes_before_reservation_inter_frame_space_and_slots_are_over(dut, name, value):
    one = await access(dut, backoff_running=1, **{name: value})
    assert (one.wants, one.access_taken) == (0, 0)


@cocotb.test()
@cocotb.parametrize(mode=SHORT_MODES)
async def without_slots_a_busy_medium_defers_until_a_number_will_do(dut, mode):
    one = await access(dut, cfg_access_mode=mode, idle_us=0, cca_busy=1, draw_again=1)
    assert (one.access_taken, one.draw_wanted, one.defer) == (0, 1, 0)
    await one.set(draw_again=0)
    assert (one.draw_wanted, one.defer) == (1, 1)
    # The inter-frame space means nothing, nor do slots.
    await one.set(cca_busy=0, slots_left=3)
    assert (one.access_taken, one.draw_wanted, one.defer) == (1, 0, 0)


@cocotb.test()
@cocotb.parametrize(mode=list(AccessMode))
async def without_a_packet_only_the_back_off_after_an_outcome_is_drawn(dut, mode):
    one = await access(dut, cfg_access_mode=mode, contending=0, cca_busy=1)
    assert (one.wants, one.access_taken, one.draw_wanted, one.defer, one.waits) == (0, 0, 0, 0, 0)
    await one.set(draw_pending=1)
    assert (one.draw_wanted, one.defer) == (int(mode == AccessMode.DCF), 0)


@cocotb.test()
async def the_wait_is_the_sum_of_what_is_left_once_the_carrier_is_gone(dut):
    one = await access(
        dut, reserved_us=300, ifs_left_us=50, slots_left=3, slots_left_us=55, backoff_running=1, idle_us=0
    )
    assert (one.waits, one.wait_us) == (1, 405)
    for name in ("cca_busy", "held"):
        await one.set(**{name: 1})
        assert one.waits == 0
        await one.set(**{name: 0})


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_channel_access(name):
    simulate("channel_access", __file__, name, cocotb_tests(globals()))


@cocotb.test()
async def with_two_queues_a_grant_counts_if_nothing_has_come_between(dut):
    """What may change between wanting and granting: the NAV, the other queue, and without slots the carrier."""
    one = await access(dut, slots_left=1)
    assert (one.wants, one.access_taken) == (0, 1)
    for name in ("reserved_us", "held", "draw_pending"):
        await one.set(**{name: 1})
        assert one.access_taken == 0
        await one.set(**{name: 0})
    await one.set(cca_busy=1)
    assert one.access_taken == 1
    await one.set(cfg_access_mode=AccessMode.CSMA)
    assert one.access_taken == 0


def test_channel_access_of_two_queues():
    name = "with_two_queues_a_grant_counts_if_nothing_has_come_between"
    simulate("channel_access", __file__, name, parameters={"QUEUES": 2})
