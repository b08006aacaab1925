# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares TCP over AODV and DSR with ns-2.35: on chains under windows of 1 to 12 packets, and between moving nodes.

Chains: a point is a chain under a window limit: packets/s as the mean over the seeds, ours over ns-2's less one. In
each half, windows up to 4 and above, the mean of its points is the bias, and that of their absolute values the
deviation. A half may deviate by 10 % and be biased by 5 %. The seeds are not those on which the routing was tried.

Moving nodes (peers_mobile.py): what all flows of a contender deliver, as the mean over the traces, may be 15 % from
ns-2's, and the contenders must come in ns-2's order; of each pair it is told whether ns-2's traces tell the two
apart. Exits with 1 while something does not hold.

Reno, 1460-byte segments, a TCP ACK for each, 802.11b at 2 Mb/s, ns-2's MAC and reception rule; chains: 250 m hops,
queue 50. Machine time of two cores with nothing else to do: about 15 min in full, a minute with --thin.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peers_mobile
from bench_sim import BUILD, HERE, run_json, run_peer
from perhop.report.result_line import print_result
from rich.console import Console
from rich.table import Table

MOST_DEVIATION = 0.10
MOST_BIAS = 0.05
LARGEST_SMALL_WINDOW = 4
# ns-2.35's default (Agent/TCP minrto_). A packet that the routing lost is missed after it.
NS2_MIN_RTO_MS = 200
PARTS = ("aodv", "dsr", "mobile")


@dataclass(frozen=True)
class Extent:
    """What is run of the whole."""

    hops: tuple[int, ...]
    windows: tuple[int, ...]
    seeds: tuple[int, ...]
    seconds: float


FULL = Extent((3, 4, 5, 6, 7, 8, 10, 12, 15), (1, 2, 3, 4, 6, 8, 10, 12), (4, 5, 6), 200)
THIN = Extent((3, 6, 10, 15), (1, 4, 8, 12), (1,), 60)


@dataclass(frozen=True)
class Run:
    """One simulation, to be made by both."""

    routing: str
    hops: int
    window: int
    seed: int


@dataclass(frozen=True)
class Half:
    """The windows up to 4, or those above."""

    deviation: float
    bias: float

    @property
    def holds(self) -> bool:
        return self.deviation <= MOST_DEVIATION and abs(self.bias) <= MOST_BIAS


def ours_packets(run: Run, seconds: float) -> int:
    """Packets that arrived in this project's simulator."""
    with tempfile.TemporaryDirectory() as directory:
        config = run_json(run.hops, run.window, seconds, run.seed, Path(directory))
        config["flows"][0] |= {"variant": "reno", "min_rto_ms": NS2_MIN_RTO_MS}
        config |= {"routing": run.routing, "link_failure": "purge"}
        config["mac"]["path_header"] = False  # ns-2 has none
        (Path(directory) / "run.json").write_text(json.dumps(config))
        ran = subprocess.run(
            [BUILD / "sim/ns3/perhop-sim", f"{directory}/run.json"], capture_output=True, text=True, check=False
        )
        if ran.returncode != 0:
            raise RuntimeError(f"perhop-sim ended with {ran.returncode} in {run}: {ran.stderr[-600:]}")
        result = json.loads((Path(directory) / "result.json").read_text())
    return result["flows"][0]["delivered_packets"]


def ns2_packets(run: Run, seconds: float) -> int:
    """The same in ns-2."""
    words = (run.hops, run.window, seconds, run.seed, run.routing.upper(), "Reno")
    return run_peer(["ns", HERE / "ns2_chain.tcl", *map(str, words)])[1]


def compare(routing: str, extent: Extent, jobs: int) -> dict[tuple[int, int], tuple[float, float]]:
    """Packets/s of this project and of ns-2, by hops and window."""
    points = [(hops, window) for hops in extent.hops for window in extent.windows]
    runs = [Run(routing, *point, seed) for point in points for seed in extent.seeds]
    with ThreadPoolExecutor(jobs) as pool:
        packets = list(
            pool.map(lambda run: (ours_packets(run, extent.seconds), ns2_packets(run, extent.seconds)), runs)
        )
    of_run = dict(zip(runs, packets, strict=True))

    def mean(point: tuple[int, int], whose: int) -> float:
        return statistics.mean(of_run[Run(routing, *point, seed)][whose] for seed in extent.seeds) / extent.seconds

    return {point: (mean(point, 0), mean(point, 1)) for point in points}


