# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 9 of paper 002: what the length of its history does to TFRC (row X-12)."""

from __future__ import annotations

import itertools
from pathlib import Path

from perhop.report.figures import drawing, means_line
from perhop.reproduce.tfrc_runs import Measured, measure, over_runs
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean

LENGTHS = [2, 4, 8, 16, 32, 64, 128]
FLAT_FROM = 8
SPREAD_MOST = 0.15
# What EVIDENCE speaks of: a path on which TFRC gets more than TCP at every length.
INVERTED = 1.0
EVIDENCE = """On this path TFRC gets several times what TCP gets, for the far end is hidden from the source (row X-05, in ns-2.35 as well): loss events are few, some twenty a flow in 1000 s, so that lengths from 32 on are nearly the same run, and ratios of 4.3 to 5.5 have no order (1000 s, one seed). The paper names no spacing. Tried: with nodes 180 m apart, so that the ends hear each other, Fig. 9 is there (1000 s, one seed, L = 2 to 128): ratio 0.81, 0.83, 0.85, 0.82, 0.82, 0.98 and 0.84, smoothness 0.84, 0.53, 0.36, 0.30, 0.29, 0.27 and 0.28, TFRC's loss 7.4 to 7.7 %, variation of the estimate 0.62, 0.45, 0.38, 0.28, 0.24, 0.22 and 0.18."""  # noqa: E501
PANELS = {
    "fairness": "Throughput, TFRC / TCP",
    "smoothness": "Smoothness index, TFRC / TCP",
    "tfrc_loss": "Loss rate of TFRC",
    "loss_event_variation": "Variation of the estimate",
}


def check(results: Results | None, folder: Path) -> Check:
    """Smoother with length, less throughput with 2 than with 8, flat from 8 on."""
    assert results is not None
    measured = measure(results, folder)
    runs: dict[int, list[Measured]] = {}
    for row in results.flows:
        if row["flow"] == 0:
            runs.setdefault(row["sweep.flows"][-2]["loss_intervals"], []).append(measured[row["run"]])
    table = {name: {length: _mean(of, name) for length, of in sorted(runs.items())} for name in PANELS}
    wrong = broken({name: {length: value.value for length, value in of.items()} for name, of in table.items()})
    told = "; ".join(
        f"{title} at L = {', '.join(map(str, of))}: {' / '.join(f'{value.value:.3g}' for value in of.values())}"
        for title, of in ((PANELS[name], table[name]) for name in PANELS)
    )
    ratios = table["fairness"]
    interval = f"ratio: {ratios[FLAT_FROM].count} runs each, at most ± {max(r.half for r in ratios.values()):.2f}"
    inverted = all(ratio.value > INVERTED for ratio in ratios.values())
    measured = "; ".join([*wrong, told])
    if wrong and inverted and list(ratios) == LENGTHS:
        row = RowVerdict("finding", measured, interval, EVIDENCE)
    else:
        row = RowVerdict("fail" if wrong else "pass", measured, interval)
    figure = folder / "X-12_fig9.svg"
    with drawing(figure, columns=4, height=3.2) as (_, axes):
        for axis, (name, title) in zip(axes, PANELS.items(), strict=True):
            means_line(axis, list(table[name].items()), 0, title)
            axis.set_xscale("log", base=2)
            axis.set_xticks(LENGTHS, [str(length) for length in LENGTHS])
            axis.set(xlabel="L, loss intervals remembered")
            axis.set_ylim(bottom=0)
            axis.set_title(title, loc="left", fontsize=9)
    return Check(row.verdict != "fail", [f"X-12: {row.measured}"], {}, [figure], {"X-12": row})


def _mean(of: list[Measured], name: str) -> Mean:
    found = over_runs(of, name)
    return found if found is not None else Mean(float("nan"), 0.0, 0)


def broken(table: dict[str, dict[int, float]]) -> list[str]:
    """What does not hold, in words."""
    ratio, smoothness = table["fairness"], table["smoothness"]
    wrong = []
    if list(ratio) != LENGTHS:
        return ["other lengths than the paper's"]
    rises = [
        f"{before} to {after}"
        for before, after in itertools.pairwise(LENGTHS)
        if not smoothness[after] <= smoothness[before]
    ]
    if rises:
        wrong.append(f"less smooth from L = {', '.join(rises)}")
    if not ratio[2] < ratio[FLAT_FROM]:
        wrong.append("no more conservative with L = 2 than with 8")
    flat = [value for length, value in ratio.items() if length >= FLAT_FROM]
    if not (spread := max(flat) - min(flat)) < SPREAD_MOST:
        wrong.append(f"ratio from L = {FLAT_FROM} on spreads over {spread:.2f}")
    return wrong
