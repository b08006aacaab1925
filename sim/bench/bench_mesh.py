# SPDX-License-Identifier: GPL-2.0-or-later
"""EXACT on meshes, on the air over the MAC gateware: what flows get, how evenly, and what the routers' hellos take.

Grids: two flows of four hops that cross in the middle of 5x5 and 9x9 nodes 250 m apart, under M1 and M2. M2's goodput
times Jain's index is to be at least M1's, its hellos are to take at most 3 % of the time of any station that senses
them, and at most 5 % of its packets may be lost. Random meshes: drawn as in bench-exact (30 nodes on 1 km x 1 km, six
flows, 20 meshes) under M2. What each flow delivers is to be within 20 % of the max-min optimum, that of linear programs
over the sets of links that exclude each other. Exits with 1 when a bound does not hold.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mesh_document
from perhop import paths
from perhop.errors import PerhopError
from perhop.experiment import topology
from perhop.report.result_line import print_result
from perhop.study import exact_studies, studies
from perhop.study.plan import make_plan
from perhop.study.results import Row, jain
from perhop.study.summaries import Mean, mean
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("bench_mesh.yaml")
OUT = ROOT / "out/bench-mesh"
DOCUMENT = ROOT / "docs/exact_on_meshes.md"
DOCUMENTED_PACE = 0.9
GRIDS = (5, 9)
MODES = ("m1", "m2")
GRID_SEEDS = (1, 2, 3)
MESH_SEEDS = (1, 2)
MESHES = 20  # of perhop-exact
TO_IP = 1500 / 1472  # goodput counts payload, the optimum IP packets
# exact_receiver reports every 4 packets, and every 200 ms while packets come.
REPORT_PACKETS, REPORTS_PER_S = 4, 5
REPORT_BYTES = 40

MOST_CONTROL_SHARE = 0.03
MOST_LOSS = 0.05
MOST_GAP = 0.20


@dataclass(frozen=True)
class Grid:
    """Two crossing flows under one mode, means over seeds."""

    goodput_bps: float
    jain: float
    control_share: float
    loss: float

    @property
    def product_bps(self) -> float:
        return self.goodput_bps * self.jain


def lost_share(flows: list[Row]) -> float:
    """Of the packets that all flows of a run sent."""
    delivered = sum(row["delivered_packets"] for row in flows)
    sent = sum(row["delivered_packets"] / (1 - row["loss_share"]) for row in flows if row["loss_share"] < 1)
    return 1 - delivered / sent if sent else 1.0


def control_share(done: studies.Finished, run: str) -> float:
    """Time that the station which senses most of them spends on hellos, as a share of what was measured."""
    experiment = done.plan.points[0].experiment
    measured_us = (experiment.duration_s - experiment.warmup_s) * 1e6
    nodes = topology.positions(experiment.topology, experiment.medium)
    spent = [
        (row["from"], row["packets"] * row["airtime_us"] / measured_us)
        for row in done.results.hops
        if row["run"] == run and row["direction"] == "broadcast"
    ]
    reach = experiment.medium.cs_range_m
    return max(
        sum(share for sender, share in spent if topology.distance_m(nodes[sender], here) <= reach) for here in nodes
    )


def run(name: str, settings: list[str], options: argparse.Namespace) -> studies.Finished:
    """Make runs, or what is left of them."""
    planned = make_plan(FILE, [*settings, *options.set], out=options.out / name)
    done = studies.run(planned, options.jobs, options.fresh, check=False)
    if not done.study.complete:
        raise SystemExit(f"bench-mesh: not all runs of {name} finished; start it again to go on")
    return done


def by_run(done: studies.Finished) -> dict[str, list[Row]]:
    """The flows' rows of each run."""
    runs: dict[str, list[Row]] = {}
    for row in done.results.flows:
        runs.setdefault(row["run"], []).append(row)
    return runs


def crossing(side: int) -> str:
    """Flows along the middle row and the middle column, four hops each."""
    middle = side // 2
    ends = [
        (middle * side + middle - 2, middle * side + middle + 2),
        ((middle - 2) * side + middle, (middle + 2) * side + middle),
    ]
    flows = (
        f"{{kind: exact, src: {src}, dst: {dst}, payload_bytes: 1472, start_s: {0.1 + 0.5 * index}}}"
        for index, (src, dst) in enumerate(ends)
    )
    return f"flows=[{', '.join(flows)}]"


