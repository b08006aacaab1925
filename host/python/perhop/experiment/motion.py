# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the nodes of an experiment are at each time: what its topology says, and what its events change."""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perhop.errors import FieldError
from perhop.experiment import schema as ex
from perhop.experiment import topology as topo
from perhop.mobility import formats, waypoint
from perhop.mobility.links import survey
from perhop.mobility.trace import Trace, Turn

Mobile = ex.RandomWaypoint | ex.TraceBase

# Whether links join all nodes is found by a look at every pair, each time that a node turns.
MOST_SURVEYED_NODES = 1024


@dataclass(frozen=True)
class About:
    """What a mobile topology is like over the time of a run."""

    rejected: int  # traces that were drawn before, each with a partition
    accepted_mean: waypoint.Mean
    all_mean: waypoint.Mean  # over all traces that were drawn, the accepted one among them
    partitioned_at_s: float | None  # the first time at which links up to medium.tx_range_m do not join all nodes

    def words(self) -> str:
        kept, drawn = self.accepted_mean, self.all_mean
        text = f"mean speed {kept.speed_mps:.2f} m/s, mean degree {kept.degree:.1f}"
        if self.rejected:
            text += (
                f" (over all {self.rejected + 1} traces drawn {drawn.speed_mps:.2f} m/s and {drawn.degree:.1f}; "
                f"{self.rejected} had a partition and were rejected)"
            )
        parted = self.partitioned_at_s
        return f"{text}, " + ("never partitioned" if parted is None else f"partitioned from {parted:.1f} s on")

    def row(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def topology_trace(experiment: ex.Experiment, folder: Path) -> Trace:
    """How the topology places and moves the nodes. A file of it is looked for from `folder` on.

    Raises FieldError, ExperimentError.
    """
    match experiment.topology:
        case ex.RandomWaypoint():
            return _random_waypoint(experiment, experiment.topology).trace
        case ex.TraceBase():
            trace = formats.load(experiment.topology.kind, folder / experiment.topology.file).trace
            if experiment.topology.partitions == "reject":
                _refuse_partition(trace, experiment)
            return trace
    return Trace(tuple(topo.positions(experiment.topology, experiment.medium)))


def whole_trace(experiment: ex.Experiment, trace: Trace) -> Trace:
    """The trace of the topology with the moves of the experiment's events."""
    moves = [
        Turn(event.at_s, event.node, event.x_m, event.y_m, math.inf if event.speed_mps is None else event.speed_mps)
        for event in experiment.events
        if isinstance(event, ex.MoveEvent)
    ]
    return Trace(trace.starts, tuple(sorted([*trace.turns, *moves], key=lambda turn: turn.at_s)))


def moves(trace: Trace, until_s: float) -> list[dict[str, Any]]:
    """The turns of a trace before `until_s`, as events of run.json."""
    events = []
    for turn in trace.turns:
        if turn.at_s >= until_s:
            break
        x_m, y_m = (turn.x_m, turn.y_m) if turn.speed_mps else trace.at(turn.node, turn.at_s)
        event = {"at_s": turn.at_s, "kind": "move", "node": turn.node, "x_m": x_m, "y_m": y_m}
        # Who goes nowhere is there at once.
        events.append(event | ({"speed_mps": turn.speed_mps} if turn.speed_mps else {}))
    return events


def about(experiment: ex.Experiment, folder: Path) -> About | None:
    """What its mobile topology is like; None for one that stands or is too large. Raises as topology_trace()."""
    topology, until_s = experiment.topology, experiment.duration_s
    if not isinstance(topology, Mobile):
        return None
    if isinstance(topology, ex.RandomWaypoint) and topology.nodes > MOST_SURVEYED_NODES:
        return None
    if isinstance(topology, ex.RandomWaypoint) and topology.partitions == "reject":
        drawn = _random_waypoint(experiment, topology)
        return About(drawn.rejected, drawn.accepted_mean, drawn.all_mean, None)
    trace = topology_trace(experiment, folder)
    if len(trace.starts) > MOST_SURVEYED_NODES:
        return None
    found = survey(trace, experiment.medium.tx_range_m, until_s)
    mean = waypoint.mean_of(trace, found, until_s)
    return About(0, mean, mean, found.partitioned_at_s)


def _check_size(nodes: int) -> None:
    if nodes > MOST_SURVEYED_NODES:
        raise FieldError(
            ("topology", "partitions"),
            f"is reject, which looks at every pair of nodes, of {MOST_SURVEYED_NODES} at most; there are {nodes}",
            "set it to allow, or use fewer nodes",
        )


def _refuse_partition(trace: Trace, experiment: ex.Experiment) -> None:
    _check_size(len(trace.starts))
    found = survey(trace, experiment.medium.tx_range_m, experiment.duration_s)
    if found.partitioned_at_s is not None:
        raise FieldError(
            ("topology", "partitions"),
            f"is reject, and links of up to medium.tx_range_m = {experiment.medium.tx_range_m:g} m do not join all "
            f"nodes at {found.partitioned_at_s:.6g} s",
            "set it to allow, run for a shorter time, or give another trace",
        )


def _random_waypoint(experiment: ex.Experiment, topology: ex.RandomWaypoint) -> waypoint.Drawn:
    if topology.min_speed_mps > topology.max_speed_mps:
        raise FieldError(
            ("topology", "min_speed_mps"),
            f"is {topology.min_speed_mps:g}, more than max_speed_mps = {topology.max_speed_mps:g}",
            "set it to at most max_speed_mps",
        )
    model = waypoint.Waypoints(
        topology.nodes,
        topology.width_m,
        topology.height_m,
        topology.min_speed_mps,
        topology.max_speed_mps,
        topology.pause_s,
        experiment.duration_s,
    )
    if topology.partitions == "allow":
        nothing = waypoint.Mean(math.nan, math.nan)
        return waypoint.Drawn(waypoint.draw(model, topology.seed), 0, nothing, nothing)
    _check_size(topology.nodes)
    try:
        return _connected(model, experiment.medium.tx_range_m, topology.seed)
    except waypoint.NoTrace:
        raise FieldError(
            ("topology", "partitions"),
            f"is reject, and each of {waypoint.ATTEMPTS} traces drawn has a time at which links of up to "
            f"medium.tx_range_m = {experiment.medium.tx_range_m:g} m do not join all nodes",
            "set it to allow, use more nodes or a smaller area, or run for a shorter time",
        ) from None


# The points of a sweep share traces, and each is drawn at several steps of a study.
_connected = functools.lru_cache(maxsize=64)(waypoint.draw_connected)
