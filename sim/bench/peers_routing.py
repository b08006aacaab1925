# SPDX-License-Identifier: GPL-2.0-or-later
"""Row D-28's traces in ns-2.35: standard TCP between nodes that move, over AODV and over DSR.

Tells what ns-2 says of the order of the two where one flow runs over the same moves as in sim/experiments/dca_mobile,
whose figures `perhop reproduce D-28 --full` gives. Paired over the traces: the mean of each trace's own difference,
over DSR's mean, with its 95 % interval. ns-2 has no GPSR. About 2 min of CPU with five traces.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench_sim import HERE, ROOT, run_peer
from perhop.experiment import motion
from perhop.experiment.schema import Experiment
from perhop.mobility import setdest
from perhop.report.result_line import print_result
from perhop.study.plan import make_plan
from perhop.study.summaries import Mean, mean

FILE = ROOT / "sim/experiments/dca_mobile"
OUT = ROOT / "out/peers/routing"
ROUTINGS = ("AODV", "DSR")
# As in sim/experiments/dca_mobile, whose file names no largest timeout.
MAX_RTO_S = 60


@dataclass(frozen=True)
class Run:
    """One simulation in ns-2."""

    routing: str
    speed_mps: float
    trace: int
    seed: int


def ns2_bps(run: Run, experiment: Experiment, window: int | None) -> float:
    """What all flows deliver together; with a window of so many packets, or the experiment's."""
    place = OUT / f"{run.speed_mps:g}-{run.trace}-{run.routing}-{run.seed}-{len(experiment.flows)}-{window}"
    place.mkdir(parents=True, exist_ok=True)
    (place / "motion.tcl").write_text(setdest.write(motion.topology_trace(experiment, FILE)))
    lines = [
        f"flow {flow.src} {flow.dst} {flow.start_s} {window or flow.max_window_packets} {flow.segment_bytes} "
        f"{flow.min_rto_ms / 1e3} {MAX_RTO_S}"
        for flow in experiment.flows
    ]
    (place / "flows.tcl").write_text("\n".join(lines) + "\n")
    topology = experiment.topology
    # ns-2 takes places within its topography only, and not those on its edge.
    words = (topology.nodes, topology.width_m + 1, topology.height_m + 1, experiment.duration_s, run.seed)
    command = ["ns", HERE / "ns2_mobile.tcl", *map(str, words), str(experiment.mac.queue_packets)]
    _, packets = run_peer([*command, place / "motion.tcl", place / "flows.tcl", run.routing, "Newreno"])
    return packets * experiment.flows[0].segment_bytes * 8 / experiment.duration_s


def paired(one: dict[int, float], base: dict[int, float]) -> Mean:
    """Mean of the traces' differences over the base's mean."""
    against, difference = mean(base.values()), mean(one[trace] - base[trace] for trace in base)
    assert against is not None and difference is not None
    return Mean(difference.value / against.value, difference.half / against.value, difference.count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speed", type=float, nargs="+", default=[5, 20], help="m/s, of the experiment's")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of ns-2 a trace")
    parser.add_argument("--flows", type=int, choices=(1, 5), default=1)
    parser.add_argument("--window", type=int, help="packets; default: the experiment's")
    parser.add_argument("--jobs", type=int, default=2, help="simulations at a time")
    arguments = parser.parse_args()
    points = {
        (point.experiment.topology.max_speed_mps, point.experiment.topology.seed): point.experiment
        for point in make_plan(FILE, quick=False, out=OUT / "plan").points
        if len(point.experiment.flows) == arguments.flows
    }
    traces = sorted({trace for _, trace in points})
    seeds = range(1, arguments.seeds + 1)
    told = {}
    for speed in arguments.speed:
        runs = [Run(routing, speed, trace, seed) for routing in ROUTINGS for trace in traces for seed in seeds]
        with ThreadPoolExecutor(arguments.jobs) as pool:
            each = pool.map(lambda run: ns2_bps(run, points[run.speed_mps, run.trace], arguments.window), runs)
            bps = dict(zip(runs, each, strict=True))
        by_trace = {
            routing: {
                trace: sum(bps[Run(routing, speed, trace, seed)] for seed in seeds) / len(seeds) for trace in traces
            }
            for routing in ROUTINGS
        }
        for routing, of in by_trace.items():
            whole = mean(of.values())
            assert whole is not None
            traced = ", ".join(f"{value / 1e3:.0f}" for value in of.values())
            print(
                f"{speed:g} m/s, {routing}: {whole.value / 1e3:.0f} ± {whole.half / 1e3:.0f} kb/s ({traced})",
                flush=True,
            )
        lead = paired(by_trace["AODV"], by_trace["DSR"])
        print(f"{speed:g} m/s: AODV {lead.value:+.1%} ± {lead.half:.1%} over DSR")
        told[f"{speed:g} m/s"] = {
            **{f"{routing.lower()}_bps": round(sum(of.values()) / len(of)) for routing, of in by_trace.items()},
            "aodv_over_dsr": round(lead.value, 4),
            "half": round(lead.half, 4),
        }
    print_result("peers-routing", told)


if __name__ == "__main__":
    main()