def half(points: dict[tuple[int, int], tuple[float, float]], small: bool) -> Half:
    """Deviation and bias of the points of a half."""
    ratios = [
        ours / theirs - 1 for (_, window), (ours, theirs) in points.items() if (window <= LARGEST_SMALL_WINDOW) == small
    ]
    return Half(statistics.mean(map(abs, ratios)), statistics.mean(ratios))


def table(routing: str, points: dict[tuple[int, int], tuple[float, float]], extent: Extent) -> Table:
    """Both figures of each point."""
    shown = Table(title=f"{routing.upper()}: packets/s, ours beside ns-2.35's", title_justify="left")
    for name in ("hops", *(f"window {window}" for window in extent.windows)):
        shown.add_column(name, justify="right")
    for hops in extent.hops:
        cells = (points[hops, window] for window in extent.windows)
        shown.add_row(str(hops), *(f"{ours:.1f} {theirs:.1f} {ours / theirs - 1:+.0%}" for ours, theirs in cells))
    return shown


def compare_chains(routing: str, extent: Extent, jobs: int, console: Console) -> tuple[dict[str, float], bool]:
    """Show a routing's points. Returns what the result line says of them, and whether both halves hold."""
    points = compare(routing, extent, jobs)
    small, large = half(points, True), half(points, False)
    console.print(table(routing, points, extent))
    for name, one in (("up to 4", small), ("above 4", large)):
        verdict = "" if one.holds else "  DOES NOT HOLD"
        console.print(f"windows {name}: mean absolute deviation {one.deviation:.1%}, bias {one.bias:+.1%}{verdict}")
    told = {
        "dev_small": round(small.deviation, 4),
        "bias_small": round(small.bias, 4),
        "dev_large": round(large.deviation, 4),
        "bias_large": round(large.bias, 4),
    }
    return told, small.holds and large.holds


def compare_moving(thin: bool, jobs: int, console: Console) -> tuple[dict[str, Any], bool]:
    """Show the contenders between moving nodes. Returns what the result line says of them, and whether it holds."""
    contenders = peers_mobile.compare(thin, jobs)
    console.print(peers_mobile.table(contenders))
    failed = peers_mobile.judge(contenders)
    console.print(peers_mobile.order_words(contenders))
    of_pairs = peers_mobile.pairs(contenders)
    for pair in of_pairs:
        console.print(pair.words)
    for sentence in failed:
        console.print(f"{sentence}  DOES NOT HOLD")
    told: dict[str, Any] = {
        policy: {"ours_bps": round(one.means_bps[0]), "ns2_bps": round(one.means_bps[1])}
        for policy, one in contenders.items()
    }
    told["order_equal"] = all(pair.equal for pair in of_pairs)
    told["pairs_told_by_ns2"] = sum(pair.told for pair in of_pairs)
    told["of_these_in_its_order"] = sum(pair.told and pair.equal for pair in of_pairs)
    return told, not failed


def main() -> int:
    """Returns 0 when everything holds, 1 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thin", action="store_true", help="a fifth of the points, one seed, 60 s each")
    parser.add_argument("--only", choices=PARTS, help="this one")
    parser.add_argument("--jobs", type=int, default=2, help="simulations at a time")
    arguments = parser.parse_args()
    extent = THIN if arguments.thin else FULL
    console = Console(width=160)
    told: dict[str, Any] = {}
    holds = True
    for part in [arguments.only] if arguments.only else PARTS:
        if part == "mobile":
            told[part], well = compare_moving(arguments.thin, arguments.jobs, console)
        else:
            told[part], well = compare_chains(part, extent, arguments.jobs, console)
        holds &= well
    print_result("peers", {"thin": arguments.thin, **told, "holds": holds})
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
