# SPDX-License-Identifier: GPL-2.0-or-later
"""transmit_queue: one queue's packet, spaces, slots and account, beside another that is a busy medium to it.

Two queues in one MAC are in tests/gateware/mac_core.
"""

import cocotb
import pytest
from perhop.registers.spec_generated import TxResult
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SLOT_US, DIFS_US, AIFS_SLOTS, DATA_US, SIFS_US, CTS_US = 20, 50, 2, 1192, 10, 304
AIFS_US = DIFS_US + AIFS_SLOTS * SLOT_US
RESPONSE_DEADLINE_US = DATA_US + 222
INPUTS = (
    *("tick_n", "tsf_us", "head_valid", "head_rate", "head_use_rts", "head_series_attempts", "head_series_rate"),
    *("head_series_airtime_us", "head_t_enqueue_us", "cca_busy", "rx_start", "rx_end", "rx_bad", "rx_cts_for_us"),
    *("rx_mac_ack_for_us", "nav_until_us", "own_left_us", "tx_go", "collided", "held", "draw_again", "random"),
    *("cfg_access_mode", "cfg_no_mac_ack", "cfg_vacation_us", "cfg_quirk_eifs_as_nav", "cfg_quirk_fixed_timeout"),
    *("cfg_quirk_draw_below_cw", "cfg_quirk_backoff_at_once"),
)


class Queue(Clocked):
    """The lower of two queues; the test grants what it `wants`, in the clock after it as queue_arbiter does, and a draw
    at once.
    """

    def __init__(self, dut) -> None:
        super().__init__(
            dut, *INPUTS, "granted", draw=0, cfg_slot_us=SLOT_US, cfg_sifs_us=SIFS_US, cfg_difs_us=DIFS_US,
            cfg_eifs_us=364, cfg_cw_min=7, cfg_cw_max=31, cfg_aifs_extra_slots=AIFS_SLOTS, cfg_short_retry_limit=3,
            cfg_long_retry_limit=4, head_ra=0x0200_0000_0002, head_peer=1, head_bytes=250, head_airtime_us=DATA_US,
            head_tag=7, response_deadline_us=RESPONSE_DEADLINE_US,
        )  # fmt: skip
        self.now_us = 0

    async def passes(self, us: int) -> None:
        await self.clock(tick_n=us)
        self.now_us += us
        await self.set(tsf_us=self.now_us)

    async def settles(self) -> None:
        """Clocks without ticks until there is nothing to do; draws are answered with the number on `random`."""
        for _ in range(10):
            await self.settle()
            if not self.work_pending or self.wants:
                return
            await self.clock(draw=self.draw_wanted)
        raise AssertionError("does not settle")

    async def packet(self) -> None:
        await self.set(head_valid=1)
        await self.clock()
        await self.set(head_valid=0)

    def parts(self) -> dict[str, int]:
        names = (
            "ifs_us",
            "backoff_us",
            "frozen_cca_us",
            "frozen_nav_us",
            "responder_us",
            "data_us",
            "response_us",
        )
        return {name: value for name in names if (value := getattr(self, f"record_{name}"))}


@cocotb.test()
async def a_packet_waits_for_the_arbitration_space_of_its_queue(dut):
    """0          90
       |  AIFS   | wants
    """  # fmt: skip
    queue = Queue(dut)
    await queue.reset()
    await queue.packet()
    await queue.settles()
    assert (queue.wants, queue.wait_valid, queue.wait_us) == (0, 1, AIFS_US)
    await queue.passes(AIFS_US - 1)
    assert queue.wants == 0
    await queue.passes(1)
    assert (queue.wants, queue.send) == (1, 0)
    await queue.clock()
    await queue.set(granted=1)
    assert queue.send == 1


@cocotb.test()
async def the_other_queues_exchange_freezes_the_back_off_and_the_space_begins_anew(dut):
    """The part of a slot that had passed does not count; the time is the station's other work.

       0      90   130 135        1635     1725  1745
       | AIFS | 2 slots |   held    |  AIFS | slot | wants
    """  # fmt: skip
    queue = Queue(dut)
    await queue.reset()
    await queue.set(cca_busy=1, random=3)
    await queue.packet()
    await queue.settles()
    await queue.set(cca_busy=0)
    await queue.passes(AIFS_US + 45)
    assert queue.wants == 0
    await queue.set(held=1)
    await queue.settles()
    assert queue.wait_valid == 0
    await queue.passes(1200)
    await queue.passes(300)
    await queue.set(held=0)
    await queue.settles()
    assert queue.wait_us == AIFS_US + SLOT_US
    await queue.passes(AIFS_US + SLOT_US)
    assert queue.wants == 1
    assert queue.parts() == {"ifs_us": 2 * AIFS_US, "backoff_us": 45 + SLOT_US, "responder_us": 1500}


@cocotb.test()
async def collisions_within_the_station_double_the_window_until_the_packet_is_given_up(dut):
    queue = Queue(dut)
    await queue.reset()
    await queue.set(random=0x3FF)
    await queue.passes(AIFS_US)
    await queue.packet()
    await queue.settles()
    for number, window in ((1, 15), (2, 31)):
        assert queue.wants == 1
        await queue.clock(collided=1)
        await queue.settles()
        assert (queue.record_ssrc, queue.record_slrc, queue.wants) == (number, 0, 0)
        assert queue.wait_us == window * SLOT_US
        await queue.passes(window * SLOT_US)
    await queue.clock(collided=1)
    assert (queue.report, queue.record_result, queue.record_ssrc) == (1, TxResult.SHORT_RETRY_LIMIT, 3)
    await queue.clock(draw=1)
    assert (queue.reported, queue.record_cw, queue.record_data_attempts, queue.record_slots_drawn) == (
        1,
        31,
        0,
        15 + 31,
    )
    assert (queue.record_t_first_tx_us, queue.record_t_done_us) == (AIFS_US, AIFS_US + 46 * SLOT_US)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_transmit_queue(name):
    simulate("transmit_queue", __file__, name, cocotb_tests(globals()), {"QUEUES": 2})
