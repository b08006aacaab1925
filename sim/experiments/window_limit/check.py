# SPDX-License-Identifier: GPL-2.0-or-later
"""The limit caps the window at every event, and leaves TCP alone below (row B-01)."""

from __future__ import annotations

import json
from pathlib import Path

from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

UNREACHED = "cwl 44"  # TCP's own window here


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
    limited = sum(row["policy"] != "no limit" for row in results.flows)
    measured = (
        f"{limited} runs with a limit: never more packets in flight when a segment left, just as many in {reached}; "
        f"{len(hashes)} runs with a limit that TCP's own window never reaches: every transmission as without"
    )
    row = RowVerdict("fail", "; ".join(wrong[:5])) if wrong else RowVerdict("pass", measured)
    return Check(not wrong, [f"B-01: {row.measured}: {row.verdict}"], rows={"B-01": row})
