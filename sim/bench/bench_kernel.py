# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench-kernel`: today's TCPs over chains of 1 to 15 hops, and what each policy gives them.

Three places: Linux kernels in virtual time, ns-3's models, and live namespaces in real time, over 1, 2 and 4 hops,
where this machine lets them be; where it does not, that is said and the column is empty. Five seeds (live: eight
repeats), means with 95 % intervals by Student's t; gains are means of each seed's own ratio. Live runs of a loaded
machine say little: its load is told beside them. What has been run is kept in out/bench-kernel, so that it goes on
where it was interrupted.

Costs are of whole runs. Bounds: 30 s of 4 hops below 3 s of CPU, 50 idle kernels for 60 s below 5 s, at most 6 MB a
kernel, and the runs of `make verify-kernel` that must be equal are. What ECN by service time is asked for is told as
a finding where it does not hold, and so are what one hop leaves of its airtime bound and where kernels are not within
the spread of live runs. --document also writes docs/kernel_transports.md. Machine time of two cores with nothing else
to do: some 20 min, and as much again for the live column, which runs at the speed of real time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import kernel_cells
import kernel_conditions
import kernel_conditions_document
import kernel_costs
import kernel_document
from kernel_cells import Cells
from perhop import files, paths
from perhop.errors import PerhopError
from perhop.experiment.program import hash_of, joint_hash
from perhop.kernel import image
from perhop.kernel.backend import BESIDE
from perhop.live import namespaces
from perhop.report.result_line import print_result
from perhop.study import studies
from perhop.study.plan import make_plan
from perhop.study.summaries import Mean, mean

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out/bench-kernel"
DOCUMENT = ROOT / "docs/kernel_transports.md"

HOPS, QUICK_HOPS = (1, 2, 4, 8, 15), (1, 4)
# Two hops are as one to most policies; there the TCPs are compared alone.
POLICY_HOPS = (1, 4, 8, 15)
SEEDS, QUICK_SEEDS = (1, 2, 3, 4, 5), (1, 2)
DURATION_S, WARMUP_S = 35, 5
LIVE_S, LIVE_WARMUP_S, LIVE_HOPS = 15, 5, (1, 2, 4)
# Five runs are by chance all on one side of the true median in 1 of 16 cells, and there are nine; eight in 1 of 128.
LIVE_REPEATS = 8
TCPS = ("reno", "cubic", "bbr")
ECN = "ecn 20"
# Beside ECN, where that is judged; in ns-3, too.
ABC = "abc 20"
# The rate of EXACT, told to Linux' TCP; ns-3's cannot be told.
TOLD = "paced exact"
POLICIES = ("none", "delay", "hop", "dca", "paced", "combined", ECN, ABC, TOLD)
EXACT = ROOT / "sim/experiments/exact_chain"
CONDITION_POLICIES = ("none", "delay", "dca", "paced", "combined", ECN, ABC, TOLD)


def settings(hops: Iterable[int], seeds: tuple[int, ...], duration_s: float, warmup_s: float) -> list[str]:
    return [
        f"topology.hops=[{', '.join(map(str, hops))}]",
        f"seeds={list(seeds)}",
        f"duration_s={duration_s}",
        f"warmup_s={warmup_s}",
    ]


def hops_of(options: argparse.Namespace) -> tuple[int, ...]:
    return QUICK_HOPS if options.quick else HOPS


def simulated(options: argparse.Namespace, place: str) -> Cells:
    """All TCPs under all policies, and those that want ECN under that."""
    seeds = QUICK_SEEDS if options.quick else SEEDS
    duration_s = 20 if options.quick else DURATION_S
    compared = options.policy_hops if not options.alone and (place == "kernel" or options.ns3_policies) else ()
    policy_hops = tuple(hops for hops in hops_of(options) if hops in compared)
    others = tuple(hops for hops in hops_of(options) if hops not in compared)
    policies_here = tuple(policy for policy in POLICIES if place == "kernel" or policy != TOLD)
    cells: Cells = {}
    for name, hops, tcps, policies in (
        ("alone", others, TCPS, POLICIES[:1]),
        ("ecn", tuple(hops for hops in others if hops in kernel_cells.ECN_HOPS), ("cubic",), (ECN,)),
        ("abc", tuple(hops for hops in others if hops in kernel_cells.ECN_HOPS), ("cubic",), (ABC,)),
        ("policies", policy_hops, TCPS, policies_here),
        ("dctcp", policy_hops, ("dctcp",), (ECN,)),
    ):
        if hops:
            told = [*settings(hops, seeds, duration_s, WARMUP_S), *options.set, f"policies=[{', '.join(policies)}]"]
            cells |= kernel_cells.run(place, told, options.out / f"{place}-{name}", options.jobs, options.fresh, tcps)
    return cells


