# SPDX-License-Identifier: GPL-2.0-or-later
"""Row B-17: the traces of the mobile set, those that were rejected, and how speeds fall (footnote 4 of paper 000).

Whether links join all nodes is looked at here by trying, at many times; perhop.mobility solves equations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from perhop.experiment.cautions import SLOWING
from perhop.mobility import waypoint
from perhop.mobility.links import survey
from perhop.mobility.trace import Trace
from perhop.study.check import RowVerdict

# What the paper says of its scenario.
PAPER = {"nodes": 50, "width_m": 1500.0, "height_m": 300.0, "max_speed_mps": 5.0, "pause_s": 0.0}
LOOKS = 2000
QUARTERS = 4


@dataclass(frozen=True)
class Told:
    """A trace that was kept, and what was rejected before it."""

    seed: int
    rejected: int
    kept: dict[str, float]
    drawn: dict[str, float]


def scenario(provenance: dict[str, Any]) -> RowVerdict:
    """The paper's numbers; kept traces hold together, rejected ones do not; bias and slowing are told."""
    experiment = provenance["experiment"]
    topology, range_m, duration_s = experiment["topology"], experiment["medium"]["tx_range_m"], experiment["duration_s"]
    told = _told(provenance)
    wrong = [f"{name} is not {value:g}" for name, value in PAPER.items() if topology[name] != value]
    model = waypoint.Waypoints(
        topology["nodes"],
        topology["width_m"],
        topology["height_m"],
        topology["min_speed_mps"],
        topology["max_speed_mps"],
        topology["pause_s"],
        duration_s,
    )
    quarters = []
    for trace in told:
        kept = waypoint.draw(model, trace.seed, trace.rejected)
        if not all(joined_at(kept, list(np.linspace(0, duration_s, LOOKS, endpoint=False)), range_m)):
            wrong.append(f"the trace of seed {trace.seed} was kept and has a partition")
        for attempt in range(trace.rejected):
            refused = waypoint.draw(model, trace.seed, attempt)
            parted_at_s = survey(refused, range_m, duration_s).partitioned_at_s
            # A partition lasts a while; it begins when two nodes are at the range.
            if parted_at_s is None or any(joined_at(refused, [parted_at_s + 1e-3], range_m)):
                wrong.append(f"attempt {attempt} of seed {trace.seed} was rejected and has no partition")
        quarters.append(speeds(kept, duration_s))
    by_quarter = np.mean(quarters, axis=0)
    if topology["min_speed_mps"] == 0 and "slow legs last long" not in SLOWING:
        wrong.append("nobody is told that speeds fall")
    rejected = sum(trace.rejected for trace in told)
    measured = (
        f"{len(told)} traces of {duration_s:g} s kept, joined at each of {LOOKS} times; {rejected} rejected before "
        f"them, each partitioned; mean degree of the kept {_mean(told, 'kept', 'degree'):.2f}, of all drawn "
        f"{_mean(told, 'drawn', 'degree'):.2f}, mean speed {_mean(told, 'kept', 'speed_mps'):.2f} and "
        f"{_mean(told, 'drawn', 'speed_mps'):.2f} m/s; mean speed in the quarters of the time "
        f"{', '.join(f'{speed:.2f}' for speed in by_quarter)} m/s"
    )
    return RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, measured]))


def _told(provenance: dict[str, Any]) -> list[Told]:
    """Each trace once, of the points of the sweep that share it."""
    found: dict[int, Told] = {}
    for point, row in zip(provenance["points"], provenance["motion"], strict=True):
        seed = point["topology.seed"]
        found[seed] = Told(seed, row["rejected"], row["accepted_mean"], row["all_mean"])
    return list(found.values())


def _mean(told: Iterable[Told], which: str, name: str) -> float:
    return float(np.mean([getattr(trace, which)[name] for trace in told]))


def joined_at(trace: Trace, times_s: Sequence[float], range_m: float) -> list[bool]:
    """Whether links of up to `range_m` join all nodes at each time, by going from node 0 to all that it reaches."""
    ways = [trace.breakpoints(node, max(times_s) + 1) for node in range(len(trace.starts))]
    places = np.array(
        [
            [np.interp(times_s, [at for at, _ in way], [place[axis] for _, place in way]) for axis in (0, 1)]
            for way in ways
        ]
    )
    return [_joined(places[:, :, index], range_m) for index in range(len(times_s))]


def _joined(at: npt.NDArray[np.float64], range_m: float) -> bool:
    linked = np.hypot(*(at[:, None, :] - at[None, :, :]).transpose(2, 0, 1)) <= range_m + 1e-6
    reached = linked[0]
    while True:
        further = linked[reached].any(axis=0)
        if (further == reached).all():
            return bool(reached.all())
        reached = further


def speeds(trace: Trace, duration_s: float) -> list[float]:
    """Mean speed of all nodes in each quarter of the time."""
    edges = [duration_s * quarter / QUARTERS for quarter in range(QUARTERS + 1)]
    ways = [trace.mean_speed_mps(edge) * edge if edge else 0.0 for edge in edges]
    return [(after - before) * QUARTERS / duration_s for before, after in itertools.pairwise(ways)]
