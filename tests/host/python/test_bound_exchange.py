# SPDX-License-Identifier: GPL-2.0-or-later
"""What a packet takes on one hop and what fewer TCP ACKs gain, against sums by hand and requirement D-09."""

import math

import pytest
from perhop.bound.chain import Backoff, delayed_tcp_ack_gain, period_us, quarter_reuse_bps
from perhop.bound.exchange import Link

# What ns-2 puts around an IP packet: it counts 6 bytes more than the header and FCS have, and no LLC/SNAP.
NS2_LINK = Link(segment_bytes=1000, header_bytes=24 + 4 + 6)


def test_an_exchange_is_the_sum_of_its_frames():
    # DIFS, RTS, CTS and MAC ACK at 1 Mb/s, three SIFS, and 1460 + 40 + 54 bytes at 2 Mb/s behind a long preamble.
    by_hand = 50 + (192 + 20 * 8) + (192 + 14 * 8) + (192 + 14 * 8) + 3 * 10 + 192 + (1460 + 40 + 54) * 4
    assert Link().data_exchange_us == by_hand == 7448
    assert Link().tcp_ack_exchange_us == by_hand - 1460 * 4


def test_up_to_the_rts_threshold_two_frames_and_two_sifs_are_missing():
    longest = 1460 + 40 + 54
    assert Link(rts_above_bytes=longest - 1).data_exchange_us == Link().data_exchange_us
    assert Link().data_exchange_us - Link(rts_above_bytes=longest).data_exchange_us == 352 + 304 + 2 * 10


def test_without_mac_acks_one_frame_and_one_sifs_are_missing():
    assert Link().data_exchange_us - Link(mac_ack=False).data_exchange_us == 304 + 10


def test_other_profiles_have_exchanges_too():
    # 802.11a at 6 Mb/s: the symbols of 1554 bytes, 22 bits of service and tail, 24 bits a symbol.
    link = Link(profile="ofdm_20mhz", data_rate_index=0)
    data_us = 20 + 4 * math.ceil((16 + 6 + 8 * 1554) / 24)
    assert link.data_exchange_us == 34 + 52 + 44 + 44 + 3 * 16 + data_us


def test_a_backoff_spreads_like_thirty_two_equal_chances():
    assert Link().mean_backoff_us == 15.5 * 20
    assert Link().backoff_deviation_us == pytest.approx(20 * math.sqrt(sum((k - 15.5) ** 2 for k in range(32)) / 32))


@pytest.mark.parametrize(("w", "percent"), [(2, 13.6), (3, 19.0), (4, 21.9), (5, 23.7), (8, 26.5), (60, 30.8)])
def test_gain_of_fewer_tcp_acks_is_that_of_the_requirement(w, percent):
    assert round(100 * delayed_tcp_ack_gain(NS2_LINK, w), 1) == percent


def test_gain_of_fewer_tcp_acks_ends_at_the_ratio_of_the_exchanges():
    assert round(100 * delayed_tcp_ack_gain(NS2_LINK, math.inf), 1) == 31.5
    assert delayed_tcp_ack_gain(NS2_LINK, math.inf) == pytest.approx(1838 / 5838)


@pytest.mark.parametrize("w", [1, 2, 5, math.inf])
def test_gain_is_the_same_over_any_number_of_hops(w):
    gains = [delayed_tcp_ack_gain(NS2_LINK, w, hops) for hops in (1, 2, 3, 4, 15)]
    assert gains == pytest.approx([gains[0]] * 5)


def test_reuse_of_a_quarter_is_four_exchanges_and_a_backoff():
    assert quarter_reuse_bps(Link(), 1) == pytest.approx(1460 * 8e6 / 7758)
    assert [round(quarter_reuse_bps(Link(), hops) / 1e3, 1) for hops in (2, 3, 4, 15)] == [768.1, 515.6, 388.0, 388.0]
    assert quarter_reuse_bps(Link(), 5) > quarter_reuse_bps(Link(), 5, 5) > quarter_reuse_bps(Link(), 5, 1)


@pytest.mark.parametrize("hops", range(1, 16))
def test_backoffs_that_follow_one_another_take_longer_than_those_that_overlap(hops):
    overlapping, sequential = (
        period_us(Link(), hops, backoff=how) for how in (Backoff.OVERLAPPING, Backoff.SEQUENTIAL)
    )
    assert period_us(Link(), hops, backoff=Backoff.NONE) < overlapping <= sequential
