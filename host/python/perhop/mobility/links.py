# SPDX-License-Identifier: GPL-2.0-or-later
"""What motion does to a network: when links appear and disappear, exactly, and whether they always join all nodes.

Between two moments at which a node turns or arrives, the square of the distance of two nodes is a parabola in time, so
that the times at which it passes the square of the range are the roots of a quadratic equation. Nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perhop.mobility.trace import Trace

_Array = npt.NDArray[Any]

# A link at exactly the range is one, whatever the square roots of positions say; sim/air allows a little more.
TOLERANCE = 1e-10

# Pairs times intervals that are solved at a time.
BLOCK = 200_000


@dataclass(frozen=True)
class Survey:
    """The links of a trace over its time."""

    partitioned_at_s: float | None  # the first time at which some nodes cannot reach others; None: never
    mean_degree: float  # neighbours of a node, over nodes and time


@dataclass(frozen=True)
class Change:
    """A link appears or disappears."""

    at_s: float
    appears: bool
    one: int
    other: int


def survey(trace: Trace, range_m: float, until_s: float) -> Survey:
    """What becomes of the links of up to `range_m` between time 0 and `until_s`."""
    network: _Network | None = None
    partitioned_at_s: float | None = None
    linked_s = 0.0
    for block in _blocks(trace, range_m * (1 + TOLERANCE), until_s):
        linked_s += block.linked_s()
        if network is None:
            network = _Network(len(trace.starts), block.first_links())
            if not network.joins_all():
                partitioned_at_s = 0.0
        if partitioned_at_s is None:
            partitioned_at_s = next((change.at_s for change in block.changes() if network.splits(change)), None)
    return Survey(partitioned_at_s, 2 * linked_s / (len(trace.starts) * until_s))


class _Network:
    """Who is a neighbour of whom, as bits of whole numbers."""

    def __init__(self, nodes: int, links: Iterable[tuple[int, int]]) -> None:
        self._near = [0] * nodes
        for one, other in links:
            self._flip(one, other)

    def _flip(self, one: int, other: int) -> None:
        self._near[one] ^= 1 << other
        self._near[other] ^= 1 << one

    def splits(self, change: Change) -> bool:
        """Makes the change in a network that joins all nodes. Returns whether it no longer does."""
        self._flip(change.one, change.other)
        if change.appears or self._near[change.one] & self._near[change.other]:
            return False
        return not self._reached(change.one) >> change.other & 1

    def joins_all(self) -> bool:
        return self._reached(0).bit_count() == len(self._near)

    def _reached(self, start: int) -> int:
        reached, fresh = 1 << start, 1 << start
        while fresh:
            found = 0
            while fresh:
                lowest = fresh & -fresh
                found |= self._near[lowest.bit_length() - 1]
                fresh ^= lowest
            fresh = found & ~reached
            reached |= fresh
        return reached


class _Block:
    """Pairs of nodes over some intervals, in each of which all nodes go in straight lines."""

    def __init__(self, times_s: _Array, apart: _Array, pairs: tuple[_Array, _Array], range_m: float) -> None:
        """`apart`, in metres: time, pair, x and y."""
        self._times_s = times_s
        self._pairs = pairs
        c = (apart * apart).sum(axis=2) - range_m**2
        self._within = c <= 0
        way = np.diff(apart, axis=0)
        a = (way * way).sum(axis=2)
        b = (apart[:-1] * way).sum(axis=2)
        before, after = self._within[:-1], self._within[1:]
        # What is out of range at both ends may be in range between them if the closest approach lies there.
        discriminant = b * b - a * c[:-1]
        self._passes = ~before & ~after & (discriminant > 0) & (b < 0) & (-b < a)
        self._appears = (~before & after) | self._passes
        self._disappears = (before & ~after) | self._passes
        # The roots as shares of the interval, such that no difference of nearly equal numbers is taken.
        root = -b - np.copysign(np.sqrt(np.maximum(discriminant, 0)), b)
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = np.sort(np.nan_to_num(np.stack((root / a, c[:-1] / root)), posinf=1.0, neginf=0.0), axis=0)
        self._from = np.where(self._appears, roots[0].clip(0, 1), 0)
        self._to = np.where(self._disappears, roots[1].clip(0, 1), 1)

    def linked_s(self) -> float:
        """Seconds for which pairs are linked, all pairs together."""
        linked = np.where(self._within[:-1] | self._appears, self._to - self._from, 0)
        return float((linked.sum(axis=1) * np.diff(self._times_s)).sum())

    def first_links(self) -> Iterator[tuple[int, int]]:
        """Those of the block's first time."""
        for pair in np.nonzero(self._within[0])[0]:
            yield self._link(int(pair))

    def changes(self) -> list[Change]:
        """In order of time; of one time those that appear come first, for at that time the others are still there."""
        found = []
        for shares, happens, appears in ((self._from, self._appears, True), (self._to, self._disappears, False)):
            for interval, pair in zip(*np.nonzero(happens), strict=True):
                start_s, end_s = self._times_s[interval : interval + 2]
                at_s = float(start_s + shares[interval, pair] * (end_s - start_s))
                found.append(Change(at_s, appears, *self._link(int(pair))))
        return sorted(found, key=lambda change: change.at_s)

    def _link(self, pair: int) -> tuple[int, int]:
        return int(self._pairs[0][pair]), int(self._pairs[1][pair])


def _blocks(trace: Trace, range_m: float, until_s: float) -> Iterator[_Block]:
    ways = [trace.breakpoints(node, until_s) for node in range(len(trace.starts))]
    times_s = np.array(sorted({time_s for way in ways for time_s, _ in way}))
    places = np.stack([_places(way, times_s) for way in ways])
    pairs = np.triu_indices(len(ways), 1)
    step = max(1, BLOCK // len(pairs[0]))
    for first in range(0, len(times_s) - 1, step):
        part = slice(first, first + step + 1)
        apart = places[pairs[1], part] - places[pairs[0], part]
        yield _Block(times_s[part], apart.swapaxes(0, 1), pairs, range_m)


def _places(way: list[tuple[float, tuple[float, float]]], times_s: _Array) -> _Array:
    """Where a node is at these times: time, x and y."""
    known_s = [time_s for time_s, _ in way]
    return np.stack([np.interp(times_s, known_s, [place[axis] for _, place in way]) for axis in (0, 1)], axis=1)
