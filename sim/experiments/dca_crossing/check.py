# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 7 of paper 001: flows that cross in a cross and in a grid (row D-14)."""

from __future__ import annotations

from pathlib import Path

from perhop.reproduce.checks import STANDARD, best, draw_windows, mean_of, percent, window_of, window_table, window_word
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import by_seed, gain

WHOLE = "dca cwnd no resend"
# As the sweep of experiment.yaml lists them.
CASES = ("cross, 2 hops", "cross, 4 hops", "cross, 6 hops", "cross, 8 hops", "grid, 4 hops")


def check(results: Results | None, folder: Path) -> Check:
    """Beyond 3 hops the best w is neither 1 nor the whole window."""
    assert results is not None
    cells = by_seed(results)
    policies = list(dict.fromkeys(policy for _, policy, _ in cells))
    flows = list(dict.fromkeys(swept for _, _, swept in cells))
    by_case = {
        case: {policy: cell for (_, policy, swept), cell in cells.items() if swept == of}
        for case, of in zip(CASES, flows, strict=True)
    }
    curves = {case: {policy: mean_of(of[policy]) for policy in policies} for case, of in by_case.items()}
    wrong, shapes = [], []
    for case, rates in curves.items():
        top = best(rates)
        top_gain = gain(by_case[case][top], by_case[case][STANDARD])
        whole_gain = gain(by_case[case][WHOLE], by_case[case][STANDARD])
        shapes.append(f"{case}: best w {window_word(top)} ({percent(top_gain)}), cwnd {percent(whole_gain)}")
        if not case.endswith(" 2 hops") and window_of(top) in (1, None):
            wrong.append(case)
    measured = "; ".join(shapes) + (f". Not interior: {', '.join(wrong)}" if wrong else "")
    row = RowVerdict("fail" if wrong else "pass", measured)
    figure = folder / "D-14_fig7.svg"
    draw_windows(figure, "Fig. 7: flows that cross, all together", curves, policies)
    return Check(not wrong, window_table(curves, policies), {}, [figure], {"D-14": row})