def live(options: argparse.Namespace) -> tuple[Cells, str]:
    """The live column, or why it is empty."""
    if options.no_live:
        return {}, options.no_live
    try:
        namespaces.check_host()
        known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
        tcps = [tcp for tcp in TCPS if tcp in known]
        seeds = QUICK_SEEDS if options.quick else tuple(range(1, options.live_repeats + 1))
        hops = [each for each in hops_of(options) if each in LIVE_HOPS]
        told = [*settings(hops, seeds, LIVE_S, LIVE_WARMUP_S), *options.set, "policies=[none]"]
        cells = kernel_cells.run("live", told, options.out / "live", 1, options.fresh, tcps)
    except (PerhopError, OSError) as error:
        return {}, " ".join(str(error).split())
    missing = [tcp for tcp in TCPS if tcp not in tcps]
    return cells, f"this machine's kernel has no {', '.join(missing)}" if missing else ""


def exact(options: argparse.Namespace) -> dict[int, Mean]:
    """Goodput of a flow of EXACT, which is UDP and so has no TCP below it, over the same chains."""
    seeds = QUICK_SEEDS if options.quick else SEEDS
    told = [*settings(hops_of(options), seeds, DURATION_S, WARMUP_S), "exact.mode=m2", "exact.packets=false"]
    done = studies.run(make_plan(EXACT, told, out=options.out / "exact"), options.jobs, options.fresh, check=False)
    kernel_cells.demand_complete(done.study, "EXACT")
    found: dict[int, Mean] = {}
    for hops in sorted({row["hops"] for row in done.results.flows}):
        value = mean(row["goodput_bps"] or 0.0 for row in done.results.flows if row["hops"] == hops)
        assert value is not None
        found[hops] = value
    return found


def under_conditions(options: argparse.Namespace) -> kernel_conditions.Found:
    """Several flows, meshes, frame errors, another reception rule. Raises PerhopError."""
    seeds = QUICK_SEEDS if options.quick else SEEDS
    duration_s = 20 if options.quick else DURATION_S
    return kernel_conditions.run(
        kernel_conditions.QUICK if options.quick else options.conditions,
        options.condition_tcps,
        [policy for policy in CONDITION_POLICIES if policy in ("none", *options.condition_policies)],
        seeds,
        (f"duration_s={duration_s}", f"warmup_s={WARMUP_S}"),
        options.out / "conditions",
        options.jobs,
        options.fresh,
    )


def kept(options: argparse.Namespace, name: str, measure: Callable[[], Any]) -> Any:
    """What `measure` gives, or gave before with the same program and kernel."""
    program = paths.program(image.PROGRAM)
    parts = [program, image.check(), *(program.with_name(each) for each in BESIDE)]
    of, file = joint_hash([hash_of(part) for part in parts]), options.out / f"{name}.json"
    if file.is_file() and (before := json.loads(file.read_text(encoding="utf-8")))["of"] == of:
        return before["found"]
    found = measure()
    file.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(file, json.dumps({"of": of, "found": found}, indent=1) + "\n")
    return found


