# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 5 of paper 001: with five flows the delay window acts as with one (row D-13)."""

from __future__ import annotations

import itertools
from pathlib import Path

from perhop.checks import STANDARD, best, draw_windows, mean_of, percent, window_of, window_table, window_word
from perhop.results import Results
from perhop.rows import by_seed, gain
from perhop.studies import Check, RowVerdict

WHOLE = "dca cwnd no resend"
FALL_AT_MOST = 0.02


def check(results: Results | None, folder: Path) -> Check:
    """h = 3: never falls by more than 2 % as w grows. h = 4, 5: w = cwnd no worse than 1. Beyond: best w in 3..6."""
    assert results is not None
    cells = by_seed(results)
    all_hops = sorted({hops for hops, _ in cells})
    policies = list(dict.fromkeys(policy for _, policy in cells))
    curves = {hops: {policy: mean_of(cells[hops, policy]) for policy in policies} for hops in all_hops}
    wrong, shapes = [], []
    for hops, rates in curves.items():
        whole, top = gain(cells[hops, WHOLE], cells[hops, STANDARD]), best(rates)
        shapes.append(f"h = {hops}: best w {window_word(top)}, cwnd {percent(whole)}")
        if hops <= 3:
            steps = [gain(cells[hops, after], cells[hops, before]) for before, after in itertools.pairwise(policies)]
            # A step down counts when the seeds can tell that it is larger than the noise allows.
            holds = not any(step.value + step.half < -FALL_AT_MOST for step in steps)
        elif hops <= 5:
            holds = whole.value >= 0
        else:
            holds = (window_of(top) or 99) in range(3, 7)
        if not holds:
            wrong.append(hops)
    measured = "; ".join(shapes) + (f". Not as stated at h = {', '.join(map(str, wrong))}" if wrong else "")
    row = RowVerdict("fail" if wrong else "pass", measured)
    named = {f"{hops} hops": rates for hops, rates in curves.items()}
    figure = folder / "D-13_fig5.svg"
    draw_windows(figure, "Fig. 5: five flows, all together", named, policies)
    return Check(not wrong, window_table(named, policies), {}, [figure], {"D-13": row})
