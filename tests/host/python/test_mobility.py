# SPDX-License-Identifier: GPL-2.0-or-later
"""Nodes in motion: where they are, which links they have, and random waypoint."""

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perhop.mobility import waypoint
from perhop.mobility.links import survey
from perhop.mobility.trace import Trace, Turn

RANGE_M = 250.0


def test_a_node_goes_in_a_straight_line_at_constant_speed_and_stays():
    trace = Trace(((10, 20), (0, 0)), (Turn(2, 0, 40, 60, 5),))  # 50 m: ten seconds
    for time_s, place in ((0, (10, 20)), (2, (10, 20)), (5, (19, 32)), (7, (25, 40)), (12, (40, 60)), (99, (40, 60))):
        assert trace.at(0, time_s) == pytest.approx(place), time_s
        assert trace.at(1, time_s) == (0, 0)
    assert trace.mean_speed_mps(20) == pytest.approx(50 / 20 / 2)


def test_a_node_told_elsewhere_under_way_turns_where_it_is():
    stays, jumps = Turn(9, 0, 0, 0, 0), Turn(20, 0, 1, 2, math.inf)
    trace = Trace(((0, 0),), (Turn(0, 0, 100, 0, 10), Turn(4, 0, 40, 30, 3), stays, jumps))
    places = {3: (30, 0), 4: (40, 0), 6: (40, 6), 9: (40, 15), 19: (40, 15), 20: (1, 2), 30: (1, 2)}
    for time_s, place in places.items():
        assert trace.at(0, time_s) == pytest.approx(place), time_s


def moving_away(start_m, speed_mps, at_s=0.0):
    """Node 1 on a line through node 0, leaving it."""
    return Trace(((0, 0), (start_m, 0)), (Turn(at_s, 1, 10_000, 0, speed_mps),))


def test_a_link_disappears_at_the_very_time_at_which_the_range_is_passed():
    assert survey(moving_away(240, 2, 3), RANGE_M, 100).partitioned_at_s == pytest.approx(8, abs=1e-6)
    assert survey(moving_away(240, 2, 3), RANGE_M, 100).mean_degree == pytest.approx(8 / 100, abs=1e-6)
    assert survey(moving_away(240, 2, 3), RANGE_M, 7.9).partitioned_at_s is None
    assert survey(moving_away(250, 2), RANGE_M, 100).partitioned_at_s == pytest.approx(0, abs=1e-6)
    assert survey(moving_away(251, 2), RANGE_M, 100).partitioned_at_s == 0


def test_a_node_that_passes_between_two_turns_is_linked_for_as_long_as_the_chord():
    # At 150 m from the other, a chord of 400 m of the circle of 250 m.
    trace = Trace(((0, 0), (-1000, 150)), (Turn(0, 1, 1000, 150, 10),))
    found = survey(trace, RANGE_M, 200)
    assert found.partitioned_at_s == 0
    assert found.mean_degree == pytest.approx(40 / 200, abs=1e-9)


def relayed(gap_s):
    """Node 1 leaves node 0 at 10 s; node 2, which always has node 1, reaches node 0 `gap_s` later."""
    return Trace(
        ((0, 0), (240, 0), (300, 0)),
        (Turn(0, 1, 300, 0, 1), Turn(0, 2, 0, 0, 50 / (10 + gap_s))),
    )


def test_a_gap_of_a_millisecond_is_a_partition_and_a_handover_at_one_time_is_none():
    assert survey(relayed(0.001), RANGE_M, 20).partitioned_at_s == pytest.approx(10, abs=1e-5)
    assert survey(relayed(-0.001), RANGE_M, 20).partitioned_at_s is None


def connected(trace, time_s, range_m):
    """Independently of the survey: union of sets."""
    places = [trace.at(node, time_s) for node in range(len(trace.starts))]
    groups = [{node} for node in range(len(places))]
    for one, other in itertools.combinations(range(len(places)), 2):
        if math.dist(places[one], places[other]) <= range_m:
            joined = groups[one] | groups[other]
            for node in joined:
                groups[node] = joined
    return len(groups[0]) == len(places)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9), st.integers(2, 9), st.sampled_from([0.0, 3.0]))
