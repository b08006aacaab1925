# SPDX-License-Identifier: GPL-2.0-or-later
"""The limit caps the window at every event, and leaves TCP alone below (row B-01)."""

from __future__ import annotations

import json
from pathlib import Path

from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

UNREACHED = "cwl 44"  # TCP's own window here
LATE_LIMIT = 5  # slow start reaches smaller ones within its first intervals


def check(results: Results | None, folder: Path) -> Check:
    """Never more packets in flight than the limit when a segment leaves; one out of reach changes no transmission."""
    assert results is not None
    wrong, hashes, reached = [], {}, 0
    for row in results.flows:
        key = (row["hops"], row["seed"])
        result = json.loads((folder / "runs" / row["run"] / "result.json").read_text(encoding="utf-8"))
        hashes.setdefault(key, {})[row["policy"]] = result["trace_hash"]
        if row["policy"] == "no limit":
            continue
        limit = int(row["policy"].removeprefix("cwl "))
        if row["max_packets_in_flight"] > limit:
            wrong.append(f"{row['label']}: {row['max_packets_in_flight']:.0f} packets in flight")
        reached += row["max_packets_in_flight"] == limit
    for (hops, seed), by_policy in hashes.items():
        if by_policy[UNREACHED] != by_policy["no limit"]:
            wrong.append(f"h={hops} seed={seed}: {UNREACHED} is another run than without a limit")
        if len(set(by_policy.values())) != len(by_policy) - 1:
            wrong.append(f"h={hops} seed={seed}: limits that should differ do not")
    early = _until_the_limit(results, wrong)
    limited = sum(row["policy"] != "no limit" for row in results.flows)
    measured = (
        f"{limited} runs with a limit: never more packets in flight when a segment left, just as many in {reached}; "
        f"{len(hashes)} runs with a limit that TCP's own window never reaches: every transmission as without; {early} "
        "intervals of 10 ms before a window reaches its limit: as without"
    )
    row = RowVerdict("fail", "; ".join(wrong[:5])) if wrong else RowVerdict("pass", measured)
    return Check(not wrong, [f"B-01: {row.measured}: {row.verdict}"], rows={"B-01": row})


def _until_the_limit(results: Results, wrong: list[str]) -> int:
    """Compares window and goodput with those of the run without a limit until that one's window is near the limit."""
    by_run: dict[str, list[tuple[float | None, float]]] = {}
    for row in results.intervals:
        by_run.setdefault(row["run"], []).append((row["cwnd_packets"], row["goodput_bps"]))
    free = {(row["hops"], row["seed"]): row["run"] for row in results.flows if row["policy"] == "no limit"}
    compared = 0
    for row in results.flows:
        if row["policy"] in ("no limit", UNREACHED):
            continue
        limit = int(row["policy"].removeprefix("cwl "))
        here, there = by_run[row["run"]], by_run[free[row["hops"], row["seed"]]]
        # The window may reach the limit within an interval, so the one before that is the last.
        last = next((index for index, (window, _) in enumerate(there) if (window or 0) > limit - 1), len(there)) - 1
        moves = [(a, b) for a, b in zip(here[: max(last, 0)], there, strict=False) if b[0] is not None]
        compared += len(moves)
        if any(a != b for a, b in moves) or (limit >= LATE_LIMIT and not moves):
            wrong.append(f"{row['label']}: the window does not grow as without a limit")
    return compared
