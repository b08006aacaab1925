# SPDX-License-Identifier: GPL-2.0-or-later
"""frame_sequence: the exchange of one packet as its sender. Whole exchanges in time are in tests/gateware/mac_core.

It is one file: all tests drive one module by the same bench.
"""

import cocotb
import pytest
from perhop.registers.spec_generated import AccessMode, FrameKind, TxResult
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

PEER, GROUP = 0x0200_0000_0002, 0xFFFF_FFFF_FFFF
SIFS_US, TIMEOUT_US, RTS_US, CTS_US, DATA_US = 10, 222, 352, 304, 1192
INPUTS = (
    "tick_n", "tsf_us", "cfg_rts_rate", "cfg_quirk_fixed_timeout", "head_valid", "cca_busy", "rx_start", "rx_end",
    "rx_cts_for_us", "rx_mac_ack_for_us", "ifs_left_us", "reserved_us", "own_left_us", "backoff_running", "slots_left",
    "slots_left_us", "draw_again", "draw_slots", "limit_reached", "cfg_access_mode",
    "cfg_no_mac_ack", "cfg_vacation_us", "cfg_slot_us", "collided", "held",
)  # fmt: skip


class Sequence(Clocked):
    """frame_sequence in surroundings that grant the medium at once, unless a test holds an input otherwise."""

    def __init__(self, dut, **packet: int) -> None:
        for rate in range(8):
            dut.cfg_response_airtime_us[rate].value = CTS_US
        packet = {
            "head_ra": PEER, "head_peer": 3, "head_bytes": 250, "head_rate": 1, "head_airtime_us": DATA_US,
            "head_use_rts": 0, "head_tag": 77,
            "head_series_attempts": 0, "head_series_rate": 0, "head_series_airtime_us": 0, "granted": 1,
        } | packet  # fmt: skip
        super().__init__(
            dut, *INPUTS, **packet, idle_us=1000, ifs_us=50, cfg_sifs_us=SIFS_US,
            cfg_response_timeout_us=TIMEOUT_US, cfg_rts_airtime_us=RTS_US,
        )  # fmt: skip

    async def take(self) -> None:
        """A packet comes to the head; then the sequence contends."""
        await self.reset()
        await self.set(head_valid=1)
        assert (self.head_taken, self.clear_retries) == (1, 1)
        await self.clock()
        await self.set(head_valid=0)
        assert (self.in_contention, self.packet_waiting) == (1, 1)

    async def send_first(self) -> None:
        """... and sends at once."""
        await self.take()
        assert (self.send, self.access_taken) == (1, 1)
        await self.clock()
        assert self.send == 0

    async def passes(self, ticks: int) -> None:
        await self.clock(tick_n=ticks)


@cocotb.test()
async def a_packet_on_an_idle_medium_is_sent_at_once(dut):
    sequence = Sequence(dut)
    await sequence.take()
    assert (sequence.send_kind, sequence.send_rate, sequence.send_bytes) == (FrameKind.DATA, 1, 250)
    assert (sequence.send_airtime_us, sequence.send_duration_us) == (DATA_US, SIFS_US + CTS_US)
    assert (sequence.packet_ra, sequence.packet_sequence, sequence.send_retry, sequence.packet_tag) == (PEER, 1, 0, 77)


@cocotb.test()
@cocotb.parametrize((("name", "value"), [("slots_left", 1), ("reserved_us", 1), ("idle_us", 49)]))
async def nothing_is_sent_before_reservation_inter_frame_space_and_slots_are_over(dut, name, value):
    sequence = Sequence(dut)
    await sequence.take()
    await sequence.set(**{name: value, "backoff_running": 1})
    assert (sequence.send, sequence.access_taken) == (0, 0)


@cocotb.test()
async def the_wait_for_access_is_the_sum_of_what_is_left(dut):
    sequence = Sequence(dut)
    await sequence.take()
    await sequence.set(reserved_us=300, ifs_left_us=50, slots_left=3, slots_left_us=55, backoff_running=1, idle_us=0)
    assert (sequence.wait_valid, sequence.wait_us, sequence.work_pending) == (1, 405, 0)
    await sequence.set(cca_busy=1)
    assert sequence.wait_valid == 0


@cocotb.test()
async def a_packet_that_finds_the_medium_busy_wants_a_backoff_until_one_is_drawn(dut):
    sequence = Sequence(dut)
    await sequence.take()
    await sequence.set(cca_busy=1, idle_us=0, draw_again=1)
    for _ in range(3):
        assert (sequence.draw_wanted, sequence.work_pending) == (1, 1)
        await sequence.clock()
    await sequence.set(draw_again=0)
    await sequence.clock()
    await sequence.set(backoff_running=1)
    assert (sequence.draw_wanted, sequence.work_pending) == (0, 0)


