# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the combined policy with the airtime bound and with each policy of the papers, on chains of 1 to 15 hops.

The runs are those of sim/experiments/airtime_bound, and the same flow under TCP's own delayed TCP ACK (one for every
second segment), for which there is no policy word. Resumes where it was interrupted. Exits with 1 when a claim of the
experiment's check does not hold, or a run exceeds the bound of its reception rule (`perhop.bound.runs`).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from perhop.bound import runs
from perhop.report.result_line import print_result
from perhop.study import studies
from perhop.study.check import load_check
from perhop.study.plan import make_plan
from perhop.study.progress import ProgressView
from perhop.study.results import Results
from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "sim/experiments/airtime_bound"
OUT = ROOT / "out/bench-bound"
DELAYED = ["policies=[none]", "flows.0.tcp_ack_every=2"]
DELAYED_LABEL = "delayed tcp ack"


def run(name: str, overrides: list[str], options: argparse.Namespace, console: Console) -> studies.Finished:
    """Run the experiment, or what is left of it."""
    planned = make_plan(FOLDER, overrides, quick=options.quick, out=options.out / name)
    with ProgressView(console) as view:
        done = studies.run(planned, options.jobs, options.fresh, on_change=view.update, check=False)
    if not done.study.complete:
        raise SystemExit(f"bench-bound: not all runs of {name} finished; start it again to go on")
    return done


def above_bound(*finished: studies.Finished) -> list[runs.Judged]:
    """Every run that got more than its bound."""
    outcomes = [outcome for done in finished for outcome in done.study.outcomes if outcome.result is not None]
    return runs.offenders((outcome.run.config, outcome.result) for outcome in outcomes)


def merged(policies: Results, delayed: Results) -> Results:
    """Both results, the delayed TCP ACK as a policy among the others."""
    renamed = [{**row, "policy": DELAYED_LABEL} for row in delayed.flows]
    return replace(policies, flows=[*policies.flows, *renamed])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the experiment's short form: some hops, two seeds")
    parser.add_argument("--fresh", action="store_true", help="forget runs made before")
    parser.add_argument("--jobs", type=int, default=None, help="runs at a time; all cores unless said")
    parser.add_argument("--out", type=Path, default=OUT, help="where runs and figure go")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="change a field for once")
    options = parser.parse_args()
    console = Console(stderr=True)
    start_s = time.monotonic()
    policies = run("policies", options.set, options, console)
    delayed = run("delayed_tcp_ack", [*options.set, *DELAYED], options, console)
    verdict = load_check(FOLDER / "check.py")(merged(policies.results, delayed.results), options.out)
    over = above_bound(policies, delayed)
    for line in [*verdict.lines, *map(str, over)]:
        print(line)
    passed = verdict.passed and not over
    experiment = policies.plan.points[0].experiment
    print_result(
        "bench-bound",
        {
            "target": "bench-bound",
            "quick": options.quick,
            "simulated_s": experiment.duration_s - experiment.warmup_s,
            "seeds": len(experiment.seeds),
            "reception": experiment.medium.reception,
            "compat": experiment.mac.compat,
            "run_s": round(time.monotonic() - start_s, 1),
            **verdict.numbers,
            "runs_above_bound": len(over),
            "ok": passed,
        },
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
