# SPDX-License-Identifier: GPL-2.0-or-later
"""The airtime bound, against sums by hand and against the numbers of requirement D-09."""

import math

import pytest
from perhop.study.airtime_bound import (
    NEIGHBOUR_REUSE_HOPS,
    Backoff,
    Link,
    bound_bps,
    ceiling_bps,
    delayed_tcp_ack_gain,
    period_us,
)

# What ns-2 puts around an IP packet: it counts 6 bytes more than the header and FCS have, and no LLC/SNAP.
NS2_LINK = Link(segment_bytes=1000, header_bytes=24 + 4 + 6)


def test_an_exchange_is_the_sum_of_its_frames():
    # DIFS, RTS, CTS and MAC ACK at 1 Mb/s, three SIFS, and 1460 + 40 + 54 bytes at 2 Mb/s behind a long preamble.
    by_hand = 50 + (192 + 20 * 8) + (192 + 14 * 8) + (192 + 14 * 8) + 3 * 10 + 192 + (1460 + 40 + 54) * 4
    assert Link().data_exchange_us == by_hand == 7448
    assert Link().tcp_ack_exchange_us == by_hand - 1460 * 4


def test_without_rts_its_two_frames_and_two_sifs_are_missing():
    assert Link().data_exchange_us - Link(rts=False).data_exchange_us == 352 + 304 + 2 * 10


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


def test_bound_is_one_station_sending_without_a_pause_at_one_hop():
    # 7448 us and a mean backoff of 15.5 slots of 20 us.
    assert bound_bps(Link(), 1) == pytest.approx(1460 * 8e6 / 7758)


def test_bound_does_not_fall_beyond_the_reuse_distance():
    bounds = [bound_bps(Link(), hops) for hops in range(1, 16)]
    assert bounds[:4] == sorted(bounds[:4], reverse=True)
    assert len(set(bounds[3:])) == 1


@pytest.mark.parametrize("hops", range(1, 16))
def test_assumptions_only_tighten(hops):
    """Each thing that is counted takes time: the ceiling is the highest, what sequential backoffs leave the lowest."""
    sequential = Link().segment_bytes * 8e6 / period_us(Link(), hops, backoff=Backoff.SEQUENTIAL)
    assert ceiling_bps(Link(), hops) > bound_bps(Link(), hops) >= sequential
    assert bound_bps(Link(), hops) > bound_bps(Link(), hops, 5) > bound_bps(Link(), hops, 1)


def test_ceiling_has_a_packet_on_every_third_hop_and_no_backoff():
    assert ceiling_bps(Link(), 15) == pytest.approx(1460 * 8e6 / (NEIGHBOUR_REUSE_HOPS * 7448))


def test_other_profiles_have_a_bound_too():
    # 802.11a at 6 Mb/s: the symbols of 1554 bytes, 22 bits of service and tail, 24 bits a symbol.
    link = Link(profile="ofdm_20mhz", data_rate_index=0)
    data_us = 20 + 4 * math.ceil((16 + 6 + 8 * 1554) / 24)
    assert link.data_exchange_us == 34 + 52 + 44 + 44 + 3 * 16 + data_us