@cocotb.test()
async def an_rts_reserves_the_whole_exchange(dut):
    sequence = Sequence(dut, head_use_rts=1)
    await sequence.take()
    assert (sequence.send_kind, sequence.send_bytes, sequence.send_airtime_us) == (FrameKind.RTS, 20, RTS_US)
    assert sequence.send_duration_us == 3 * SIFS_US + CTS_US + DATA_US + CTS_US


@cocotb.test()
async def a_duration_saturates_at_its_width(dut):
    sequence = Sequence(dut, head_use_rts=1, head_airtime_us=0xFFFF)
    await sequence.take()
    assert sequence.send_duration_us == 0x7FFF


@cocotb.test()
async def a_group_frame_needs_no_answer(dut):
    sequence = Sequence(dut, head_use_rts=1, head_ra=GROUP)
    await sequence.take()
    assert (sequence.send_kind, sequence.send_duration_us) == (FrameKind.DATA, 0)
    await sequence.clock()
    assert (sequence.wait_valid, sequence.wait_us, sequence.want_rx_start) == (1, DATA_US, 0)
    await sequence.passes(DATA_US)
    assert sequence.reset_window == 1
    await sequence.clock()
    assert (sequence.report, sequence.packet_result) == (1, TxResult.GROUP_SENT)
    assert sequence.draw_wanted == 1
    await sequence.clock()
    assert (sequence.done_valid, sequence.report) == (1, 0)