def grid(side: int, mode: str, options: argparse.Namespace) -> Grid:
    """The grid's runs under one mode."""
    settings = [
        f"topology={{kind: grid, rows: {side}, columns: {side}, spacing_m: 250}}",
        crossing(side),
        f"exact.mode={mode}",
        f"seeds={list(GRID_SEEDS)}",
    ]
    done = run(f"grid-{side}x{side}-{mode}", settings, options)
    runs = by_run(done)
    return Grid(
        _mean(sum(row["goodput_bps"] for row in flows) for flows in runs.values()),
        _mean(jain([row["goodput_bps"] for row in flows]) for flows in runs.values()),
        max(control_share(done, name) for name in runs),
        _mean(lost_share(flows) for flows in runs.values()),
    )


@dataclass(frozen=True)
class Mesh:
    """One random mesh under M2: what each flow delivered over its optimum, means over seeds."""

    ratios: list[float]
    control_share: float
    loss: float

    @property
    def gap(self) -> float:
        return max(abs(ratio - 1) for ratio in self.ratios)


def mesh(
    number: int,
    drawn: dict[str, Any],
    options: argparse.Namespace,
    paced: float | None = None,
    answered: bool = False,
) -> Mesh:
    """The runs of a mesh of perhop-exact.

    `paced`: with UDP flows at that share of the optimum in place of EXACT's; `answered`: and small packets back as
    often as EXACT reports.
    """
    nodes = ", ".join(f"{{x_m: {node['x_m']:g}, y_m: {node['y_m']:g}}}" for node in drawn["nodes"])
    kinds = [
        "kind: exact" if paced is None else f"kind: cbr, rate_bps: {paced * bps / TO_IP:.0f}"
        for bps in drawn["optimum_bps"]
    ]
    flows = [
        f"{{{kind}, src: {path[0]}, dst: {path[-1]}, payload_bytes: 1472, start_s: {0.1 + 0.5 * index}}}"
        for index, (kind, path) in enumerate(zip(kinds, drawn["paths"], strict=True))
    ]
    if paced is not None and answered:
        flows += [
            f"{{kind: cbr, rate_bps: {8 * REPORT_BYTES * reports_per_s(paced * bps / TO_IP):.0f}, src: {path[-1]}, "
            f"dst: {path[0]}, payload_bytes: {REPORT_BYTES}, start_s: {0.15 + 0.5 * index}}}"
            for index, (bps, path) in enumerate(zip(drawn["optimum_bps"], drawn["paths"], strict=True))
        ]
    settings = [
        f"topology={{kind: explicit, nodes: [{nodes}]}}",
        f"flows=[{', '.join(flows)}]",
        f"seeds={list(MESH_SEEDS)}",
    ]
    name = "mesh" if paced is None else "answered" if answered else "paced"
    done = run(f"{name}-{number}", settings, options)
    check_paths(done, drawn["paths"])
    runs = by_run(done)
    delivered = [
        _mean(row["goodput_bps"] * TO_IP for row in done.results.flows if row["flow"] == flow)
        for flow in range(len(drawn["paths"]))
    ]
    ratios = [bps / optimum for bps, optimum in zip(delivered, drawn["optimum_bps"], strict=True)]
    return Mesh(
        ratios, max(control_share(done, name) for name in runs), _mean(lost_share(flows) for flows in runs.values())
    )


def reports_per_s(goodput_bps: float) -> float:
    """How often EXACT reports of a flow."""
    packets_per_s = goodput_bps / (8 * 1472)
    return min(max(packets_per_s / REPORT_PACKETS, REPORTS_PER_S), packets_per_s)


def is_within(each: Mesh) -> bool:
    """Whether every flow is near enough to its optimum."""
    return each.gap <= MOST_GAP


