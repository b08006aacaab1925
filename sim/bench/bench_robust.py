# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the combined policy away from home: in each of many conditions, against each of its rivals at its best.

robust/conditions.py has the conditions, robust/rivals.py the rivals, robust/judgement.py what must hold. Exits with 1
when something does not, or when a run has more goodput than its airtime bound. What has been run is kept in
out/bench-robust, so that it goes on where it was interrupted; rivals with several candidates are tuned first, with
seeds of their own. --document also writes docs/robustness.md, after all conditions of a grade. Machine time of two
cores with nothing else to do: 12 min at quick grade, 2.5 h in full.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.errors import PerhopError
from perhop.report.result_line import print_result
from robust import document, judgement
from robust.conditions import Condition, all_conditions, chosen
from robust.judged import FULL, QUICK, Grade, Judged
from robust.runner import Runner

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out/bench-robust"
DOCUMENT = ROOT / "docs/robustness.md"


def line(judged: Judged) -> str:
    """One condition for a person."""
    verdict, rival = judged.verdict, judged.verdict.rival
    ours = verdict.combined
    name = judged.name_of(verdict.best)
    failed = "" if verdict.holds else f"  DOES NOT HOLD: {', '.join(verdict.failed)}"
    if verdict.better_in_both:
        failed += f" ({', '.join(judged.name_of(each) for each in verdict.better_in_both)})"
    return (
        f"{judged.condition.name:<13} {ours.goodput_bps.value / 1e3:7.1f} kb/s {ours.rtt_ms.value:5.0f} ms   "
        f"{name:<16} {rival.goodput_bps.value / 1e3:7.1f} {rival.rtt_ms.value:5.0f}   "
        f"goodput {_ratio(verdict.goodput_ratio)}  round trip {_ratio(verdict.rtt_ratio)}  "
        f"Jain {ours.jain.value:.2f} {rival.jain.value:.2f}{failed}"
    )


def _ratio(value: Any) -> str:
    return f"{value.value:.3f} ± {value.half:.3f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="4, 6, 8 and 15 hops, five or ten seeds of 95 s")
    parser.add_argument("--only", action="append", default=[], metavar="CONDITION", help="a family, a name, sinr-*")
    parser.add_argument("--list", action="store_true", help="say which conditions there are, and run nothing")
    parser.add_argument("--fresh", action="store_true", help="forget runs made before")
    parser.add_argument("--jobs", type=int, default=None, help="runs at a time; all cores unless said")
    parser.add_argument("--out", type=Path, default=OUT, help="where runs go")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="change a field for once")
    parser.add_argument(
        "--rivals-build",
        type=Path,
        metavar="FOLDER",
        help="keep rivals' runs that this older build made, after a change of the combined policy alone",
    )
    parser.add_argument("--document", action="store_true", help="also write docs/robustness.md")
    options = parser.parse_args()
    grade = QUICK if options.quick else FULL
    try:
        conditions = chosen(all_conditions(options.quick), options.only)
        if options.list:
            for condition in conditions:
                print(f"{condition.name:<13} {condition.title}")
            return 0
        if options.document and (options.only or options.set):
            raise PerhopError("--document wants all conditions as they are", "leave out --only and --set")
        return bench(options, grade, conditions)
    except PerhopError as error:
        print(f"bench-robust: {error}", file=sys.stderr)
        return 2


def bench(options: argparse.Namespace, grade: Grade, conditions: list[Condition]) -> int:
    start_s = time.monotonic()
    runner = Runner(grade, options.out / grade.name, options.jobs, options.fresh, options.set)
    runner.rivals_build = options.rivals_build
    judged = []
    for number, condition in enumerate(conditions, 1):
        judged.append(runner.judged(condition))
        print(f"[{number}/{len(conditions)}] {line(judged[-1])}", flush=True)
    return finish(judged, grade, options, time.monotonic() - start_s, runner.repeated)


def finish(judged: list[Judged], grade: Grade, options: argparse.Namespace, run_s: float, repeated: int = 0) -> int:
    """Say what holds over all. Returns the exit status."""
    verdicts = [each.verdict for each in judged]
    median = judgement.median_rtt_ratio(verdicts)
    median_holds = median <= judgement.MOST_MEDIAN_ROUND_TRIP_RATIO
    above = [run for each in judged for run in each.above_bound]
    failed = [each.condition.name for each in judged if not each.verdict.holds]
    print(f"holds in {len(judged) - len(failed)} of {len(judged)} conditions; not in: {', '.join(failed) or 'none'}")
    print(
        f"median of the round-trip ratios: {median:.3f}, at most {judgement.MOST_MEDIAN_ROUND_TRIP_RATIO}"
        + ("" if median_holds else "  DOES NOT HOLD")
    )
    for run in above:
        print("ABOVE THE BOUND: {condition} {policy}, seed {seed}: {goodput_bps} of {bound_bps} b/s".format(**run))
    passed = not failed and median_holds and not above
    if options.document:
        document.write(judged, grade, median, DOCUMENT, repeated)
    print_result(
        "bench-robust",
        {
            "target": "bench-robust",
            "grade": grade.name,
            "simulated_s": grade.duration_s,
            "seeds": list(grade.verdict_seeds),
            "more_seeds": list(grade.more_seeds),
            "tuning_seeds": list(grade.tuning_seeds),
            "settings": options.set,
            "rivals_repeated": repeated,
            "version": paths.version()["git"],
            "run_s": round(run_s, 1),
            "rows": {each.condition.name: {**judgement.as_row(each.verdict), "tuned": each.chosen} for each in judged},
            "failed": failed,
            "median_rtt_ratio": round(median, 4),
            "bound_violations": len(above),
            "above_bound": above,
            "runs_with_a_bound": sum(each.bounds_known for each in judged),
            "ok": passed,
        },
        options.out,
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
