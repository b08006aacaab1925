# SPDX-License-Identifier: GPL-2.0-or-later
"""Without RTS/CTS for TCP ACKs, as on the test-bed of paper 001, fewer TCP ACKs gain less (row D-12)."""

from __future__ import annotations

from pathlib import Path

from perhop.reproduce.checks import STANDARD, draw_windows, mean_of, percent, window_table
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import by_seed, gain

WHOLE = "dca cwnd no resend"
ALWAYS, ONLY_DATA = 0, 256


def check(results: Results | None, folder: Path) -> Check:
    """Gain of w = cwnd over w = 1: larger with RTS for TCP ACKs than without; without it w = 1 is faster."""
    assert results is not None
    cells = by_seed(results)
    all_hops = sorted({hops for hops, _, _ in cells})
    policies = list(dict.fromkeys(policy for _, policy, _ in cells))
    gains = {
        (hops, threshold): gain(cells[hops, WHOLE, threshold], cells[hops, STANDARD, threshold])
        for hops in all_hops
        for threshold in (ALWAYS, ONLY_DATA)
    }
    smaller = all(gains[hops, ALWAYS].value > gains[hops, ONLY_DATA].value for hops in all_hops)
    faster = all(
        mean_of(cells[hops, STANDARD, ONLY_DATA]).value > mean_of(cells[hops, STANDARD, ALWAYS]).value
        for hops in all_hops
    )
    measured = "; ".join(
        f"h = {hops}: {gains[hops, ALWAYS].value:+.1%} with it, {gains[hops, ONLY_DATA].value:+.1%} without"
        for hops in all_hops
    )
    measured = f"gain with and without RTS/CTS for TCP ACKs: {measured}"
    interval = "; ".join(f"{percent(gains[hops, ALWAYS])}, {percent(gains[hops, ONLY_DATA])}" for hops in all_hops)
    row = RowVerdict("pass" if smaller and faster else "fail", measured, interval)
    curves = {
        f"{hops} hop{'s' * (hops > 1)}, {'RTS always' if threshold == ALWAYS else 'RTS for data only'}": {
            policy: mean_of(cells[hops, policy, threshold]) for policy in policies
        }
        for hops in all_hops
        for threshold in (ALWAYS, ONLY_DATA)
    }
    figure = folder / "D-12_test_bed.svg"
    draw_windows(figure, "Fig. 3, 4: TCP ACKs with and without RTS/CTS", curves, policies)
    return Check(row.verdict == "pass", window_table(curves, policies), {}, [figure], {"D-12": row})
