# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares every run in folders of results with the bound of its reception rule (docs/airtime_bound.md).

Reads run.json and result.json of each finished run, as `perhop reproduce` and `perhop run` leave them, and makes none.
Names the runs that exceed their bound and those that come closest. Exits with 1 when one exceeds it, when the bound of
one cannot be found, or when there is no run.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from perhop import paths
from perhop.bound import runs
from perhop.report.result_line import print_result

CLOSEST = 5
# What `make reproduce`, `perhop reproduce --full`, `make bench-bound` and `make chain` leave.
USUAL = ("reproduce", "reproduce-full", "bench-bound", "chain")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    usual = ", ".join(f"out/{name}" for name in USUAL)
    parser.add_argument("folders", nargs="*", type=Path, help=f"folders of results; those of {usual} unless said")
    options = parser.parse_args()
    folders = options.folders or [paths.output() / name for name in USUAL]
    start_s = time.monotonic()
    judged, skipped = [], 0
    unsolved: list[Path] = []
    seen: set[str] = set()
    for folder in folders:
        for place, config, result in runs.runs_below(folder):
            # Results that two folders share are one run.
            if place.name in seen:
                continue
            seen.add(place.name)
            try:
                one = runs.judge(config, result)
            except ArithmeticError as error:
                unsolved.append(place)
                print(f"without a bound: {place}: {error}")
                continue
            skipped += one is None
            judged += [one] if one else []
    over = [one for one in judged if one.exceeds]
    closest = sorted(judged, key=lambda one: one.share, reverse=True)[:CLOSEST]
    for one in over:
        print(f"above its bound: {one}")
    for one in closest:
        print(f"closest: {one}")
    if not judged:
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
            "largest_share": round(closest[0].share, 4) if closest else None,
            "run_s": round(time.monotonic() - start_s, 1),
            "ok": passed,
        },
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
