# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP between nodes that move, beside ns-2.35: the same traces, flows, medium and MAC, under DSR.

Contenders: a window of 256 packets, paper 000's limit by hops, and fixed limits of 2 and 8 packets. ns-2 has no limit
by hops: its windows are set each second to what the table says of the shortest path at that time, and ours follow the
path that packets take. The limit by delay needs routers that measure, which ns-2's do not.

The contenders must come in ns-2's order. Of a pair that does not, it is said whether ns-2 itself tells the two apart:
whether the differences within its traces have a 95 % interval without 0.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from bench_sim import HERE, ROOT, run_peer
from perhop import core
from perhop.experiment import motion
from perhop.experiment.schema import Experiment
from perhop.mobility import setdest
from perhop.mobility.trace import Trace
from perhop.study import studies
from perhop.study.plan import make_plan
from perhop.study.summaries import Mean, mean
from rich.table import Table

FILE = HERE / "peers_mobile.yaml"
OUT = ROOT / "out/peers"
# Fixed limits are `cwl N`; HOP follows the path.
NONE, HOP = "no limit", "hop"
MOST_DEVIATION = 0.15
LIMIT_EVERY_S = 1.0


@dataclass(frozen=True)
class Contender:
    """What all flows delivered together, by trace."""

    ours_bps: dict[int, float]
    ns2_bps: dict[int, float]

    @property
    def means_bps(self) -> tuple[float, float]:
        return statistics.mean(self.ours_bps.values()), statistics.mean(self.ns2_bps.values())

    @property
    def deviation(self) -> float:
        ours, theirs = self.means_bps
        return ours / theirs - 1


@dataclass(frozen=True)
class Pair:
    """Two contenders: by how much the second delivers more than the first, in b/s, the mean over the traces."""

    lower: str
    higher: str  # which has the higher mean in ns-2
    ours: Mean
    ns2: Mean

    @property
    def told(self) -> bool:
        """Whether ns-2's traces tell the two apart."""
        return self.ns2.value - self.ns2.half > 0

    @property
    def equal(self) -> bool:
        """Whether ours come in the same order."""
        return self.ours.value > 0

    @property
    def words(self) -> str:
        ours, theirs = (f"{one.value / 1e3:+.0f} ± {one.half / 1e3:.0f}" for one in (self.ours, self.ns2))
        verdict = "as in ns-2" if self.equal else "the other way round"
        if not self.told:
            verdict += ", and ns-2's traces do not tell them apart"
        return f"{self.higher} over {self.lower}: {ours} kb/s, in ns-2 {theirs}: {verdict}"


def pairs(contenders: dict[str, Contender]) -> list[Pair]:
    """Each two contenders, the differences within a trace."""
    found = []
    for lower, higher in itertools.combinations(order(contenders, 1), 2):
        low, high = contenders[lower], contenders[higher]
        found.append(
            Pair(lower, higher, _difference(high.ours_bps, low.ours_bps), _difference(high.ns2_bps, low.ns2_bps))
        )
    return found


def order(contenders: dict[str, Contender], whose: int) -> list[str]:
    """From the least mean to the largest; 0: ours, 1: ns-2's."""
    return sorted(contenders, key=lambda policy: contenders[policy].means_bps[whose])


def compare(thin: bool, jobs: int) -> dict[str, Contender]:
    """Make both simulators' runs; ours that an earlier call finished are kept."""
    planned = make_plan(FILE, quick=thin, out=OUT / "mobile")
    done = studies.run(planned, jobs, False, check=False)
    if not done.study.complete:
        raise SystemExit("peers: not all runs of the mobile set finished; start it again to go on")
    ours: dict[tuple[str, int], float] = {}
    for row in done.results.flows:
        of_run = (row["policy"], row["sweep.topology.seed"])
        ours[of_run] = ours.get(of_run, 0.0) + row["goodput_bps"]
    experiments = {point.experiment.topology.seed: point.experiment for point in planned.points}
    with ThreadPoolExecutor(jobs) as pool:
        theirs = dict(zip(ours, pool.map(lambda of: _ns2_bps(experiments[of[1]], of[0]), ours), strict=True))
    policies = dict.fromkeys(policy for policy, _ in ours)
    return {policy: Contender(_of(ours, policy), _of(theirs, policy)) for policy in policies}