def costs() -> dict[str, Any]:
    """Of whole runs. Raises PerhopError."""
    chain = kernel_costs.chain(kernel_costs.CHAIN_HOPS, kernel_costs.CHAIN_S, "cubic")
    with tempfile.TemporaryDirectory(prefix="bench-kernel-") as name:
        folder = Path(name)
        loaded = kernel_costs.measure(chain, folder / "chain", 2)
        quick_air = kernel_costs.chain(kernel_costs.CHAIN_HOPS, kernel_costs.FAST_S, "cubic", *kernel_costs.FAST)
        fast = kernel_costs.measure(quick_air, folder / "fast", 2)
        idle = {
            count: kernel_costs.measure(kernel_costs.idle(count, kernel_costs.IDLE_S), folder / f"idle-{count}", count)
            for count in kernel_costs.IDLE_KERNELS
        }
    most = max(idle)
    return {
        "cpu_s_30s_4hops": round(loaded.cpu_s, 3),
        "chain_wall_s": round(loaded.wall_s, 2),
        "fast": {
            "cpu_s": round(fast.cpu_s, 3),
            "wall_s": round(fast.wall_s, 2),
            "mb_per_kernel": round(fast.mb_per_kernel, 2),
            "goodput_bps": round(fast.result["flows"][0]["goodput_bps"]),
        },
        "idle50_cpu_s": round(idle[most].cpu_s, 3),
        "mb_per_kernel": round(max(cost.mb_per_kernel for cost in idle.values()), 2),
        "mb_per_kernel_loaded": round(loaded.mb_per_kernel, 2),
        "idle": {
            str(count): {
                "cpu_s": round(cost.cpu_s, 3),
                "wall_s": round(cost.wall_s, 2),
                "mb_per_kernel": round(cost.mb_per_kernel, 2),
                "parts_mb": {part: round(megabytes, 2) for part, megabytes in cost.parts_mb.items()},
            }
            for count, cost in idle.items()
        },
    }


def judged_costs(cost: dict[str, Any]) -> list[str]:
    return kernel_costs.judge(
        cost["cpu_s_30s_4hops"],
        cost["idle50_cpu_s"],
        {int(count): each["mb_per_kernel"] for count, each in cost["idle"].items()},
    )


def identical() -> dict[str, bool]:
    """The runs of `make verify-kernel` that must be equal, and those that must not."""
    sys.path.insert(0, str(ROOT / "sim"))
    import verify_kernel

    with tempfile.TemporaryDirectory(prefix="bench-kernel-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        return verify_kernel.compare(folder, 2, lambda text: print(text, file=sys.stderr))[0]


def gains(cells: Cells) -> dict[kernel_cells.Key, kernel_cells.Gain]:
    """Of each policy over the same TCP without one; of DCTCP, which has none to be compared with, over CUBIC."""
    found, none = {}, kernel_cells.label(kernel_cells.NONE)
    for (hops, tcp, policy), samples in cells.items():
        base = cells.get((hops, "cubic" if tcp == "dctcp" else tcp, none))
        if base is not None and policy != none:
            found[hops, tcp, policy] = kernel_cells.gain(samples, base)
    return found


def as_json(of: dict[kernel_cells.Key, kernel_cells.Gain]) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for (hops, tcp, policy), found in of.items():
        rows.setdefault(str(hops), {}).setdefault(tcp, {})[policy] = {
            "goodput": round(found.goodput.value, 4),
            "goodput_95": round(found.goodput.half, 4),
            "rtt": round(found.rtt.value, 4) if found.rtt else None,
            "rtt_95": round(found.rtt.half, 4) if found.rtt else None,
        }
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1 and 4 hops, two seeds of 15 s: to try the bench out")
    parser.add_argument("--fresh", action="store_true", help="forget runs made before")
    parser.add_argument("--jobs", type=int, default=None, help="runs at a time; all cores unless said")
    parser.add_argument("--out", type=Path, default=OUT, help="where runs go")
    parser.add_argument(
        "--policy-hops",
        type=int,
        nargs="+",
        default=POLICY_HOPS,
        metavar="HOPS",
        help="where policies are compared; elsewhere the TCPs alone, and ECN where it is judged",
    )
    known = tuple(kernel_conditions.conditions())
    for name, default, about in (
        ("conditions", known, "beyond one flow over a clean chain"),
        ("condition-tcps", kernel_conditions.TCPS, "in these conditions"),
        ("condition-policies", CONDITION_POLICIES, "in these conditions"),
    ):
        parser.add_argument(
            f"--{name}", choices=default, nargs="+", default=default, metavar="NAME", help=f"only these, {about}"
        )
    parser.add_argument(
        "--alone",
        action="store_true",
        help="only the TCPs without a policy in three places, ECN and ABC; with --document only their sections are new",
    )
    parser.add_argument("--ns3-policies", action="store_true", help="compare all policies in ns-3, too, not ECN alone")
    parser.add_argument(
        "--no-live", nargs="?", const="left out by --no-live", metavar="WHY", help="leave the live column out"
    )
    parser.add_argument("--live-repeats", type=int, default=LIVE_REPEATS, help="of each cell of the live column")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="change a field for once")
    parser.add_argument("--document", action="store_true", help="also write docs/kernel_transports.md")
    options = parser.parse_args()
    if options.document and (options.quick or options.set):
        print("bench-kernel: --document wants all runs as they are; leave out --quick and --set", file=sys.stderr)
        return 2
    if options.quick:
        options.out = options.out / "quick"
    try:
        image.check()
        return bench(options)
    except PerhopError as error:
        print(f"bench-kernel: {error}", file=sys.stderr)
        return 2


