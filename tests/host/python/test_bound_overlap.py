# SPDX-License-Identifier: GPL-2.0-or-later
"""Which parts of two exchanges can go together, against what follows from their timelines by hand.

Links of a chain, 250 m between neighbours; at node 1 nodes 0 and 2 are equally strong, and node 3 is 12 dB weaker.
"""

import pytest
from perhop.bound import chain, overlap
from perhop.bound.exchange import Link
from perhop.bound.hearing import hearing

FRAMES = {"rts", "cts", "data", "mac_ack"}


def heard(rule, nodes=5, **medium):
    return hearing({**chain.MEDIUM, "reception": rule, **medium}, [(i * 250.0, 0.0) for i in range(nodes)])


def meetings(rule, one, other, **medium):
    """Pairs of kinds, of the first exchange and of the second, that can go on at once."""
    exchanges = [overlap.Exchange(*ends, 1500, Link()) for ends in (one, other)]
    found = overlap.frames(exchanges, heard(rule, **medium), [310, 310])
    parts = found.activities
    return {
        (left.kind, right.kind)
        for i, left in enumerate(parts)
        for j, right in enumerate(parts)
        if (left.exchange, right.exchange) == (0, 1) and not found.excludes[i, j]
    }


def of_frames(pairs):
    return {pair for pair in pairs if set(pair) <= FRAMES}


def test_two_hops_apart_only_the_end_of_the_farther_exchange_meets_an_rts():
    assert of_frames(meetings("sinr", (0, 1), (2, 3))) == {("rts", "mac_ack")}
    # Station 0 counts DIFS once the DATA of 2, which it senses, are over.
    assert ("ifs", "mac_ack") in meetings("sinr", (0, 1), (2, 3))
    assert ("ifs", "data") not in meetings("sinr", (0, 1), (2, 3))


def test_under_ns2s_rule_a_frame_may_be_missed_where_a_stronger_station_is():
    assert ("ifs", "data") in meetings("ns2", (0, 1), (2, 3))
    # Two nodes alone, with nobody between them to hide one from the other.
    exchanges = [overlap.Exchange(0, 1, 1500, Link()), overlap.Exchange(2, 3, 1500, Link())]
    apart = hearing({**chain.MEDIUM}, [(0, 0), (0, 100), (500, 0), (500, 100)])
    assert apart.power_w[2, 0] > 0
    found = overlap.frames(exchanges, apart, [0, 0])
    parts = {(part.exchange, part.kind): place for place, part in enumerate(found.activities)}
    assert not found.excludes[parts[0, "ifs"], parts[1, "data"]], "node 1 is near enough to hide node 2 from node 0"
    alone = hearing({**chain.MEDIUM}, [(0, 0), (0, 240), (400, 0), (640, 0)])
    found = overlap.frames(exchanges, alone, [0, 0])
    assert found.excludes[parts[0, "ifs"], parts[1, "data"]]


@pytest.mark.parametrize("rule", ["ns2", "sinr"])
def test_three_hops_apart_all_frames_go_together(rule):
    assert of_frames(meetings(rule, (0, 1), (3, 4))) == {(left, right) for left in FRAMES for right in FRAMES}


def test_three_hops_apart_nothing_does_that_senses_or_needs_more_than_twelve_decibels():
    # Node 3 senses node 1, which answers.
    assert ("cts", "ifs") not in meetings("sinr", (0, 1), (3, 4))
    assert ("mac_ack", "backoff") not in meetings("sinr", (0, 1), (3, 4))
    strict = of_frames(meetings("sinr", (0, 1), (3, 4), sinr_threshold_db=[13, 13, 13, 13]))
    assert ("data", "data") not in strict
    assert ("data", "data") not in of_frames(meetings("ns2", (0, 1), (3, 4), capture_ratio_db=13))


def test_neighbours_that_send_away_from_each_other_keep_step():
    for rule in ("ns2", "sinr"):
        assert of_frames(meetings(rule, (1, 0), (2, 3))) == {(kind, kind) for kind in FRAMES}


def test_of_senders_that_face_each_other_from_afar_no_answer_meets_a_question():
    # The receivers are neighbours: what one answers spoils what the other receives.
    questions, answers = {"rts", "data"}, {"cts", "mac_ack"}
    for left, right in of_frames(meetings("sinr", (0, 1), (3, 2))):
        assert {left, right} <= questions or {left, right} <= answers


@pytest.mark.parametrize("rule", ["ns2", "sinr"])
def test_hops_that_share_a_station_never_send_together(rule):
    for other in ((1, 2), (1, 0), (0, 1), (2, 1)):
        assert of_frames(meetings(rule, (0, 1), other)) == set()


def test_the_frames_of_an_exchange_follow_one_another_with_sifs_and_the_way_of_each():
    exchanges = [overlap.Exchange(0, 1, 1500, Link())]
    parts = overlap.frames(exchanges, heard("ns2", 2), [310]).activities
    spans = {part.kind: part.span_us for part in parts if part.kind != "gap"}
    # Seen from node 1, a microsecond after node 0.
    assert spans["ifs"] == (-51, -1)
    assert spans["rts"] == (0, 352)
    assert spans["cts"] == (362, 666)
    assert spans["data"] == (678, 678 + 6408)
    assert spans["mac_ack"] == (7096, 7400)
    assert spans["backoff"] is None
    assert sum(part.duration_us for part in parts) == 50 + 7400 + 310


def test_intervals_of_offsets_that_touch_leave_the_point_between_them():
    assert overlap._joined([(1, 2), (0, 1), (1.5, 3)]) == [(0, 1), (1, 3)]
    assert overlap._joined([(0, 3), (1, 2), (3, 4)]) == [(0, 3), (3, 4)]
