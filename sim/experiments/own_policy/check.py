# SPDX-License-Identifier: GPL-2.0-or-later
"""A policy in a Python file makes the transmissions of the one that it copies; another one is another policy."""

from __future__ import annotations

from pathlib import Path

from perhop.study.check import Check
from perhop.study.results import Results

COPIED, COPY, OTHER = "hop", "limits.py:ByHops", "limits.py:Waiting"


def check(results: Results | None, folder: Path) -> Check:
    """To the microsecond, by the hashes of all transmissions."""
    assert results is not None
    hashes: dict[tuple[int, int], dict[str, str]] = {}
    for row in results.runs:
        hashes.setdefault((row["hops"], row["seed"]), {})[row["policy"]] = row["trace_hash"]
    alike = [key for key, by_policy in hashes.items() if by_policy[COPY] == by_policy[COPIED]]
    own = [key for key, by_policy in hashes.items() if by_policy[OTHER] not in (by_policy[COPIED], by_policy["delay"])]
    return Check(
        len(alike) == len(hashes) and len(own) * 2 > len(hashes),
        [
            f"{COPY} in Python and {COPIED}: the same transmissions in {len(alike)} of {len(hashes)} pairs of runs",
            f"{OTHER} in Python: transmissions of its own in {len(own)} of {len(hashes)} runs",
        ],
        numbers={"same": len(alike), "pairs": len(hashes)},
    )