def check_paths(done: studies.Finished, wanted: list[list[int]]) -> None:
    """The optimum is that of the paths that packets take."""
    routes = {(here, destination): there for here, destination, there in done.plan.runs[0].config["routes"]}
    for path in wanted:
        taken = [path[0]]
        while taken[-1] != path[-1]:
            taken.append(routes[taken[-1], path[-1]])
        if taken != path:
            raise SystemExit(f"bench-mesh: packets take {taken}, the optimum is that of {path}")


def _mean(values: Any) -> float:
    found: Mean | None = mean(values)
    assert found is not None
    return found.value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fresh", action="store_true", help="forget runs made before")
    parser.add_argument("--jobs", type=int, default=None, help="runs at a time; all cores unless said")
    parser.add_argument("--out", type=Path, default=OUT, help="where runs go")
    parser.add_argument("--tuning", action="store_true", help="take the random meshes that constants are chosen on")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="grid-5x5, mesh-7 or a pattern such as mesh-1*"
    )
    parser.add_argument(
        "--paced",
        type=float,
        metavar="SHARE",
        help="show UDP flows at this share of the optimum, alone and with packets back as often as EXACT's reports",
    )
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="change a field for once")
    parser.add_argument("--document", action="store_true", help="also write docs/exact_on_meshes.md")
    options = parser.parse_args()
    try:
        if options.document and (options.only or options.set or options.tuning):
            raise PerhopError("--document wants all meshes as they are", "leave out --only, --set and --tuning")
        if options.document:
            options.paced = DOCUMENTED_PACE
        return bench(options)
    except PerhopError as error:
        print(f"bench-mesh: {error}", file=sys.stderr)
        return 2


def bench(options: argparse.Namespace) -> int:
    """Make all runs, say what they gave, and whether the bounds hold."""
    start_s = time.monotonic()
    chosen = names(options.only)
    grids = {
        side: {mode: grid(side, mode, options) for mode in MODES} for side in GRIDS if f"grid-{side}x{side}" in chosen
    }
    study = "meshes_of_tuning" if options.tuning else "meshes"
    drawn = {
        number: each for number, each in enumerate(exact_studies.run(study)[study], 1) if f"mesh-{number}" in chosen
    }
    meshes = {number: mesh(number, each, options) for number, each in drawn.items()}
    paced = {number: mesh(number, each, options, options.paced) for number, each in drawn.items() if options.paced}
    answered = {
        number: mesh(number, each, options, options.paced, True) for number, each in drawn.items() if options.paced
    }
    failed = judge(grids, meshes)
    for sentence in failed:
        print(f"DOES NOT HOLD: {sentence}")
    show(grids, meshes, paced, answered)
    if options.document:
        mesh_document.write(grids, meshes, paced, answered, options.paced, failed, is_within, DOCUMENT)
    print_result(
        "bench-mesh",
        {
            "target": "bench-mesh",
            "version": paths.version()["git"],
            "settings": options.set,
            "run_s": round(time.monotonic() - start_s, 1),
            "grids": {
                f"{side}x{side}": {
                    "m1_bps": round(modes["m1"].goodput_bps),
                    "m2_bps": round(modes["m2"].goodput_bps),
                    "m1_jain": round(modes["m1"].jain, 4),
                    "m2_jain": round(modes["m2"].jain, 4),
                    "control_share": round(modes["m2"].control_share, 5),
                    "loss": round(modes["m2"].loss, 5),
                    "m1_loss": round(modes["m1"].loss, 5),
                }
                for side, modes in grids.items()
            },
            **({"only": options.only} if options.only else {}),
            **(of_meshes(meshes) if meshes else {}),
            **({"paced": options.paced, "paced_gaps": gaps(paced), "answered_gaps": gaps(answered)} if paced else {}),
            "eta_of_the_optimum": next((each["eta"] for each in drawn.values()), None),
            "failed": failed,
            "ok": not failed,
        },
        options.out,
    )
    return 1 if failed else 0


def names(only: list[str]) -> set[str]:
    """The grids and meshes that a pattern of `only` stands for; all without one. Raises PerhopError."""
    every = [*(f"grid-{side}x{side}" for side in GRIDS), *(f"mesh-{number}" for number in range(1, MESHES + 1))]
    for pattern in only:
        if not fnmatch.filter(every, pattern):
            raise PerhopError(
                f"--only {pattern!r} is no grid or mesh", f"one of {', '.join(every)}, or a pattern such as mesh-1*"
            )
    return {name for name in every if not only or any(fnmatch.fnmatchcase(name, pattern) for pattern in only)}


