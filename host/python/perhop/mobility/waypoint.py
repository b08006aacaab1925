# SPDX-License-Identifier: GPL-2.0-or-later
"""Random waypoint: each node goes to a place drawn at random at a speed drawn at random, pauses, and begins again.

Slow legs last long, so that at any time more nodes are on slow ones than were drawn: the mean speed is below the mean
of the speeds, falls during a trace, and has the limit 0 if the least speed is 0 (J. Yoon, M. Liu, B. Noble, "Random
Waypoint Considered Harmful", Infocom 2003). With a least speed above 0 and no pause the limit is
(max - min) / ln(max / min).
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from perhop.mobility.links import Survey, survey
from perhop.mobility.trace import Place, Trace, Turn

# Traces drawn before perhop says that there is none without a partition.
ATTEMPTS = 300


@dataclass(frozen=True)
class Waypoints:
    """The parameters of a trace."""

    nodes: int
    width_m: float
    height_m: float
    min_speed_mps: float
    max_speed_mps: float
    pause_s: float
    duration_s: float


@dataclass(frozen=True)
class Mean:
    """What traces are like on average."""

    speed_mps: float
    degree: float


@dataclass(frozen=True)
class Drawn:
    """A trace that was accepted, with those that were not."""

    trace: Trace
    rejected: int
    accepted_mean: Mean
    all_mean: Mean  # over all traces that were drawn, the accepted one among them


class NoTrace(Exception):
    """Every trace that was drawn has a partition."""


def draw(model: Waypoints, seed: int, attempt: int = 0) -> Trace:
    """The trace of a seed and an attempt. However long it is and whoever else is there, a way begins the same."""
    ways = [_way(model, node, random.Random(f"{seed} {attempt} {node}")) for node in range(model.nodes)]
    turns = sorted(turn for _, way in ways for turn in way)
    return Trace(tuple(start for start, _ in ways), tuple(turns))


def draw_connected(model: Waypoints, range_m: float, seed: int, attempts: int = ATTEMPTS) -> Drawn:
    """The first trace of a seed whose links of up to `range_m` join all nodes at all times.

    Raises NoTrace.
    """
    means: list[Mean] = []
    for attempt in range(attempts):
        trace = draw(model, seed, attempt)
        found = survey(trace, range_m, model.duration_s)
        means.append(mean_of(trace, found, model.duration_s))
        if found.partitioned_at_s is None:
            return Drawn(trace, attempt, means[-1], _mean(means))
    raise NoTrace


def mean_of(trace: Trace, found: Survey, duration_s: float) -> Mean:
    return Mean(trace.mean_speed_mps(duration_s), found.mean_degree)


def _mean(means: list[Mean]) -> Mean:
    return Mean(
        math.fsum(mean.speed_mps for mean in means) / len(means), math.fsum(mean.degree for mean in means) / len(means)
    )


def _way(model: Waypoints, node: int, draws: random.Random) -> tuple[Place, list[Turn]]:
    def place() -> Place:
        return draws.uniform(0, model.width_m), draws.uniform(0, model.height_m)

    start = here = place()
    turns: list[Turn] = []
    time_s = 0.0
    while time_s < model.duration_s:
        there = place()
        # Above the least speed and up to the largest, so never 0.
        speed_mps = model.max_speed_mps - (model.max_speed_mps - model.min_speed_mps) * draws.random()
        turns.append(Turn(time_s, node, *there, speed_mps))
        arrival_s = time_s + math.dist(here, there) / speed_mps
        # Simulators count in microseconds; a turn comes when the node has arrived.
        time_s = math.ceil((arrival_s + model.pause_s) * 1e6) / 1e6
        here = there
    return start, turns
