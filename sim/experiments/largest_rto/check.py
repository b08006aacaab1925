# SPDX-License-Identifier: GPL-2.0-or-later
"""With a largest retransmission timeout TCP is back within it after a break, however long that was (row B-22)."""

from __future__ import annotations

from pathlib import Path

from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

CUT_S, BACK_S = 10, 30
BOUND_MS = 2000
INTERVAL_S = 0.1  # in which a delivery is seen


def check(results: Results | None, folder: Path) -> Check:
    """No run with the bound is silent for longer once the link is back, and its timer expires as often meanwhile."""
    assert results is not None
    silences: dict[float, list[float]] = {}
    few = []
    for row in results.flows:
        bound_ms = float(row["sweep.flows.0.max_rto_ms"])
        silences.setdefault(bound_ms, []).append(silence_s(results, row["run"]))
        if bound_ms == BOUND_MS and row["timeouts"] < (BACK_S - CUT_S) * 1000 / BOUND_MS:
            few.append(row["label"])
    bounded = max(silences[BOUND_MS])
    free = max(max(values) for bound_ms, values in silences.items() if bound_ms != BOUND_MS)
    holds = not few and bounded <= BOUND_MS / 1000 + 2 * INTERVAL_S < free
    measured = (
        f"after a break of {BACK_S - CUT_S} s TCP is silent for at most {bounded:.1f} s with a largest timeout of 2 s, "
        f"for up to {free:.1f} s with 60 s, in {len(silences[BOUND_MS])} seeds"
    )
    row = RowVerdict("pass" if holds else "fail", measured)
    return Check(holds, [f"B-22: {measured}: {row.verdict}"], rows={"B-22": row})


def silence_s(results: Results, run: str) -> float:
    """From the link's return to the end of the first interval that delivers; the rest of the run if none does."""
    rows = [row for row in results.intervals if row["run"] == run and row["t_start_s"] >= BACK_S - INTERVAL_S / 2]
    heard = [row["t_end_s"] for row in rows if row["goodput_bps"] > 0]
    return (heard[0] if heard else rows[-1]["t_end_s"]) - BACK_S
