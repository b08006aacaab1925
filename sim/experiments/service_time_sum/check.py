# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads how many completion records each run checked, and that none has parts that do not sum to the whole."""

from __future__ import annotations

import json
from pathlib import Path

from perhop.study.check import Check
from perhop.study.results import Results


def check(results: Results, folder: Path) -> Check:
    """No mismatch in any run, and records to look at in each."""
    lines, checked, mismatches, passed = [], 0, 0, True
    for run, label in {row["run"]: row["label"] for row in results.flows}.items():
        result = json.loads((folder / "runs" / run / "result.json").read_text(encoding="utf-8"))
        lines.append(
            f"{label}: {result['completions_checked']:,} records checked, {result['sum_mismatches']} do not sum"
        )
        checked += result["completions_checked"]
        mismatches += result["sum_mismatches"]
        passed &= result["completions_checked"] > 0
    return Check(passed and mismatches == 0, lines, {"records_checked": checked, "records_that_do_not_sum": mismatches})
