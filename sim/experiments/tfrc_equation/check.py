# SPDX-License-Identifier: GPL-2.0-or-later
"""TFRC's equation and loss interval estimator against the vectors of paper 002 and RFC 5348 (rows X-01, X-02)."""

from __future__ import annotations

from pathlib import Path

from perhop.study import exact_studies
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

PROGRAMS = (exact_studies.PROGRAM,)
# Bytes per second for s = 1000 B, R = 0.2 s, p = 0.001, 0.01, 0.05, 0.1.
RATES = {"paper": (191495, 55027, 17036, 7793), "rfc5348": (191922, 56166, 18429, 8851)}
WEIGHTS = (1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2)
INTERVALS = (80, 70, 60, 50, 40, 30, 20, 10)  # newest first
RUNNING = 1000


def check(results: Results | None, folder: Path) -> Check:
    """Rates to the byte, means to rounding."""
    found = exact_studies.run("tfrc")["tfrc"]
    rate_error = max(
        abs(got - wanted)
        for profile, rates in RATES.items()
        for got, wanted in zip(found["rates"][profile], rates, strict=True)
    )
    mean = sum(w * i for w, i in zip(WEIGHTS, INTERVALS, strict=True)) / sum(WEIGHTS)
    shifted = sum(w * i for w, i in zip(WEIGHTS, (RUNNING, *INTERVALS[:-1]), strict=True)) / sum(WEIGHTS)
    errors = [
        *(abs(got - wanted) for got, wanted in zip(found["weights"], WEIGHTS, strict=True)),
        abs(found["mean"] - mean),
        abs(found["mean_running_1000"] - shifted),
    ]
    discounted = found["mean_running_1000_discounted"]
    holds = max(errors) < 1e-9 and discounted > found["mean_running_1000"]
    rows = {
        "X-01": RowVerdict(
            "pass" if rate_error <= 0.5 else "fail",
            f"8 vectors, largest difference {rate_error:.2f} B/s (they are whole numbers)",
        ),
        "X-02": RowVerdict(
            "pass" if holds else "fail",
            f"weights and means differ by at most {max(errors):.1e}; a long run "
            f"without loss gives {found['mean_running_1000']:.1f} "
            f"packets, with RFC 5348's discounting (off in the paper's profile) {discounted:.1f}",
        ),
    }
    return Check(
        all(row.verdict == "pass" for row in rows.values()),
        [f"{k}: {v.measured}" for k, v in rows.items()],
        found,
        rows=rows,
    )