def judge(contenders: dict[str, Contender]) -> list[str]:
    """A sentence for each bound that does not hold."""
    failed = [
        f"{policy}: {one.deviation:+.0%} of ns-2's"
        for policy, one in contenders.items()
        if abs(one.deviation) > MOST_DEVIATION
    ]
    failed += [pair.words for pair in pairs(contenders) if not pair.equal]
    return failed


def order_words(contenders: dict[str, Contender]) -> str:
    """The plain order of the means, whatever their intervals."""
    ours, theirs = order(contenders, 0), order(contenders, 1)
    if ours == theirs:
        return f"from the least, as in ns-2: {', '.join(ours)}"
    return f"another order than ns-2's: from the least {', '.join(ours)}; in ns-2 {', '.join(theirs)}"


def table(contenders: dict[str, Contender]) -> Table:
    """Both figures of each contender, and of each of its traces."""
    shown = Table(title="Moving nodes: kb/s of all flows, ours beside ns-2.35's", title_justify="left")
    seeds = list(next(iter(contenders.values())).ours_bps)
    for name in ("contender", "mean", *(f"trace {seed}" for seed in seeds)):
        shown.add_column(name, justify="right")
    for policy, one in contenders.items():
        ours, theirs = one.means_bps
        cells = (f"{one.ours_bps[seed] / 1e3:.0f} {one.ns2_bps[seed] / 1e3:.0f}" for seed in seeds)
        shown.add_row(policy, f"{ours / 1e3:.0f} {theirs / 1e3:.0f} {one.deviation:+.0%}", *cells)
    return shown


def _difference(one: dict[int, float], base: dict[int, float]) -> Mean:
    found = mean(one[trace] - bps for trace, bps in base.items())
    assert found is not None
    return found


def _of(all_bps: dict[tuple[str, int], float], wanted: str) -> dict[int, float]:
    return {seed: bps for (policy, seed), bps in all_bps.items() if policy == wanted}


def _ns2_bps(experiment: Experiment, policy: str) -> float:
    """What all flows of a trace deliver together in ns-2."""
    trace = motion.topology_trace(experiment, FILE.parent)
    place = OUT / "ns2" / f"{experiment.topology.seed}-{policy.replace(' ', '_')}-{experiment.duration_s:g}"
    place.mkdir(parents=True, exist_ok=True)
    (place / "motion.tcl").write_text(setdest.write(trace))
    (place / "flows.tcl").write_text("\n".join(flow_lines(experiment, policy, trace)) + "\n")
    topology = experiment.topology
    words = (topology.nodes, topology.width_m, topology.height_m, experiment.duration_s, topology.seed)
    command = ["ns", HERE / "ns2_mobile.tcl", *map(str, words), str(experiment.mac.queue_packets)]
    _, packets = run_peer([*command, place / "motion.tcl", place / "flows.tcl"])
    return packets * experiment.flows[0].segment_bytes * 8 / experiment.duration_s


def flow_lines(experiment: Experiment, policy: str, trace: Trace) -> Iterable[str]:
    """The lines that ns2_mobile.tcl reads."""
    fixed = int(policy.split()[1]) if policy.startswith("cwl ") else None
    for flow in experiment.flows:
        window = flow.max_window_packets if fixed is None else fixed
        yield (
            f"flow {flow.src} {flow.dst} {flow.start_s} {window} {flow.segment_bytes} {flow.min_rto_ms / 1e3} "
            f"{flow.max_rto_ms / 1e3}"
        )
    if policy != HOP:
        return
    held = [0] * len(experiment.flows)
    for step in range(int(experiment.duration_s / LIMIT_EVERY_S)):
        hops = hops_between(trace, step * LIMIT_EVERY_S, experiment.medium.tx_range_m)
        for index, flow in enumerate(experiment.flows):
            window = core.hop_table_limit_packets(2 * int(hops[flow.src, flow.dst]))
            if window != held[index]:
                held[index] = window
                yield f"limit {step * LIMIT_EVERY_S} {index} {window}"


def hops_between(trace: Trace, at_s: float, range_m: float) -> np.ndarray:
    """Hops of the shortest paths at a time, (nodes, nodes); 0 where there is none."""
    places = np.array([trace.at(node, at_s) for node in range(len(trace.starts))])
    linked = np.linalg.norm(places[:, None] - places[None], axis=2) <= range_m
    reached = np.eye(len(places), dtype=bool)
    hops = np.zeros(linked.shape, dtype=int)
    for count in range(1, len(places)):
        farther = (reached.astype(int) @ linked.astype(int) > 0) & ~reached
        if not farther.any():
            break
        hops[farther] = count
        reached |= farther
    return hops
