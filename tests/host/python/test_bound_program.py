# SPDX-License-Identifier: GPL-2.0-or-later
"""The program over sets, against graphs whose fractional chromatic number is known and against all sets listed."""

import itertools

import highspy
import numpy as np
import pytest
from perhop.bound import program
from perhop.bound.overlap import Activity, Budget, Overlaps
from perhop.bound.program import maximise


def overlaps(count, edges, budgets=()):
    excludes = np.zeros((count, count), dtype=bool)
    for one, other in edges:
        excludes[one, other] = excludes[other, one] = True
    activities = [Activity(index, "whole", frozenset({index}), 1.0) for index in range(count)]
    return Overlaps(
        activities, excludes, [Budget(index, np.array(power_w), most_w) for index, power_w, most_w in budgets]
    )


def time_for_one_of_each(count, edges, budgets=()):
    """The least time in which each activity goes on for one second."""
    optimum = maximise(overlaps(count, edges, budgets), np.ones((count, 1)), np.ones(1))
    assert optimum.bound == pytest.approx(optimum.reached)
    return 1 / optimum.bound


def ring(count):
    return [(index, (index + 1) % count) for index in range(count)]


@pytest.mark.parametrize(
    ("count", "edges", "time"),
    [
        (4, [], 1),
        (4, list(itertools.combinations(range(4), 2)), 4),
        (6, ring(6), 2),
        (5, ring(5), 2.5),
        (7, ring(7), 7 / 3),
        # Petersen's graph: pairs of five that exclude each other when they are disjoint.
        (
            10,
            [
                (one, other)
                for (one, left), (other, right) in itertools.combinations(
                    enumerate(itertools.combinations(range(5), 2)), 2
                )
                if not set(left) & set(right)
            ],
            2.5,
        ),
    ],
)
def test_time_is_the_fractional_chromatic_number(count, edges, time):
    assert time_for_one_of_each(count, edges) == pytest.approx(time)


def test_a_budget_forbids_three_where_any_two_may():
    budgets = [(own, [0.0 if other == own else 1.0 for other in range(3)], 1.0) for own in range(3)]
    assert time_for_one_of_each(3, [], budgets) == pytest.approx(1.5)


def test_a_budget_asks_for_nothing_while_its_activity_rests():
    # 0 goes with two others at a time, with one, with none; the others always go together.
    for most, time in ((2.0, 4 / 3), (1.0, 5 / 3), (0.5, 2.0)):
        assert time_for_one_of_each(4, [], [(0, [0.0, 1.0, 1.0, 1.0], most)]) == pytest.approx(time)


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_is_what_all_sets_listed_give(seed):
    """Of a random graph: its dual with every set written out, by a search over all corners, without a solver."""
    draw = np.random.default_rng(seed)
    count = 6
    edges = [pair for pair in itertools.combinations(range(count), 2) if draw.random() < 0.5]
    demand = draw.integers(1, 5, size=(count, 1)).astype(float)
    found = maximise(overlaps(count, edges), demand, np.ones(1))
    sets = [
        members
        for size in range(1, count + 1)
        for members in itertools.combinations(range(count), size)
        if not any(pair in edges for pair in itertools.combinations(members, 2))
    ]
    # A set within another asks for less than that one.
    sets = [one for one in sets if not any(set(one) < set(other) for other in sets)]
    rows = np.array([[index in members for index in range(count)] for members in sets], dtype=float)
    # Weights y of a corner: as many sets weigh 1 as there are weights; of all corners that let no set weigh more than 1
    # the one with the most demand has the least time.
    least = 0.0
    for tight in itertools.combinations(range(len(sets) + count), count):
        system = np.vstack([rows, np.eye(count)])[list(tight)]
        right = np.array([1.0 if place < len(sets) else 0.0 for place in tight])
        if abs(np.linalg.det(system)) < 1e-9:
            continue
        weights = np.linalg.solve(system, right)
        if (weights >= -1e-9).all() and (rows @ weights <= 1 + 1e-9).all():
            least = max(least, float(demand[:, 0] @ weights))
    assert 1 / found.bound == pytest.approx(least)


def test_several_flows_share_what_there_is_by_their_value():
    # Two that exclude each other: all time goes to the one whose second is worth more.
    both = np.array([[1.0, 0.0], [0.0, 2.0]])
    assert maximise(overlaps(2, [(0, 1)]), both, np.array([3.0, 5.0])).bound == pytest.approx(3.0)
    assert maximise(overlaps(2, []), both, np.array([3.0, 5.0])).bound == pytest.approx(5.5)


def test_a_search_that_is_cut_short_still_proves_a_bound():
    whole = maximise(overlaps(7, ring(7)), np.ones((7, 1)), np.ones(1)).bound
    short = maximise(overlaps(7, ring(7)), np.ones((7, 1)), np.ones(1), most_rounds=2)
    assert short.reached <= whole * (1 + 1e-9)
    assert short.bound >= whole * (1 - 1e-9)


def test_the_solver_writes_nothing(capfd):
    time_for_one_of_each(5, ring(5))
    assert capfd.readouterr() == ("", "")


class Stumbling:
    """A solver that gives up until it begins anew."""

    def __init__(self, solver, helps):
        self._solver, self._helps, self._lost = solver, helps, True

    def clearSolver(self):
        self._lost = not self._helps
        self._solver.clearSolver()

    def getModelStatus(self):
        return highspy.HighsModelStatus.kUnknown if self._lost else self._solver.getModelStatus()

    def __getattr__(self, name):
        return getattr(self._solver, name)


@pytest.mark.parametrize("helps", [True, False])
def test_a_solver_that_gives_up_begins_anew_once(helps):
    master = program._Master(np.ones((3, 1)), np.ones(1))
    expected = master.solve()
    master._solver = Stumbling(master._solver, helps)
    if helps:
        assert master.solve()[0] == pytest.approx(expected[0])
    else:
        with pytest.raises(ArithmeticError, match="kUnknown"):
            master.solve()
