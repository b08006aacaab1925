# SPDX-License-Identifier: GPL-2.0-or-later
"""The linear program over sets of activities that can go on together, solved by HiGHS.

  maximise  sum over flows of value_f x_f
  subject to  for each activity k: sum over f of demand_kf x_f <= sum of the shares of the sets that hold k
              the shares of all sets sum to at most 1;  x, shares >= 0

There are too many sets to list, so its dual is solved with the sets that matter, found one by one:

  minimise  m   subject to  sum over k of demand_kf y_k >= value_f (each f),  sum over k in S of y_k <= m (each set S)

Any y >= 0 that meets the first rows proves a bound: the largest sum of y over a set. So the result is an upper bound
even where the search is cut short; the search for the heaviest set is an integer program with a bound of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import highspy
import numpy as np
import numpy.typing as npt

from perhop.bound.overlap import Overlaps

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

RELATIVE_GAP = 1e-6
MOST_ROUNDS = 3000


@dataclass(frozen=True)
class Optimum:
    """`bound` is proved, `reached` what the sets found so far can do: the same unless the search was cut short."""

    bound: float
    reached: float
    sets: int


def maximise(
    overlaps: Overlaps, demand: Matrix, value: Vector, most_rounds: int = MOST_ROUNDS, enough: float = math.inf
) -> Optimum:
    """The most value a second. `demand` is what a unit of each flow (columns) takes of each activity, in seconds.

    The search ends once `enough` is reached; the bound that it proved by then may be infinite.
    """
    used = np.flatnonzero(demand.sum(axis=1) > 0)
    search = _Heaviest(overlaps, used)
    master = _Master(demand[used], value)
    bound = float("inf")
    for _ in range(most_rounds):
        reached, weights = master.solve()
        if reached >= enough or bound <= reached * (1 + RELATIVE_GAP):
            break
        heavy = search.guess(weights, reached * (1 + RELATIVE_GAP))
        if not heavy:
            members, proved = search.find(weights)
            bound = min(bound, proved)
            heavy = [members]
        for members in heavy:
            master.add(members)
    return Optimum(bound, reached, master.sets)


class _Master:
    """The dual with the sets found so far; its value is a lower bound of the true optimum."""

    def __init__(self, demand: Matrix, value: Vector) -> None:
        self._activities, flows = demand.shape
        self.sets = 0
        self._solver = _quiet()
        infinity = highspy.kHighsInf
        count = self._activities + 1
        self._solver.addVars(count, np.zeros(count), np.full(count, infinity))
        self._solver.changeColCost(self._activities, 1.0)
        for flow in range(flows):
            members = np.flatnonzero(demand[:, flow])
            self._solver.addRow(value[flow], infinity, len(members), members.astype(np.int32), demand[members, flow])
        for activity in range(self._activities):
            single = np.zeros(self._activities)
            single[activity] = 1
            self.add(single)

    def add(self, members: Vector) -> None:
        """Demand that this set weighs no more than the objective."""
        self.sets += 1
        places = np.flatnonzero(members > 0)
        columns = np.append(places, self._activities).astype(np.int32)
        entries = np.append(np.ones(len(places)), -1.0)
        self._solver.addRow(-highspy.kHighsInf, 0.0, len(columns), columns, entries)

    def solve(self) -> tuple[float, Vector]:
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            # The simplex goes on from where it was, and after hundreds of added rows may lose its footing.
            self._solver.clearSolver()
            self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise ArithmeticError(f"the linear program of a bound ended with {self._solver.getModelStatus()}")
        values = np.array(self._solver.getSolution().col_value)
        return float(values[-1]), values[:-1]


class _Heaviest:
    """Of the sets that can go on together, those whose weights sum to the most."""

    def __init__(self, overlaps: Overlaps, used: npt.NDArray[np.intp]) -> None:
        self._count = len(used)
        self._excludes = overlaps.excludes[np.ix_(used, used)]
        self._budgets: list[tuple[int, Vector]] = []
        place = {int(activity): index for index, activity in enumerate(used)}
        for budget in overlaps.budgets:
            own = place.get(budget.activity)
            if own is not None:
                share = np.where(self._excludes[own], 0.0, budget.power_w[used]) / budget.most_w
                if share.sum() > 1:
                    self._budgets.append((own, share))
        self._solver = self._program()

    def _program(self) -> highspy.Highs:
        solver, infinity = _quiet(), highspy.kHighsInf
        solver.addVars(self._count, np.zeros(self._count), np.ones(self._count))
        solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        for column in range(self._count):
            solver.changeColIntegrality(column, highspy.HighsVarType.kInteger)
        for clique in _cliques(self._excludes):
            solver.addRow(-infinity, 1.0, len(clique), clique, np.ones(len(clique)))
        for own, share in self._budgets:
            # Without its activity the row asks for nothing.
            slack = share.sum() - 1
            row = share.copy()
            row[own] = slack
            columns = np.flatnonzero(row).astype(np.int32)
            solver.addRow(-infinity, 1 + slack, len(columns), columns, row[columns])
        return solver

    def guess(self, weights: Vector, more_than: float) -> list[Vector]:
        """Heavy sets, the heaviest first, each grown from one activity by the heaviest that fits: cheap, not exact."""
        order = np.argsort(-weights, kind="stable")
        found = {}
        for first in order:
            if weights[first] <= 0:
                break
            members = self._grown(int(first), order)
            found[members.tobytes()] = members
        heavy = [(weights @ members, members) for members in found.values()]
        return [members for weight, members in sorted(heavy, key=lambda one: -one[0]) if weight > more_than]

    def _grown(self, first: int, order: npt.NDArray[np.intp]) -> Vector:
        members = np.zeros(self._count)
        members[first] = 1
        free = ~self._excludes[first]
        free[first] = False
        for other in order:
            if free[other]:
                members[other] = 1
                if any(members[own] and share @ members > 1 for own, share in self._budgets):
                    members[other] = 0
                    continue
                free &= ~self._excludes[other]
        return members

    def find(self, weights: Vector) -> tuple[Vector, float]:
        """A heaviest set (1 where a member), and a proven bound of its weight: an integer program."""
        largest = float(weights.max(initial=0.0)) or 1.0
        self._solver.clearSolver()
        self._solver.changeColsCost(self._count, np.arange(self._count, dtype=np.int32), weights / largest)
        self._solver.run()
        members = np.round(np.array(self._solver.getSolution().col_value))
        return members, float(self._solver.getInfo().mip_dual_bound) * largest


def _cliques(excludes: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.int32]]:
    """Sets of pairwise exclusion that together hold every excluding pair, large ones first come."""
    left = excludes.copy()
    cliques = []
    for one in range(len(excludes)):
        while left[one].any():
            clique = [one, int(np.flatnonzero(left[one])[0])]
            candidates = excludes[clique[0]] & excludes[clique[1]]
            while candidates.any():
                added = int(np.flatnonzero(candidates)[0])
                clique.append(added)
                candidates &= excludes[added]
            members = np.array(sorted(clique), dtype=np.int32)
            left[np.ix_(members, members)] = False
            cliques.append(members)
    return cliques


def _quiet() -> highspy.Highs:
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("mip_rel_gap", 0.0)
    return solver
