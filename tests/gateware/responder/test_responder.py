# SPDX-License-Identifier: GPL-2.0-or-later
"""responder: CTS to an RTS, MAC ACK to data, SIFS later (IEEE 802.11-2012, 9.3.2.6, 9.3.2.8)."""

import cocotb
import pytest
from perhop.registers.spec_generated import FrameKind
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SIFS_US = 10
RATE = (0, 0, 2, 2, 4, 4, 4, 4)
AIRTIME_US = tuple(100 + rate for rate in range(8))
PEER = 0x0200_0000_0003


async def started(dut) -> Clocked:
    for rate in range(8):
        dut.cfg_response_rate[rate].value = RATE[rate]
        dut.cfg_response_airtime_us[rate].value = AIRTIME_US[rate]
    responder = Clocked(
        dut, "tick_n", "rx_rts_for_us", "rx_data_for_us", "rx_rate", "rx_duration_us", "rx_ta", "nav_left_us",
        "cfg_no_mac_ack",
        may_answer=1, cfg_sifs_us=SIFS_US,
    )  # fmt: skip
    await responder.reset()
    return responder


async def hears(responder: Clocked, **frame: int) -> tuple[int, int]:
    """A frame's end; (accept, accept_data) in its clock."""
    await responder.set(**frame)
    accepted = (responder.accept, responder.accept_data)
    await responder.clock()
    await responder.set(**dict.fromkeys(frame, 0))
    return accepted


@cocotb.test()
async def an_rts_is_accepted_and_answered_after_sifs(dut):
    responder = await started(dut)
    await responder.set(rx_rate=1, rx_duration_us=3000)
    await responder.settle()
    assert responder.hold_us == SIFS_US + AIRTIME_US[1]
    assert await hears(responder, rx_rts_for_us=1, rx_rate=1, rx_duration_us=3000, rx_ta=PEER) == (1, 0)
    assert (responder.busy, responder.sifs_left_us, responder.answer) == (1, SIFS_US, 0)
    await responder.clock(tick_n=SIFS_US - 1)
    assert (responder.sifs_left_us, responder.answer) == (1, 0)
    await responder.clock(tick_n=1)
    assert responder.answer == 1
    assert responder.answer_kind == FrameKind.CTS
    assert (responder.answer_rate, responder.answer_airtime_us) == (RATE[1], AIRTIME_US[1])
    assert responder.answer_duration_us == 3000 - SIFS_US - AIRTIME_US[1]
    assert responder.answer_ra == PEER
    await responder.clock()
    assert (responder.busy, responder.answer) == (0, 0)


@cocotb.test()
async def data_is_acknowledged_at_the_rate_it_calls_for(dut):
    responder = await started(dut)
    for rate in range(8):
        assert await hears(responder, rx_data_for_us=1, rx_rate=rate, rx_duration_us=100, rx_ta=PEER + rate) == (1, 1)
        await responder.clock(tick_n=SIFS_US)
        assert responder.answer_kind == FrameKind.MAC_ACK
        assert (responder.answer_rate, responder.answer_airtime_us) == (RATE[rate], AIRTIME_US[rate])
        assert (responder.answer_duration_us, responder.answer_ra) == (0, PEER + rate)
        await responder.clock()


@cocotb.test()
async def a_cts_is_withheld_under_nav_and_a_mac_ack_is_not(dut):
    responder = await started(dut)
    await responder.set(nav_left_us=1)
    assert await hears(responder, rx_rts_for_us=1) == (0, 0)
    assert responder.busy == 0
    assert await hears(responder, rx_data_for_us=1) == (1, 1)
    assert responder.busy == 1


@cocotb.test()
async def nothing_is_answered_in_the_middle_of_an_own_exchange(dut):
    responder = await started(dut)
    await responder.set(may_answer=0)
    assert await hears(responder, rx_rts_for_us=1) == (0, 0)
    assert await hears(responder, rx_data_for_us=1) == (0, 0)
    assert responder.busy == 0


@cocotb.test()
async def one_answer_at_a_time(dut):
    responder = await started(dut)
    assert await hears(responder, rx_rts_for_us=1, rx_ta=PEER) == (1, 0)
    assert await hears(responder, rx_data_for_us=1, rx_ta=PEER + 1) == (0, 0)
    await responder.clock(tick_n=SIFS_US)
    assert (responder.answer_kind, responder.answer_ra) == (FrameKind.CTS, PEER)


@cocotb.test()
async def data_goes_to_the_host_unanswered_where_nothing_is_acknowledged(dut):
    responder = await started(dut)
    await responder.set(cfg_no_mac_ack=1)
    assert await hears(responder, rx_data_for_us=1) == (0, 1)
    assert responder.busy == 0
    assert await hears(responder, rx_rts_for_us=1, rx_ta=PEER) == (1, 0)
    assert await hears(responder, rx_data_for_us=1) == (0, 1)
    await responder.clock(tick_n=SIFS_US)
    assert (responder.answer_kind, responder.answer_ra) == (FrameKind.CTS, PEER)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_responder(name):
    simulate("responder", __file__, name, cocotb_tests(globals()))