@cocotb.test()
async def cts_sifs_data_and_mac_ack_deliver_a_packet(dut):
    sequence = Sequence(dut, head_use_rts=1)
    await sequence.send_first()
    assert sequence.in_rts == 1
    await sequence.passes(RTS_US + SIFS_US + 192)
    await sequence.clock(rx_start=1)
    assert (sequence.want_rx_start, sequence.wait_valid) == (0, 0)
    await sequence.passes(CTS_US - 192)
    await sequence.set(rx_end=1, rx_cts_for_us=1)
    assert (sequence.responded, sequence.short_success, sequence.timed_out) == (1, 1, 0)
    await sequence.clock()
    await sequence.set(rx_end=0, rx_cts_for_us=0)
    assert (sequence.in_gap, sequence.wait_us, sequence.may_answer) == (1, SIFS_US, 0)
    await sequence.passes(SIFS_US)
    assert (sequence.send, sequence.send_kind) == (1, FrameKind.DATA)
    await sequence.clock()
    assert sequence.in_data == 1
    await sequence.passes(DATA_US + SIFS_US + CTS_US // 2)
    await sequence.clock(rx_start=1)
    await sequence.set(rx_end=1, rx_mac_ack_for_us=1)
    assert (sequence.responded, sequence.reset_window) == (1, 1)
    await sequence.clock()
    await sequence.set(rx_end=0, rx_mac_ack_for_us=0)
    assert (sequence.report, sequence.packet_result) == (1, TxResult.DELIVERED)
    assert (sequence.packet_rts_attempts, sequence.packet_data_attempts) == (1, 1)
    await sequence.clock()
    assert (sequence.done_valid, sequence.packet_peer, sequence.packet_tag) == (1, 3, 77)


@cocotb.test()
async def without_a_response_the_timeout_ends_the_wait(dut):
    sequence = Sequence(dut)
    await sequence.send_first()
    assert (sequence.wait_us, sequence.want_rx_start) == (DATA_US + TIMEOUT_US, 1)
    await sequence.passes(DATA_US + TIMEOUT_US)
    assert (sequence.timed_out, sequence.short_failure, sequence.long_failure) == (1, 1, 0)
    assert (sequence.double_window, sequence.reset_window) == (1, 0)
    await sequence.clock()
    assert (sequence.in_contention, sequence.draw_wanted) == (1, 1)


@cocotb.test()
async def a_frame_that_begins_stops_the_timeout_and_its_end_decides(dut):
    sequence = Sequence(dut)
    await sequence.send_first()
    await sequence.passes(DATA_US + TIMEOUT_US - 1)
    await sequence.clock(tick_n=1)
    # The start comes registered, in the clock after the ticks: still in time.
    await sequence.clock(rx_start=1)
    assert sequence.timed_out == 0
    await sequence.passes(5000)
    assert sequence.timed_out == 0
    await sequence.set(rx_end=1)
    assert (sequence.timed_out, sequence.short_failure) == (1, 1)


@cocotb.test()
@cocotb.parametrize((("use_rts", "response"), [(1, "rx_cts_for_us"), (0, "rx_mac_ack_for_us")]))
async def what_is_heard_over_an_own_frame_is_no_response_to_it(dut, use_rts, response):
    """A forged CTS would start DATA over the RTS; a forged MAC ACK would end a packet before it has been sent."""
    sequence = Sequence(dut, head_use_rts=use_rts)
    await sequence.send_first()
    await sequence.set(own_left_us=100)
    await sequence.clock(rx_start=1)
    await sequence.set(rx_end=1, **{response: 1})
    assert (sequence.responded, sequence.timed_out) == (0, 0)
    await sequence.clock()
    await sequence.set(rx_end=0, own_left_us=0, **{response: 0})
    # The time-out still decides.
    assert (sequence.wait_valid, sequence.want_rx_start, sequence.in_gap) == (1, 1, 0)
    await sequence.clock(rx_start=1)
    await sequence.set(rx_end=1, **{response: 1})
    assert (sequence.responded, sequence.timed_out) == (1, 0)


@cocotb.test()
async def ns2_waits_for_the_whole_response_and_for_nothing_else(dut):
    sequence = Sequence(dut)
    await sequence.set(cfg_quirk_fixed_timeout=1, cfg_response_timeout_us=14)
    await sequence.send_first()
    assert (sequence.wait_us, sequence.want_rx_start) == (DATA_US + 14 + CTS_US, 0)
    await sequence.passes(DATA_US + 20)
    await sequence.clock(rx_start=1)
    await sequence.set(rx_end=1)
    assert sequence.timed_out == 0
    await sequence.set(rx_end=0)
    assert sequence.wait_us == 14 + CTS_US - 20
    await sequence.passes(14 + CTS_US - 20)
    assert sequence.timed_out == 1


@cocotb.test()
@cocotb.parametrize(rate=range(8))
async def ns2_waits_for_the_mac_ack_of_the_rate_that_the_data_had(dut, rate):
    sequence = Sequence(dut, head_rate=rate)
    for each in range(8):
        dut.cfg_response_airtime_us[each].value = 40 + 10 * each
    await sequence.set(cfg_quirk_fixed_timeout=1, cfg_response_timeout_us=14)
    await sequence.take()
    assert sequence.send_duration_us == SIFS_US + 40 + 10 * rate
    await sequence.clock()
    assert sequence.wait_us == DATA_US + 14 + 40 + 10 * rate


@cocotb.test()
async def a_failure_at_the_limit_gives_the_packet_up(dut):
    sequence = Sequence(dut)
    await sequence.send_first()
    await sequence.set(limit_reached=1)
    await sequence.passes(DATA_US + TIMEOUT_US)
    assert (sequence.reset_window, sequence.double_window) == (1, 0)
    await sequence.clock()
    assert (sequence.report, sequence.packet_result) == (1, TxResult.SHORT_RETRY_LIMIT)


@cocotb.test()
async def data_behind_an_rts_fails_long(dut):
    sequence = Sequence(dut, head_use_rts=1)
    await sequence.send_first()
    await sequence.clock(rx_end=1, rx_cts_for_us=1)
    await sequence.passes(SIFS_US)
    await sequence.clock()
    await sequence.passes(DATA_US + TIMEOUT_US)
    assert (sequence.long_failure, sequence.short_failure) == (1, 0)
    await sequence.set(limit_reached=1)
    await sequence.clock()
    assert sequence.packet_result == TxResult.LONG_RETRY_LIMIT


@cocotb.test()
async def others_are_answered_except_in_the_middle_of_an_own_exchange(dut):
    sequence = Sequence(dut, head_use_rts=1)
    await sequence.reset()
    await sequence.settle()
    assert sequence.may_answer == 1
    await sequence.take()
    await sequence.set(idle_us=0)
    assert sequence.may_answer == 1
    await sequence.set(own_left_us=1)
    assert sequence.may_answer == 0
    await sequence.set(own_left_us=0, idle_us=1000)
    await sequence.clock()
    assert (sequence.in_rts, sequence.may_answer) == (1, 0)
    await sequence.clock(rx_start=1)
    assert sequence.may_answer == 1


@cocotb.test()
async def sequence_numbers_go_up_with_packets_and_wrap(dut):
    sequence = Sequence(dut, head_ra=GROUP)
    await sequence.reset()
    for number in range(1, 4100):
        await sequence.set(head_valid=1)
        await sequence.clock()
        await sequence.set(head_valid=0)
        assert sequence.packet_sequence == number & 0xFFF
        await sequence.clock()
        await sequence.passes(DATA_US)
        await sequence.clock()
        await sequence.clock()


@cocotb.test()
async def times_of_head_and_first_transmission_are_recorded(dut):
    sequence = Sequence(dut)
    await sequence.reset()
    await sequence.set(head_valid=1, tsf_us=1000, idle_us=0)
    await sequence.clock()
    await sequence.set(head_valid=0, tsf_us=1500, idle_us=1000)
    await sequence.clock()
    await sequence.set(tsf_us=3000)
    await sequence.passes(DATA_US + TIMEOUT_US)
    await sequence.clock()
    await sequence.clock()
    assert sequence.send == 1
    assert sequence.send_retry == 1
    await sequence.clock()
    assert (sequence.packet_t_head_us, sequence.packet_t_first_tx_us, sequence.packet_data_attempts) == (1000, 1500, 2)


@cocotb.test()
@cocotb.parametrize((("mode", "kind"), [(AccessMode.CSMA, FrameKind.DATA), (AccessMode.FAMA, FrameKind.RTS)]))
async def the_other_access_modes_send_at_once_whatever_the_idle_time(dut, mode, kind):
    sequence = Sequence(dut, cfg_access_mode=mode, head_use_rts=mode == AccessMode.CSMA)
    await sequence.take()
    await sequence.set(idle_us=0, ifs_us=0, slots_left=5)
    assert (sequence.send, sequence.send_kind) == (1, kind)


@cocotb.test()
@cocotb.parametrize((("name", "value"), [("cca_busy", 1), ("reserved_us", 1)]))
async def a_busy_medium_is_looked_at_again_after_a_random_time(dut, name, value):
    sequence = Sequence(dut, cfg_access_mode=AccessMode.CSMA, cfg_slot_us=20)
    await sequence.take()
    await sequence.set(**{name: value, "draw_again": 1})
    assert (sequence.draw_wanted, sequence.double_window, sequence.send) == (1, 0, 0)
    await sequence.clock()
    await sequence.set(draw_again=0, draw_slots=6)
    assert (sequence.draw_wanted, sequence.double_window) == (1, 1)
    await sequence.clock()
    assert (sequence.draw_wanted, sequence.work_pending, sequence.in_contention) == (0, 1, 1)
    await sequence.clock()
    assert (sequence.work_pending, sequence.wait_valid, sequence.wait_us) == (0, 1, 140)
    await sequence.set(**{name: 0})
    await sequence.passes(139)
    assert (sequence.send, sequence.work_pending) == (0, 0)
    await sequence.passes(1)
    await sequence.clock()
    assert sequence.send == 1


@cocotb.test()
async def a_random_time_that_does_not_fit_is_cut(dut):
    sequence = Sequence(dut, cfg_access_mode=AccessMode.CSMA, cfg_slot_us=0x1FFF, cca_busy=1, draw_slots=1023)
    await sequence.take()
    await sequence.clock()
    await sequence.clock()
    assert sequence.wait_us == 0x1FFFF


async def data_fails(sequence: Sequence) -> None:
    """DATA goes out and no MAC ACK comes; then the sequence contends again."""
    assert sequence.send == 1
    await sequence.clock()
    await sequence.passes(sequence.wait_us)
    await sequence.clock()  # the failure
    await sequence.clock()  # the draw


@cocotb.test()
async def data_that_fails_as_often_as_its_rate_allows_goes_on_at_the_next_of_the_rate_series(dut):
    """Twice at rate 3, once at 2, then at 1 for ever; the fourth entry is none."""
    sequence = Sequence(
        dut, head_rate=3, head_airtime_us=100, head_series_attempts=1 << 10 | 1 << 5 | 2, head_series_rate=1 << 3 | 2,
        head_series_airtime_us=300 << 16 | 200,
    )  # fmt: skip
    await sequence.take()
    for rate, airtime_us in ((3, 100), (3, 100), (2, 200), (1, 300), (1, 300), (1, 300)):
        assert (sequence.send_rate, sequence.send_airtime_us, sequence.packet_rate) == (rate, airtime_us, rate)
        await data_fails(sequence)


@cocotb.test()
async def a_packet_that_is_given_up_reports_the_rate_of_its_last_data_of_the_rate_series(dut):
    sequence = Sequence(
        dut, head_rate=3, head_series_attempts=1, head_series_rate=2, head_series_airtime_us=200, limit_reached=1
    )
    await sequence.take()
    await data_fails(sequence)
    assert (sequence.done_valid, sequence.packet_rate) == (1, 3)


@cocotb.test()
async def an_rts_that_fails_leaves_the_rate_series_where_it_is(dut):
    sequence = Sequence(
        dut, head_rate=3, head_series_attempts=1, head_series_rate=2, head_series_airtime_us=200, head_use_rts=1
    )
    await sequence.take()
    for _ in range(3):
        assert sequence.packet_rate == 3
        await data_fails(sequence)


@cocotb.test()
async def without_a_grant_a_packet_waits_and_draws_nothing(dut):
    sequence = Sequence(dut, granted=0)
    await sequence.take()
    for _ in range(3):
        assert (sequence.wants, sequence.work_pending, sequence.send, sequence.draw_wanted) == (1, 1, 0, 0)
        await sequence.clock()
    await sequence.set(granted=1)
    assert (sequence.send, sequence.in_exchange) == (1, 0)
    await sequence.clock()
    assert (sequence.wants, sequence.in_exchange) == (0, 1)


@cocotb.test()
@cocotb.parametrize(mode=[AccessMode.DCF, AccessMode.CSMA])
async def another_queues_exchange_is_a_busy_medium(dut, mode):
    """A packet that comes meanwhile draws a back-off (csma: a random time), and its end is no timer of this queue's."""
    sequence = Sequence(dut, held=1, cfg_access_mode=mode)
    await sequence.take()
    assert (sequence.wants, sequence.draw_wanted) == (0, 1)
    await sequence.clock()
    await sequence.set(backoff_running=1)
    if mode == AccessMode.DCF:
        assert (sequence.draw_wanted, sequence.work_pending, sequence.wait_valid) == (0, 0, 0)
        await sequence.set(held=0)
        assert (sequence.wants, sequence.wait_valid) == (1, 1)


@cocotb.test()
@cocotb.parametrize(use_rts=[0, 1])
async def a_collision_within_the_station_is_a_short_failure_and_a_new_backoff(dut, use_rts):
    sequence = Sequence(dut, granted=0, head_use_rts=use_rts, tsf_us=500)
    await sequence.take()
    await sequence.set(collided=1)
    assert (sequence.short_failure, sequence.long_failure, sequence.double_window, sequence.outcome) == (1, 0, 1, 0)
    assert (sequence.send, sequence.access_taken) == (0, 0)
    await sequence.clock(tsf_us=700)
    await sequence.set(collided=0, draw_again=1)
    assert (sequence.draw_wanted, sequence.in_contention, sequence.wants) == (1, 1, 0)
    await sequence.set(draw_again=0, granted=1)
    await sequence.clock()
    assert (sequence.send, sequence.send_retry) == (1, 0)
    assert (sequence.packet_data_attempts, sequence.packet_rts_attempts) == (0, 0)
    await sequence.clock(tsf_us=900)
    assert sequence.packet_t_first_tx_us == 700


@cocotb.test()
async def the_last_collision_allowed_gives_the_packet_up(dut):
    sequence = Sequence(dut, granted=0)
    await sequence.take()
    await sequence.set(collided=1, limit_reached=1)
    assert (sequence.outcome, sequence.reset_window, sequence.double_window) == (1, 1, 0)
    await sequence.clock()
    await sequence.set(collided=0, limit_reached=0)
    assert (sequence.report, sequence.packet_result, sequence.draw_wanted) == (1, TxResult.SHORT_RETRY_LIMIT, 1)


@cocotb.test()
async def of_two_queues_each_has_half_of_the_sequence_numbers(dut):
    sequence = Sequence(dut, granted=0, limit_reached=1)
    await sequence.reset()
    for number in range(1, 2050):
        await sequence.clock(head_valid=1)
        assert sequence.packet_sequence == 0x800 + number % 2048
        await sequence.clock(collided=1)
        await sequence.clock()


HALVES = ["of_two_queues_each_has_half_of_the_sequence_numbers"]
ONE_RATE = [name for name in cocotb_tests(globals()) if "rate_series" not in name and name not in HALVES]


@pytest.mark.parametrize("name", HALVES)
def test_frame_sequence_of_the_second_queue(name):
    simulate("frame_sequence_bench", __file__, name, HALVES, {"QUEUES": 2, "QUEUE": 1})


@pytest.mark.parametrize("name", ONE_RATE)
def test_frame_sequence(name):
    simulate("frame_sequence_bench", __file__, name, ONE_RATE)


@pytest.mark.parametrize("name", [name for name in cocotb_tests(globals()) if "rate_series" in name])
def test_frame_sequence_with_rate_series(name):
    names = [name for name in cocotb_tests(globals()) if "rate_series" in name]
    simulate("frame_sequence_bench", __file__, name, names, {"RATE_SERIES": 4})
