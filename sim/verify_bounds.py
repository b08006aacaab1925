# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares every run in folders of results with the bound of its reception rule (docs/airtime_bound.md).

Reads run.json and result.json of each finished run, as `perhop reproduce` and `perhop run` leave them, and makes none.
Names the runs that exceed their bound and those that come closest. Exits with 1 when one exceeds it, when the bound of
one cannot be found, or when there is no run.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from perhop import paths
from perhop.bound import runs
from perhop.report.result_line import print_result

CLOSEST = 5
# A run that carried less than this part of its bound is not told among the closest, and its bound not to its end.
FAR_BELOW = 0.8
TOLD_EVERY_S = 10
# What `make reproduce`, `perhop reproduce --full`, `make bench-bound`, `make bench-robust` and `make chain` leave.
USUAL = ("reproduce", "reproduce-full", "bench-bound", "bench-robust", "chain")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    usual = ", ".join(f"out/{name}" for name in USUAL)
    parser.add_argument("folders", nargs="*", type=Path, help=f"folders of results; those of {usual} unless said")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that solve (default: one a core)")
    options = parser.parse_args()
    folders = options.folders or [paths.output() / name for name in USUAL]
    start_s = time.monotonic()
    measured, skipped = read(folders)
    bounds = solve(measured.values(), options.jobs)
    unsolved = {place: error for place, run in measured.items() if isinstance(error := bounds[run.question], str)}
    judged = [run.beside(bound) for run in measured.values() if isinstance(bound := bounds[run.question], float)]
    over = [one for one in judged if one.exceeds]
    closest = sorted((one for one in judged if one.share > FAR_BELOW), key=lambda one: one.share, reverse=True)[
        :CLOSEST
    ]
    for place, error in unsolved.items():
        print(f"without a bound: {place}: {error}")
    for one in over:
        print(f"above its bound: {one}")
    for one in closest:
        print(f"closest: {one}")
    if not measured:
        print(
            f"verify-bounds: no finished run in {', '.join(map(str, folders))}: make reproduce first, or name a folder"
        )
    passed = bool(judged) and not over and not unsolved
    print_result(
        "verify-bounds",
        {
            "target": "verify-bounds",
            "runs": len(judged),
            "runs_without_rule": skipped,
            "runs_above_bound": len(over),
            "runs_unsolved": len(unsolved),
            "bounds": len(bounds),
            "runs_far_below": sum(one.share <= FAR_BELOW for one in judged),
            "largest_share": round(closest[0].share, 4) if closest else None,
            "run_s": round(time.monotonic() - start_s, 1),
            "ok": passed,
        },
    )
    return 0 if passed else 1


def read(folders: Sequence[Path]) -> tuple[dict[Path, runs.Measured], int]:
    """What each run carried, by its folder, and how many runs no bound applies to."""
    measured: dict[Path, runs.Measured] = {}
    skipped = 0
    seen: set[str] = set()
    for folder in folders:
        for place, config, result in runs.runs_below(folder):
            # Results that two folders share are one run.
            if place.name in seen:
                continue
            seen.add(place.name)
            one = runs.measure(config, result)
            skipped += one is None
            if one:
                measured[place] = one
    return measured, skipped


def solve(measured: Iterable[runs.Measured], jobs: int) -> dict[str, float | str]:
    """The bound of each question, or why none was found; of one far above all that its runs carried, a part."""
    enough_bps: dict[str, float] = {}
    for run in measured:
        enough_bps[run.question] = max(enough_bps.get(run.question, 0.0), run.goodput_bps / FAR_BELOW)
    solved: dict[str, float | str] = {}
    # Long questions are those of many flows, which take minutes: they come first, so that no process waits at the end.
    ordered = sorted(enough_bps, key=lambda question: (-len(question), question))
    print(f"{len(ordered)} bounds to find", flush=True)
    told_s = time.monotonic()
    with ProcessPoolExecutor(max(1, min(jobs, len(ordered)))) as pool:
        bounds = pool.map(runs.answer_or_reason, ordered, [enough_bps[question] for question in ordered])
        for question, bound in zip(ordered, bounds, strict=True):
            solved[question] = bound
            if time.monotonic() - told_s > TOLD_EVERY_S:
                told_s = time.monotonic()
                print(f"  {len(solved)} of {len(ordered)}", flush=True)
    return solved


if __name__ == "__main__":
    sys.exit(main())
