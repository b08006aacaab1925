# SPDX-License-Identifier: GPL-2.0-or-later
"""The bounds of networks, against a table of another program, sums by hand and schedules that the medium lets through.

The schedules are those of tests/sim/air/test_link_reuse.cc: what passes there must fit below every bound.
"""

import itertools
import math
from dataclasses import replace

import pytest
from perhop.bound import chain
from perhop.bound.exchange import Link
from perhop.bound.hearing import hearing
from perhop.bound.network import Flow, exchange_bound, frame_bound

TWO_RAY = {"loss": "two_ray", "tx_range_m": 250.0, "cs_range_m": 550.0}
# Far below what matters: the table that follows knows no noise.
NO_NOISE_DBM = -190.0
PACKET_BITS_S = 1460 * 8e6  # over microseconds
# From one RTS of a station to its next, with a microsecond of propagation for each frame.
EXCHANGE_US = 7452


def chain_of(hops, spacing_m=200.0, **medium):
    return hearing({**TWO_RAY, **medium}, [(i * spacing_m, 0.0) for i in range(hops + 1)])


def kbps(bound_bps):
    return round(bound_bps / 1e3)


# Goodput in kb/s of whole exchanges over 1 to 15 hops of 200 m, by capture ratio or SINR threshold, no back-off.
WHOLE = {
    ("ns2", 10): [1568, 784, *[523] * 13],
    ("sinr", 10): [1568, 784, *[523] * 13],
    ("ns2", 12): [1568, 784, *[523] * 13],
    ("sinr", 12): [1568, 784, 523, 523, 523, 523, 448, *[392] * 8],
    ("ns2", 13): [1568, 784, 523, *[392] * 12],
    ("sinr", 13): [1568, 784, 523, *[392] * 12],
    ("ns2", 15): [1568, 784, 523, *[392] * 12],
    ("sinr", 15): [1568, 784, 523, *[392] * 12],
}


@pytest.mark.parametrize(("rule", "decibels"), WHOLE)
def test_whole_exchanges_give_the_table_of_the_first_linear_program(rule, decibels):
    medium = {"reception": rule, "capture_ratio_db": decibels, "noise_dbm": NO_NOISE_DBM}
    medium["sinr_threshold_db"] = [decibels] * 4
    found = [kbps(exchange_bound([chain.flow(Link(), hops)], chain_of(hops, **medium)).bound) for hops in range(1, 16)]
    assert found == WHOLE[rule, decibels]


@pytest.mark.parametrize("rule", ["ns2", "sinr"])
def test_tcp_acks_thinned_by_w_lengthen_whole_exchanges_by_their_share(rule):
    for w in (1, 5):
        flow = chain.flow(Link(), 4, w)
        found = exchange_bound([flow], chain_of(4, reception=rule)).bound
        assert found == pytest.approx(PACKET_BITS_S / (3 * (7448 + 1608 / w)))


@pytest.mark.parametrize("rule", ["ns2", "sinr"])
def test_one_hop_is_one_station_without_a_pause(rule):
    # The frames, DIFS, and two microseconds until CTS and DATA have come; 15.5 slots.
    assert chain.bound_bps(Link(), 1, backoff=False, reception=rule) == pytest.approx(PACKET_BITS_S / 7450)
    assert chain.bound_bps(Link(), 1, reception=rule) == pytest.approx(PACKET_BITS_S / (7450 + 310))


@pytest.mark.parametrize("rule", ["ns2", "sinr"])
def test_two_hops_are_two_exchanges_that_share_a_station_and_nearly_a_backoff(rule):
    # DIFS of the one may go by while the other still counts slots: at most 50 of 15 210 us.
    period_us = PACKET_BITS_S / chain.bound_bps(Link(), 2, reception=rule)
    assert 2 * 7450 + 310 - 50 - 0.1 <= period_us <= 2 * 7450 + 310


def test_bounds_leave_room_for_the_schedules_that_the_medium_lets_through():
    for hops in (3, 4, 6, 15):
        every_third_link_at_once = PACKET_BITS_S / (3 * EXCHANGE_US)
        assert chain.bound_bps(Link(), hops, backoff=False) >= every_third_link_at_once
    # An RTS below the MAC ACK of an exchange two hops off, which whole exchanges do not know: 22 042 us a packet.
    seen = PACKET_BITS_S / 22042
    whole = exchange_bound([chain.flow(Link(), 3)], chain_of(3, 250.0, reception="sinr")).bound
    assert whole < seen <= chain.bound_bps(Link(), 3, backoff=False, reception="sinr") < 1.01 * seen


