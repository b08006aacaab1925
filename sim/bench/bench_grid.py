# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the cost of simulating the 10 x 10 grid of paper 003: perhop, ns-3's own Wi-Fi.

The grid: nodes 250 m apart; TCP without end from top to bottom of each of the 10 columns, over 9 hops; and over each of
the 90 hops along the rows a connection whose application writes a packet of 1460 bytes every half second (the
paper's 23.3 kb/s). The window is one packet, as in the paper. Below TCP both are as in bench_sim.py: TCP NewReno,
802.11b at 2 Mb/s with 1 Mb/s control frames, RTS/CTS, a range of 250 m and carrier sense to 550 m, static routes,
interface queues of 50. Reception is by SINR, by which both deliver nearly the same: under ns-2's rule perhop's columns
get half of it. (The paper's own MACs, CSMA and FAMA of GloMoSim, ns-3 does not have.)

Figures: CPU microseconds (user and system, whole process, start-up included) for each data packet delivered and each
hop that it took, over all flows, and the most memory that the process had resident. The two run in turn, several
rounds; medians are compared. Instructions are those of one short run each, which no other work of the machine changes.
ns-3 is the wheel, with its logs and assertions; with --ns3 one that was built for speed beside it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import builds
import instructions
from bench_scale import LAUNCHER
from chain_runs import ROOT
from perhop import paths
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.report.result_line import print_result
from rich.console import Console
from rich.table import Table

OUT = ROOT / "out/bench-grid"
SIDE = 10
WINDOW = 1  # packets
ROW_BPS = 23_360
LEAST_RATIO = 8.0  # ns-3's cost by ours


@dataclass(frozen=True)
class Cost:
    """Of one simulator; medians over rounds."""

    us: float  # of CPU a delivered packet and hop
    range_us: tuple[float, float]
    rss_mb: float
    column_pps: float  # all columns together
    row_pps: float
    instructions: int | None  # a delivered packet and hop, start-up included


@dataclass(frozen=True)
class Run:
    cpu_s: float
    rss_mb: float
    columns: int  # packets delivered
    rows: int

    @property
    def packet_hops(self) -> int:
        return self.columns * (SIDE - 1) + self.rows


def experiment(seconds: float, seed: int) -> dict[str, Any]:
    """The experiment file, as values."""
    flow = {"kind": "tcp", "variant": "newreno", "sack": False, "max_window_packets": WINDOW}
    return {
        "name": "bench_grid",
        "topology": {"kind": "grid", "rows": SIDE, "columns": SIDE, "spacing_m": 250},
        "medium": {"reception": "sinr", "loss": "two_ray", "tx_range_m": 250, "cs_range_m": 550},
        "mac": {"profile": "dsss_long", "compat": "ns2", "data_rate_mbps": 2, "rts_threshold_bytes": 0},
        "flows": [
            {**flow, "src": "top", "dst": "bottom", "start_s": 0.1, "stagger_s": 0.1},
            {**flow, "src": "each", "dst": "right", "rate_bps": ROW_BPS, "start_s": 1.2, "stagger_s": 0.0137},
        ],
        "duration_s": seconds,
        "warmup_s": 0,
        "seeds": [seed],
        "outputs": {"pcapng": "off", "interval_s": 10},
    }


class Ours:
    def __init__(self, program: Path, ns3: builds.Ns3 = builds.WHEEL) -> None:
        self.program = program
        self.ns3 = ns3
        self.name = "perhop" if ns3 is builds.WHEEL else "perhop, ns-3 built for speed"

    def command(self, folder: Path, seconds: float, seed: int) -> list[str | Path]:
        """Writes run.json as `perhop run` does."""
        source = folder / "experiment.yaml"
        source.write_text(json.dumps(experiment(seconds, seed)))
        config = dict(resolve(load(source))[0].config)
        config["outputs"] = {"directory": str(folder), **config["outputs"]}
        (folder / "run.json").write_text(json.dumps(config))
        return [self.program, folder / "run.json"]

    def delivered(self, folder: Path) -> tuple[int, int]:
        flows = json.loads((folder / "result.json").read_text())["flows"]
        packets = [flow["delivered_packets"] for flow in flows]
        return sum(packets[:SIDE]), sum(packets[SIDE:])


class Ns3:
    def __init__(self, program: Path, ns3: builds.Ns3 = builds.WHEEL) -> None:
        self.program = program
        self.ns3 = ns3
        self.name = "ns-3 Wi-Fi" if ns3 is builds.WHEEL else "ns-3 Wi-Fi, built for speed"

    def command(self, folder: Path, seconds: float, seed: int) -> list[str | Path]:
        options = {"side": SIDE, "window": WINDOW, "row_bps": ROW_BPS, "seconds": seconds, "seed": seed}
        words = [f"--{name}={value}" for name, value in options.items()]
        return ["/bin/sh", "-c", 'exec "$@" > "$0"', folder / "printed", self.program, *words]

    def delivered(self, folder: Path) -> tuple[int, int]:
        printed = json.loads((folder / "printed").read_text())
        return sum(printed["columns"]), printed["rows"]


def run(simulator: Ours | Ns3, seconds: float, seed: int) -> Run:
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        command = simulator.command(Path(folder), seconds, seed)
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
        done = subprocess.run(launcher, check=True, stdout=subprocess.PIPE)
        cpu_s, _, rss_mb = json.loads(done.stdout)
        return Run(cpu_s, rss_mb, *simulator.delivered(Path(folder)))


def count(simulator: Ours | Ns3, seconds: float, seed: int) -> int | None:
    """Instructions of a whole run for each packet delivered and hop; None when none is to be made.

    Nor of programs that were built for this machine: Valgrind does not know all of its instructions.
    """
    if seconds == 0 or simulator.ns3 is not builds.WHEEL:
        return None
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        taken, _ = instructions.of_process(simulator.command(Path(folder), seconds, seed), "--trace-children=yes")
        columns, rows = simulator.delivered(Path(folder))
    return round(taken / Run(0, 0, columns, rows).packet_hops)


def cost(runs: list[Run], seconds: float, counted: int | None) -> Cost:
    each_us = [run.cpu_s * 1e6 / run.packet_hops for run in runs]
    return Cost(
        us=round(statistics.median(each_us), 2),
        range_us=(round(min(each_us), 2), round(max(each_us), 2)),
        rss_mb=round(statistics.median(run.rss_mb for run in runs), 1),
        column_pps=round(statistics.median(run.columns for run in runs) / seconds, 2),
        row_pps=round(statistics.median(run.rows for run in runs) / seconds, 2),
        instructions=counted,
    )


def show(costs: dict[str, Cost]) -> None:
    table = Table(title=f"{SIDE} x {SIDE} grid, {SIDE} flows down the columns, {SIDE * (SIDE - 1)} along the rows")
    for heading in ("", "us a packet and hop", "instructions", "MB", "columns, packets/s", "rows, packets/s"):
        table.add_column(heading, justify="right")
    for name, each in costs.items():
        figures = (f"{each.us:.1f}", f"{each.instructions:,}" if each.instructions else "", f"{each.rss_mb:.0f}")
        table.add_row(name, *figures, f"{each.column_pps:.1f}", f"{each.row_pps:.1f}")
    Console(stderr=True, width=120).print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="simulated seconds a run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--counted-s",
        type=float,
        default=3.0,
        help="simulated seconds of the run whose instructions are counted, which takes 50 times as long; 0: none is",
    )
    parser.add_argument("--seed", type=int, default=1)
    builds.add_ns3_option(parser, "beside the wheel an ns-3 that was built for speed")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    kinds = [builds.WHEEL, *([options.ns3] if options.ns3 else [])]
    simulators = [
        simulator
        for ns3 in kinds
        for simulator in (Ours(ns3.perhop_sim(), ns3), Ns3(ns3.peer("ns3_wifi_grid", OUT), ns3))
    ]
    runs: dict[str, list[Run]] = {simulator.name: [] for simulator in simulators}
    for number in range(options.rounds):
        for simulator in simulators:
            runs[simulator.name].append(run(simulator, options.seconds, options.seed + number))
    costs = {
        simulator.name: cost(runs[simulator.name], options.seconds, count(simulator, options.counted_s, options.seed))
        for simulator in simulators
    }
    show(costs)
    ours, theirs = (costs[simulator.name] for simulator in simulators[:2])
    # Ours with the wheel by each ns-3: the one that was built for speed is the harder.
    ratios = [costs[simulator.name].us / ours.us for simulator in simulators[1::2]]
    ok = min(ratios) >= LEAST_RATIO
    if not ok:
        print(f"DOES NOT HOLD: ns-3's Wi-Fi costs {min(ratios):.1f} times as much, not {LEAST_RATIO:g}")
    print_result(
        "bench-grid",
        {
            "target": "bench-grid",
            "version": paths.version()["git"],
            "simulated_s": options.seconds,
            "rounds": options.rounds,
            "seed": options.seed,
            "window": WINDOW,
            "row_bps": ROW_BPS,
            "ns3_build": kinds[-1].words,
            "ours_us": ours.us,
            "ns3_us": theirs.us,
            "ratio": round(ratios[0], 2),
            "ratio_built": round(ratios[1], 2) if options.ns3 else None,
            "ours_rss_mb": ours.rss_mb,
            "ns3_rss_mb": theirs.rss_mb,
            "ours": asdict(ours),
            "ns3": asdict(theirs),
            "with_ns3_built": {name: asdict(costs[name]) for name in [each.name for each in simulators[2:]]},
            "ok": ok,
        },
        OUT,
    )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
