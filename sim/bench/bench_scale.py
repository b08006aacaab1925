# SPDX-License-Identifier: GPL-2.0-or-later
"""What a large network costs: CPU, memory and start-up from 64 to 10,000 nodes.

The networks: grids, as square as they can be, with nodes SPACING_M = 250 m apart, the default of experiment files and
the spacing of the chains of bench-sim. A frame is read at 250 m (four neighbours) and sensed at 550 m (12 nodes in the
middle of a grid), so that the network is connected with the fewest hearers a frame. Cost grows with the hearers a
frame: a network of 1,000 nodes that stand nearer (DENSE_SPACING_M, some 80 hearers) is measured beside, and so are
10,000 nodes with the flows of 1,000.

The traffic: one flow for 20 nodes, so that a node carries as much in any size: TCP NewReno without end over 8 hops (in
the dense network up to 8) between places drawn at random, 1460-byte segments, window 44, static routes, 802.11b at
2 Mb/s with RTS/CTS, ns-2's rules. Whole processes of a build without assertions, as in bench-sim; medians over rounds.
Start-up is the CPU time of a run that simulates a millisecond, reading run.json among it; the least wall time is told
beside. CPU a simulated second leaves it out; the factor of real time does not.

Of the network of 1,000 nodes a study with a report is made, too, as `perhop run` makes it. Exits with 1 when a bound
does not hold.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import builds
from perhop import paths
from perhop.experiment import topology
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.report import study_page
from perhop.report.result_line import print_result
from perhop.study import studies
from perhop.study.plan import make_plan
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out/bench-scale"

SIZES = (64, 256, 1000, 4000, 10_000)
NODES_PER_FLOW = 20
HOPS = 8
SPACING_M = 250.0
DENSE_SPACING_M = 104.0
STARTUP_S = 0.001  # simulated

# What has to hold, of the networks named.
SMALL, LARGE = 1000, 10_000
LEAST_FACTOR = {SMALL: 15.0, LARGE: 1.0}
MOST_RSS_MB = {SMALL: 80.0, LARGE: 600.0}
MOST_STARTUP_S = 1.5
MOST_GROWTH = 0.30  # of CPU and memory a node, from SMALL to LARGE, up or down
MOST_REPORT_MB, MOST_REPORT_S = 5.0, 10.0

# Starts a program and tells what it took. What a process has resident at most counts from before it became the program,
# so that one whose parent is large would seem large.
LAUNCHER = """
import json, os, sys, time
start_s = time.monotonic()
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(pid, 0)
if status:
    sys.exit(f"{sys.argv[1:]} ended with {os.waitstatus_to_exitcode(status)}")
print(json.dumps([usage.ru_utime + usage.ru_stime, time.monotonic() - start_s, usage.ru_maxrss / 1e3]))
"""


@dataclass(frozen=True)
class Network:
    nodes: int
    flows: int
    spacing_m: float = SPACING_M

    @property
    def name(self) -> str:
        dense = f", {self.spacing_m:g} m" if self.spacing_m != SPACING_M else ""
        return f"{self.nodes} nodes, {self.flows} flows{dense}"


@dataclass(frozen=True)
class Cost:
    """Of one network; medians over rounds."""

    flows: int
    hearers: float  # nodes that sense a frame, mean
    simulated_s: float
    cpu_s_per_s: float  # without start-up
    real_time_factor: float  # with it
    rss_mb: float
    startup_s: float  # CPU
    startup_wall_s: float
    transmissions_per_s: float
    clocks_per_transmission: float
    goodput_bps: float
    shares: dict[str, float]
    trace_hash: str


@dataclass(frozen=True)
class Report:
    """Of the study of SMALL nodes."""

    megabytes: float
    seconds: float  # tables and page, from the end of the run on


def experiment_of(network: Network, seconds: float, seed: int) -> dict[str, Any]:
    """The experiment file, as values."""
    rows = next(rows for rows in range(math.isqrt(network.nodes), 0, -1) if network.nodes % rows == 0)
    columns = network.nodes // rows
    draw = random.Random(seed)
    # A hop along rows or columns goes as far as the range lets it.
    per_hop = max(int(250 / network.spacing_m), 1)
    flows: list[dict[str, Any]] = []
    while len(flows) < network.flows:
        src = draw.randrange(network.nodes)
        across = draw.randint(0, HOPS)
        column = src % columns + draw.choice((-1, 1)) * across * per_hop
        row = src // columns + draw.choice((-1, 1)) * (HOPS - across) * per_hop
        if not (0 <= column < columns and 0 <= row < rows):
            continue
        dst = row * columns + column
        start_s = round(0.1 + 0.01 * (len(flows) % 100), 2)
        flows.append({"kind": "tcp", "src": src, "dst": dst, "start_s": start_s})
    return {
        "name": "bench_scale",
        "topology": {"kind": "grid", "rows": rows, "columns": columns, "spacing_m": network.spacing_m},
        "medium": {"reception": "ns2", "loss": "two_ray", "tx_range_m": 250, "cs_range_m": 550},
        "mac": {"profile": "dsss_long", "compat": "ns2", "data_rate_mbps": 2, "rts_threshold_bytes": 0},
        "flows": flows,
        "duration_s": seconds,
        "warmup_s": 0,
        "seeds": [seed],
        "outputs": {"pcapng": "off", "interval_s": 10},
    }


def run_file(network: Network, seconds: float, seed: int, folder: Path) -> Path:
    """run.json of the network, made as `perhop run` makes it."""
    source = folder / "experiment.yaml"
    source.write_text(json.dumps(experiment_of(network, max(seconds, 2.0), seed)))  # flows begin within two seconds
    config = dict(resolve(load(source))[0].config)
    config["duration_s"] = seconds
    config["outputs"] = {"directory": str(folder), **config["outputs"]}
    file = folder / "run.json"
    file.write_text(json.dumps(config))
    return file


def measured(program: Path, file: Path) -> tuple[float, float, float, dict[str, Any]]:
    """CPU seconds, wall seconds and most resident megabytes of a whole process, and the run's result."""
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, program, file]
    cpu_s, wall_s, rss_mb = json.loads(subprocess.run(launcher, check=True, stdout=subprocess.PIPE).stdout)
    return cpu_s, wall_s, rss_mb, json.loads((file.parent / "result.json").read_text())


