# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows S-01 and S-02: the test-bed carries its files in both scenarios, and scenario A is fair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perhop.reproduce.transfers import Contest, contests
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row
from perhop.study.summaries import Mean, mean

FIRST_START_S = 0.1  # the default of a flow
SERVER = 9
STATIONS = {7, 8}
FAIR_LEAST = 0.9  # S-02
MIXES = ("two out", "one each", "two in")
# Of a file alone over one hop at 2 Mb/s: a data packet and its TCP ACK take 9.3 ms there without any back-off.
ONE_HOP_MOST_BPS = 1460 * 8 / 9.3e-3


def check(results: Results | None, folder: Path) -> Check:
    """Every file arrives; over one hop faster than over three, and two files over one hop get the same."""
    assert results is not None
    runs: dict[str, list[Row]] = {}
    for row in results.flows:
        runs.setdefault(row["run"], []).append(row)
    alone = [rows[0] for rows in runs.values() if len(rows) == 1]
    missing = [row["label"] for row in alone if row["completion_s"] is None]
    one_hop, three_hops = (
        [
            _rate_bps(row)
            for row in alone
            if row["completion_s"] and bool({row["src"], row["dst"]} & STATIONS) == station
        ]
        for station in (True, False)
    )
    sound = bool(one_hop and three_hops) and not missing
    sound = sound and max(three_hops) < min(one_hop) and max(one_hop) < ONE_HOP_MOST_BPS

    indices: dict[tuple[str, float], list[float | None]] = {}
    for contest in contests(results, FIRST_START_S):
        if len(contest.ends) == 2:
            indices.setdefault((_mix(contest), contest.swept("wires.0.delay_ms")), []).append(contest.jain)
    jains = {key: _mean(values) for key, values in indices.items()}
    fair = {mix for mix, _ in jains} == set(MIXES) and all(found.value > FAIR_LEAST for found in jains.values())
    least = min(jains.values(), key=lambda found: found.value, default=Mean(0.0, 0.0, 0))
    delays = ", ".join(f"{delay:g}" for delay in sorted({row["sweep.wires.0.delay_ms"] for row in alone}))
    rows = {
        "S-01": RowVerdict(
            "pass" if sound else "fail",
            f"files of 1 and 8 MB to and from a server behind {delays} ms: {_span(one_hop)} kb/s over one hop (A), "
            f"{_span(three_hops)} over three (B); not complete: {len(missing)}",
        ),
        "S-02": RowVerdict(
            "pass" if fair else "fail",
            f"least Jain's index of two files in, two out, one each, at {delays} ms: {least.value:.3f}",
            interval=f"± {least.half:.3f}",
        ),
    }
    lines = [f"{mix}, {delay:g} ms: Jain's index {found.value:.4f}" for (mix, delay), found in sorted(jains.items())]
    lines += [f"not complete: {label}" for label in missing]
    return Check(sound and fair, lines, {"not_complete": len(missing)}, [], rows)


def _rate_bps(row: Row) -> float:
    """Of a file alone: its size over the time that it took."""
    size = 8e6 if "8000000" in str(row["sweep.flows"]) else 1e6
    return size * 8 / row["completion_s"]


def _mix(contest: Contest) -> str:
    return MIXES[sum(src == SERVER for src, _ in contest.ends)]


def _span(rates_bps: Sequence[float]) -> str:
    return f"{min(rates_bps) / 1e3:.0f} to {max(rates_bps) / 1e3:.0f}" if rates_bps else "none"


def _mean(values: list[float | None]) -> Mean:
    found = mean(values)
    return found if found is not None else Mean(0.0, 0.0, 0)