def gaps(meshes: dict[int, Mesh]) -> dict[int, float]:
    """How far each mesh is from the optimum, by its number."""
    return {number: round(each.gap, 4) for number, each in meshes.items()}


def of_meshes(meshes: dict[int, Mesh]) -> dict[str, Any]:
    """What the RESULT line says of random meshes."""
    return {
        "random_gap": max(gaps(meshes).values()),
        "random_gaps": gaps(meshes),
        "random_ratios": {number: [round(ratio, 4) for ratio in each.ratios] for number, each in meshes.items()},
        "random_within": sum(map(is_within, meshes.values())),
        "random_control_share": round(max(each.control_share for each in meshes.values()), 5),
        "random_loss": round(max(each.loss for each in meshes.values()), 5),
    }


def judge(grids: dict[int, dict[str, Grid]], meshes: dict[int, Mesh]) -> list[str]:
    """A sentence for each bound that does not hold."""
    failed = []
    for side, modes in grids.items():
        m1, m2 = modes["m1"], modes["m2"]
        if m2.product_bps < m1.product_bps:
            failed.append(
                f"{side}x{side}: M2's goodput times Jain's index is {m2.product_bps / 1e3:.0f} kb/s, "
                f"M1's {m1.product_bps / 1e3:.0f} kb/s"
            )
        if m2.control_share > MOST_CONTROL_SHARE:
            failed.append(f"{side}x{side}: hellos take {m2.control_share:.1%} of a station's time")
        if m2.loss > MOST_LOSS:
            failed.append(f"{side}x{side}: {m2.loss:.1%} of M2's packets are lost")
    far = [(number, each) for number, each in meshes.items() if not is_within(each)]
    if far:
        listed = ", ".join(f"{number} ({each.gap:.0%})" for number, each in far)
        failed.append(f"{len(far)} of {len(meshes)} random meshes are farther than 20 % from the optimum: {listed}")
    jammed = [number for number, each in meshes.items() if each.control_share > MOST_CONTROL_SHARE]
    if jammed:
        failed.append(f"hellos take more than {MOST_CONTROL_SHARE:.0%} of a station's time in random meshes {jammed}")
    return failed


def show(
    grids: dict[int, dict[str, Grid]], meshes: dict[int, Mesh], paced: dict[int, Mesh], answered: dict[int, Mesh]
) -> None:
    """Tables for a person."""
    console = Console(stderr=True, width=150)
    table = Table(title="Two flows of four hops that cross in the middle of a grid")
    for heading in ("grid", "mode", "kb/s", "Jain's index", "kb/s x Jain", "lost", "hellos' share of air"):
        table.add_column(heading, justify="right")
    for side, modes in grids.items():
        for mode, cell in modes.items():
            numbers = (f"{cell.goodput_bps / 1e3:.0f}", f"{cell.jain:.3f}", f"{cell.product_bps / 1e3:.0f}")
            table.add_row(f"{side}x{side}", mode.upper(), *numbers, f"{cell.loss:.1%}", f"{cell.control_share:.2%}")
    console.print(table)
    table = Table(title="Random meshes under M2: what each flow delivered over its max-min optimum")
    for heading in (
        "mesh",
        "largest gap",
        "flows",
        "lost",
        "hellos' share of air",
        *(["paced UDP", "answered"] if paced else []),
    ):
        table.add_column(heading, justify="right")
    for number, each in meshes.items():
        cells = [str(number), f"{each.gap:.0%}", shown(each.ratios), f"{each.loss:.1%}", f"{each.control_share:.2%}"]
        table.add_row(*cells, *([shown(paced[number].ratios), shown(answered[number].ratios)] if paced else []))
    console.print(table)


def shown(ratios: list[float]) -> str:
    """Of each flow of a mesh."""
    return " ".join(f"{ratio:.2f}" for ratio in ratios)


if __name__ == "__main__":
    sys.exit(main())