def cost(program: Path, network: Network, options: argparse.Namespace) -> Cost:
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        startups = []
        file = run_file(network, STARTUP_S, options.seed, Path(folder))
        for _ in range(options.rounds):
            startups.append(measured(program, file))
        runs = []
        file = run_file(network, options.seconds, options.seed, Path(folder))
        for _ in range(options.rounds):
            runs.append(measured(program, file))
        nodes = [(node["x_m"], node["y_m"]) for node in json.loads(file.read_text())["nodes"]]
    startup_s = statistics.median(cpu_s for cpu_s, _, _, _ in startups)
    cpu_s = statistics.median(cpu_s for cpu_s, _, _, _ in runs)
    result = runs[0][3]
    hashes = {result["trace_hash"] for _, _, _, result in runs}
    if len(hashes) != 1:
        raise RuntimeError(f"{network.name}: the rounds differ: {hashes}")
    total = result["cpu_s"]["total"]
    return Cost(
        flows=network.flows,
        hearers=round(statistics.fmean(map(len, topology.neighbours(nodes, 550))), 1),
        simulated_s=options.seconds,
        cpu_s_per_s=round((cpu_s - startup_s) / options.seconds, 4),
        real_time_factor=round(options.seconds / cpu_s, 2),
        rss_mb=round(statistics.median(rss for _, _, rss, _ in runs), 1),
        startup_s=round(startup_s, 3),
        startup_wall_s=round(min(wall_s for _, wall_s, _, _ in startups), 3),
        transmissions_per_s=round(result["transmissions"] / options.seconds),
        clocks_per_transmission=round(result["clocks"] / result["transmissions"], 1),
        goodput_bps=round(sum(flow["goodput_bps"] for flow in result["flows"])),
        shares={name: round(result["cpu_s"][name] / total, 3) for name in ("rtl", "medium", "transport", "other")},
        trace_hash=result["trace_hash"],
    )


