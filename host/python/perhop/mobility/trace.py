# SPDX-License-Identifier: GPL-2.0-or-later
"""How nodes move: piecewise linear, as ns-2's mobile nodes do (common/mobilenode.cc) and sim/air's."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

Place = tuple[float, float]


@dataclass(frozen=True, order=True)
class Turn:
    """From `at_s` on the node goes to (x_m, y_m) in a straight line, and then stays.

    A node that is told so under way turns where it then is. At speed 0 it stays there, at infinite speed it is at the
    new place at once.
    """

    at_s: float
    node: int
    x_m: float
    y_m: float
    speed_mps: float


@dataclass(frozen=True)
class Leg:
    """A piece of a node's way at constant velocity; from `end_s` on the node stands at `end`."""

    start_s: float
    start: Place
    end: Place
    end_s: float

    def at(self, time_s: float) -> Place:
        """Where the node is. Nothing is said of a time before the leg."""
        if time_s >= self.end_s:
            return self.end
        share = (time_s - self.start_s) / (self.end_s - self.start_s)
        return (
            self.start[0] + share * (self.end[0] - self.start[0]),
            self.start[1] + share * (self.end[1] - self.start[1]),
        )


@dataclass(frozen=True)
class Trace:
    """Where every node starts, and its turns, in order of time."""

    starts: tuple[Place, ...]
    turns: tuple[Turn, ...] = ()

    def legs(self, node: int) -> list[Leg]:
        """The way of a node. The first leg takes no time: the node stands where it starts."""
        start = self.starts[node]
        legs = [Leg(0.0, start, start, 0.0)]
        for turn in self.turns:
            if turn.node == node:
                legs.append(_leg(legs[-1].at(turn.at_s), turn))
        return legs

    def at(self, node: int, time_s: float) -> Place:
        """Where a node is."""
        return [leg for leg in self.legs(node) if leg.start_s <= time_s][-1].at(time_s)

    def breakpoints(self, node: int, until_s: float) -> list[tuple[float, Place]]:
        """Times and places up to `until_s`, between which the node goes in a straight line at constant speed."""
        legs = [leg for leg in self.legs(node) if leg.start_s < until_s] or self.legs(node)[:1]
        points: list[tuple[float, Place]] = []
        for index, leg in enumerate(legs):
            stop_s = legs[index + 1].start_s if index + 1 < len(legs) else until_s
            points.append((leg.start_s, leg.at(leg.start_s)))
            if leg.start_s < leg.end_s < stop_s:
                points.append((leg.end_s, leg.end))
        points.append((until_s, legs[-1].at(until_s)))
        return points

    def mean_speed_mps(self, until_s: float) -> float:
        """Of all nodes over the time up to `until_s`, what they stand included."""
        way_m = 0.0
        for node in range(len(self.starts)):
            points = [place for _, place in self.breakpoints(node, until_s)]
            way_m += sum(math.dist(here, there) for here, there in itertools.pairwise(points))
        return way_m / (len(self.starts) * until_s)


def _leg(start: Place, turn: Turn) -> Leg:
    if turn.speed_mps == 0:
        return Leg(turn.at_s, start, start, turn.at_s)
    end = (turn.x_m, turn.y_m)
    return Leg(turn.at_s, start, end, turn.at_s + math.dist(start, end) / turn.speed_mps)