def test_the_bound_of_each_rule_is_what_the_document_says():
    found = {
        (rule, hops): kbps(chain.bound_bps(Link(), hops, reception=rule))
        for rule in ("ns2", "sinr")
        for hops in (1, 2, 3, 4, 8, 15)
    }
    assert [found["ns2", hops] for hops in (1, 2, 3, 4, 8, 15)] == [1505, 770, 541, 541, 541, 541]
    assert [found["sinr", hops] for hops in (1, 2, 3, 4, 8, 15)] == [1505, 770, 527, 527, 527, 527]


@pytest.mark.parametrize("rule", ["ns2", "sinr"])
def test_what_is_counted_only_lowers_the_bound(rule):
    def bound(hops=4, w=math.inf, **more):
        return chain.bound_bps(Link(), hops, w, reception=rule, **more)

    assert bound(backoff=False) > bound() > bound(w=6) > bound(w=1)
    bounds = [bound(hops) for hops in range(1, 7)]
    assert all(later <= earlier * (1 + 1e-6) for earlier, later in itertools.pairwise(bounds))
    assert bound() > chain.quarter_reuse_bps(Link(), 4)


def test_a_stricter_receiver_lets_fewer_links_go_together():
    # At 11 Mb/s a frame needs 16 dB; an interferer two hops off is 12 dB down, so only every fourth link can be in use.
    fast = Link(data_rate_index=3)
    assert chain.bound_bps(fast, 4, reception="sinr") < 0.9 * chain.bound_bps(fast, 3, reception="sinr")
    assert chain.bound_bps(fast, 4) == pytest.approx(chain.bound_bps(fast, 3), rel=1e-4)
    # Where frames that overlap are lost and all is sensed, three hops are one medium.
    assert chain.bound_bps(Link(), 4, capture_ratio_db=200) < 0.8 * chain.bound_bps(Link(), 3)


def test_one_slow_link_takes_its_longer_exchange():
    slow = Link(data_rate_index=0)
    flow = replace(chain.flow(Link(), 3), links=(((1, 2), slow),))
    whole = exchange_bound([flow], chain_of(3, reception="ns2")).bound
    assert whole == pytest.approx(PACKET_BITS_S / (2 * Link().data_exchange_us + slow.data_exchange_us))
    assert frame_bound([flow], chain_of(3, reception="ns2")).bound < chain.bound_bps(Link(), 3, spacing_m=200)


def test_flows_over_one_chain_share_its_bound_and_opposite_ones_have_more():
    heard = chain_of(4, 250.0, reception="ns2", loss="range")
    there, back = chain.flow(Link(), 4), replace(chain.flow(Link(), 4), src=4, dst=0, paths=((4, 3, 2, 1, 0),))
    assert frame_bound([there, there], heard).bound == pytest.approx(frame_bound([there], heard).bound, rel=1e-4)
    # Neighbours that send away from each other, and start together, both succeed. Of links 0-1, 1-2 and 2-3 the outer
    # two can go together so: two whole exchanges in place of three for a packet each way over two of the four hops.
    assert 1.3 < frame_bound([there, back], heard).bound / frame_bound([there], heard).bound < 1.5


def test_two_flows_that_never_meet_have_two_bounds():
    apart = hearing({**TWO_RAY, "reception": "ns2"}, [(0, 0), (200, 0), (9000, 0), (9200, 0)])
    flows = [replace(chain.flow(Link(), 1), src=src, dst=src + 1, paths=((src, src + 1),)) for src in (0, 2)]
    one = frame_bound(flows[:1], apart).bound
    # As soon as links without a common station are there, 2 us are cut off both ends of each frame.
    assert 2 * one <= frame_bound(flows, apart).bound < 2.01 * one


def test_where_the_way_is_unknown_only_the_ends_count():
    flow = replace(chain.flow(Link(), 4), paths=())
    found = frame_bound([flow], chain_of(4, reception="ns2")).bound
    assert found == pytest.approx(PACKET_BITS_S / (7448 + 310))
    two = replace(flow, dst=3)
    assert frame_bound([flow, two], chain_of(4, reception="ns2")).bound == pytest.approx(found), "one source"
    other = replace(flow, src=2, dst=1)
    assert frame_bound([flow, other], chain_of(4, reception="ns2")).bound == pytest.approx(2 * found)


def test_a_choice_of_paths_is_worth_at_least_the_better_one():
    heard = chain_of(3, 200.0, reception="sinr")
    short, long = Flow(0, 1, ((0, 1),), Link(), 1460, 1500), Flow(0, 1, ((0, 1), (0, 1, 2, 1)), Link(), 1460, 1500)
    assert frame_bound([long], heard).bound >= frame_bound([short], heard).bound * (1 - 0.005)