def report_of(options: argparse.Namespace) -> Report:
    """Makes the study of SMALL nodes with its page."""
    OUT.mkdir(parents=True, exist_ok=True)
    source = OUT / "small.yaml"
    network = Network(SMALL, SMALL // NODES_PER_FLOW)
    source.write_text(json.dumps(experiment_of(network, options.seconds, options.seed)))
    plan = make_plan(source, out=OUT / "small")
    run_s: list[float] = []

    def note(study: Any) -> None:
        if study.complete and not run_s:
            run_s.append(time.monotonic())

    done = study_page.write(studies.run(plan, fresh=True, on_change=note), [])
    return Report(done.written["report"].stat().st_size / 1e6, time.monotonic() - run_s[0])


def per_node(costs: dict[int, Cost], name: str) -> dict[int, float]:
    """What a further node takes from the smallest network on: the process itself is no node's."""
    least = min(costs, default=0)
    return {
        nodes: (getattr(costs[nodes], name) - getattr(costs[least], name)) / (nodes - least)
        for nodes in (SMALL, LARGE)
        if nodes in costs and nodes > least
    }


def slope(costs: dict[int, Cost], name: str) -> float | None:
    """The exponent of growth from SMALL to LARGE: 1 is in proportion."""
    if SMALL not in costs or LARGE not in costs:
        return None
    grown = getattr(costs[LARGE], name) / getattr(costs[SMALL], name)
    return round(math.log(grown) / math.log(LARGE / SMALL), 3)


def judge(costs: dict[int, Cost], report: Report | None) -> list[str]:
    """A sentence for each bound that does not hold."""
    failed = []
    for nodes, least in LEAST_FACTOR.items():
        if nodes in costs and costs[nodes].real_time_factor < least:
            failed.append(f"{nodes} nodes: {costs[nodes].real_time_factor:.1f} times real time, not {least:g}")
    for nodes, most in MOST_RSS_MB.items():
        if nodes in costs and costs[nodes].rss_mb > most:
            failed.append(f"{nodes} nodes: {costs[nodes].rss_mb:.0f} MB, more than {most:g}")
    if LARGE in costs and costs[LARGE].startup_s > MOST_STARTUP_S:
        failed.append(f"{LARGE} nodes: start-up takes {costs[LARGE].startup_s:.2f} s, more than {MOST_STARTUP_S:g}")
    for name, what in (("cpu_s_per_s", "CPU"), ("rss_mb", "memory")):
        found = per_node(costs, name)
        if len(found) == 2 and abs(found[LARGE] / found[SMALL] - 1) > MOST_GROWTH:
            failed.append(
                f"{what} a node at {LARGE} nodes is {found[LARGE] / found[SMALL]:.2f} times that at {SMALL}, "
                f"beyond {MOST_GROWTH:.0%}"
            )
    if report is not None and report.megabytes > MOST_REPORT_MB:
        failed.append(f"the report of {SMALL} nodes has {report.megabytes:.1f} MB, more than {MOST_REPORT_MB:g}")
    if report is not None and report.seconds > MOST_REPORT_S:
        failed.append(f"the report of {SMALL} nodes takes {report.seconds:.1f} s, more than {MOST_REPORT_S:g}")
    return failed


def show(costs: dict[str, Cost]) -> None:
    """A table for a person."""
    table = Table(title="What a network costs (whole process, medians)")
    for heading in (
        "network",
        "hearers",
        "CPU s/s",
        "x real time",
        "MB",
        "start-up s (wall)",
        "frames/s",
        "us a frame",
    ):
        table.add_column(heading, justify="right")
    for name, each in costs.items():
        table.add_row(
            name,
            f"{each.hearers:.1f}",
            f"{each.cpu_s_per_s:.4f}",
            f"{each.real_time_factor:.1f}",
            f"{each.rss_mb:.0f}",
            f"{each.startup_s:.2f} ({each.startup_wall_s:.2f})",
            f"{each.transmissions_per_s:.0f}",
            f"{each.cpu_s_per_s / each.transmissions_per_s * 1e6:.2f}",
        )
    Console(stderr=True, width=120).print(table)


def bench(options: argparse.Namespace) -> int:
    start_s = time.monotonic()
    OUT.mkdir(parents=True, exist_ok=True)
    ns3 = options.ns3 or builds.WHEEL
    program = ns3.perhop_sim()
    costs = {
        nodes: cost(program, Network(nodes, max(nodes // NODES_PER_FLOW, 1)), options)
        for nodes in sorted(options.nodes)
    }
    beside = {}
    if not options.only:
        few = SMALL // NODES_PER_FLOW
        for network in (Network(SMALL, few, DENSE_SPACING_M), Network(LARGE, few)):
            beside[network.name] = cost(program, network, options)
    report = None if options.only else report_of(options)
    show({Network(nodes, each.flows).name: each for nodes, each in costs.items()} | beside)
    if report is not None:
        print(f"report of {SMALL} nodes: {report.megabytes:.2f} MB in {report.seconds:.1f} s", file=sys.stderr)
    failed = judge(costs, report)
    for sentence in failed:
        print(f"DOES NOT HOLD: {sentence}")
    print_result(
        "bench-scale",
        {
            "target": "bench-scale",
            "version": paths.version()["git"],
            "run_s": round(time.monotonic() - start_s, 1),
            "ns3_build": ns3.words,
            "spacing_m": SPACING_M,
            "rounds": options.rounds,
            "seed": options.seed,
            "nodes": {str(nodes): asdict(each) for nodes, each in costs.items()},
            "beside": {name: asdict(each) for name, each in beside.items()},
            "per_node": {
                "cpu_us_per_s": {
                    str(nodes): round(value * 1e6, 2) for nodes, value in per_node(costs, "cpu_s_per_s").items()
                },
                "rss_kb": {str(nodes): round(value * 1e3, 2) for nodes, value in per_node(costs, "rss_mb").items()},
            },
            "slope": {name: slope(costs, name) for name in ("cpu_s_per_s", "rss_mb", "startup_s")},
            "report": asdict(report) if report is not None else None,
            "failed": failed,
            "ok": not failed,
        },
        OUT,
    )
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--only", action="store_true", help="these sizes alone: no networks beside them, no report")
    parser.add_argument("--seconds", type=float, default=20.0, help="simulated seconds a run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    builds.add_ns3_option(parser, "with an ns-3 that was built for speed in place of the wheel")
    return bench(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