def bench(options: argparse.Namespace) -> int:
    begun = time.monotonic()
    if options.fresh:
        shutil.rmtree(options.out, ignore_errors=True)
    cost: dict[str, Any] = {} if options.alone else kept(options, "costs", costs)
    same: dict[str, bool] = {} if options.alone else kept(options, "identical", identical)
    places = {place: simulated(options, place) for place in ("kernel", "ns3")}
    conditions = None if options.alone else under_conditions(options)
    load = 0.0 if options.no_live else kept(options, "load", os.getloadavg)[0]
    places["live"], why_no_live = live(options)
    if why_no_live:
        print(f"THE LIVE COLUMN IS NOT WHOLE: {why_no_live}", flush=True)
    over = {place: gains(places[place]) for place in ("kernel", "ns3")}
    measured = kernel_document.Measured(
        places=places,
        gains=over,
        exact={} if options.alone else exact(options),
        conditions=conditions,
        cost=cost,
        identical=same,
        why_no_live=why_no_live,
        load=load,
        tcps=TCPS,
        policies=tuple(kernel_cells.label(policy) for policy in POLICIES),
        ecn=kernel_cells.label(ECN),
        abc=kernel_cells.label(ABC),
        seeds=SEEDS,
        measured_s=DURATION_S - WARMUP_S,
        live_s=LIVE_S - LIVE_WARMUP_S,
        live_repeats=options.live_repeats,
    )
    print(kernel_document.lines(measured))
    wrong = [] if options.alone else judged_costs(cost)
    wrong += [f"{case}: not as it must be" for case, ok in same.items() if not ok]
    for line in wrong:
        print(f"does not hold: {line}")
    ecn = {
        str(hops): kernel_cells.ecn_holds(found)
        for (hops, tcp, policy), found in over["kernel"].items()
        if tcp == "cubic" and policy == measured.ecn and hops in kernel_cells.ECN_HOPS
    }
    if options.document:
        (kernel_document.rewrite if options.alone else kernel_document.write)(measured, DOCUMENT)
    print_result(
        "bench-kernel",
        {
            "target": "bench-kernel",
            "quick": options.quick,
            "alone": options.alone,
            **cost,
            "identical": same,
            "rows": kernel_cells.table(places, TCPS),
            "gains": {place: as_json(found) for place, found in over.items()},
            "exact_bps": {str(hops): round(value.value) for hops, value in measured.exact.items()},
            "conditions": kernel_conditions_document.as_json(conditions),
            "ecn_by_service_time": ecn,
            "abc": kernel_cells.beside(places["kernel"], "cubic", measured.abc),
            "of_airtime_bound": kernel_cells.of_airtime_bound(places),
            "within_live_spread": kernel_cells.within_live(places),
            "live": why_no_live or "whole",
            "load_average": round(load, 2),
            "settings": options.set,
            "version": paths.version()["git"],
            "run_s": round(time.monotonic() - begun, 1),
            "does_not_hold": wrong,
            "ok": not wrong,
        },
        options.out if options.quick else None,
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