def test_the_survey_agrees_with_what_is_seen_at_many_times(seed, nodes, pause_s):
    until_s = 60.0
    trace = waypoint.draw(waypoint.Waypoints(nodes, 500, 300, 0, 30, pause_s, until_s), seed)
    found = survey(trace, RANGE_M, until_s)
    partition_s = until_s if found.partitioned_at_s is None else found.partitioned_at_s
    times_s = [random.Random(seed).uniform(0, until_s) for _ in range(60)]
    assert all(connected(trace, time_s, RANGE_M * (1 + 1e-9)) for time_s in times_s if time_s < partition_s)
    if found.partitioned_at_s is not None:
        assert not connected(trace, partition_s + 1e-5, RANGE_M)
    degree = 0.0
    steps = 1500
    for step in range(steps):
        places = [trace.at(node, (step + 0.5) / steps * until_s) for node in range(nodes)]
        degree += 2 * sum(math.dist(*pair) <= RANGE_M for pair in itertools.combinations(places, 2)) / nodes / steps
    assert found.mean_degree == pytest.approx(degree, abs=0.02 * nodes)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**9), st.floats(0, 5), st.floats(5.1, 20), st.floats(0, 10))
def test_random_waypoint_keeps_its_area_its_speeds_and_its_pauses(seed, least_mps, most_mps, pause_s):
    trace = waypoint.draw(waypoint.Waypoints(3, 400, 200, least_mps, most_mps, pause_s, 200), seed)
    for node in range(3):
        legs = trace.legs(node)[1:]
        assert legs[0].start_s == 0
        for turn in (turn for turn in trace.turns if turn.node == node):
            assert 0 <= turn.x_m <= 400 and 0 <= turn.y_m <= 200
            assert least_mps <= turn.speed_mps <= most_mps and turn.speed_mps > 0
        for leg, following in itertools.pairwise(legs):
            assert following.start == leg.end, "each place is reached before the next one is chosen"
            assert following.start_s - leg.end_s == pytest.approx(pause_s, abs=2e-6)


def test_places_and_speeds_are_drawn_uniformly():
    model = waypoint.Waypoints(10, 1000, 400, 1, 9, 0, 60)
    turns = [turn for seed in range(40) for turn in waypoint.draw(model, seed).turns]
    first = [turn for turn in turns if turn.at_s == 0]
    assert len(first) == 400
    assert sum(turn.speed_mps for turn in first) / 400 == pytest.approx(5, abs=0.4)  # standard error 0.115
    assert sum(turn.x_m for turn in first) / 400 == pytest.approx(500, abs=50)
    assert sum(turn.y_m < 100 for turn in first) / 400 == pytest.approx(0.25, abs=0.08)


def test_a_longer_trace_begins_as_the_shorter_one_and_a_seed_makes_another():
    short, long = (waypoint.draw(waypoint.Waypoints(5, 500, 500, 1, 5, 0, time_s), 3) for time_s in (100, 300))
    assert short.starts == long.starts
    assert short.turns == tuple(turn for turn in long.turns if turn.at_s < 100)
    assert waypoint.draw(waypoint.Waypoints(5, 500, 500, 1, 5, 0, 100), 4).starts != short.starts


def mean_speed_mps(least_mps, from_s, to_s):
    """Over 60 nodes and a part of the time."""
    trace = waypoint.draw(waypoint.Waypoints(60, 1500, 300, least_mps, 5, 0, to_s), 1)
    before_m = trace.mean_speed_mps(from_s) * from_s if from_s else 0
    return (trace.mean_speed_mps(to_s) * to_s - before_m) / (to_s - from_s)


def test_speed_decays_without_a_least_speed_and_has_a_limit_with_one():
    limit_mps = (5 - 1) / math.log(5 / 1)
    assert mean_speed_mps(1, 4000, 8000) == pytest.approx(limit_mps, rel=0.06)
    assert mean_speed_mps(0, 4000, 8000) < 0.75 * mean_speed_mps(0, 0, 500) < 0.75 * 2.5


def test_partitioned_traces_are_rejected_and_counted_and_the_bias_is_told():
    model = waypoint.Waypoints(9, 700, 300, 0, 20, 0, 60)
    drawn = waypoint.draw_connected(model, RANGE_M, 3)
    found = [survey(waypoint.draw(model, 3, attempt), RANGE_M, 60) for attempt in range(drawn.rejected + 1)]
    assert drawn.rejected > 0
    assert [one.partitioned_at_s is None for one in found] == [False] * drawn.rejected + [True]
    assert drawn.trace == waypoint.draw(model, 3, drawn.rejected)
    assert drawn.accepted_mean.degree == found[-1].mean_degree
    assert drawn.all_mean.degree == pytest.approx(sum(one.mean_degree for one in found) / len(found))
    assert drawn.accepted_mean.speed_mps == drawn.trace.mean_speed_mps(60)


def test_an_area_in_which_no_trace_holds_together_ends_in_an_error():
    with pytest.raises(waypoint.NoTrace):
        waypoint.draw_connected(waypoint.Waypoints(3, 5000, 5000, 0, 20, 0, 60), RANGE_M, 1, attempts=5)
