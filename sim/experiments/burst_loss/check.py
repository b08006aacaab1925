# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures 8 to 11 of paper 001 from their formulas, Fig. 12 from bursts over the gateware: rows D-15 to D-19."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bursts import judge
from model import CONTENTION_WINDOWS, SLOT_US, burst, burst_over, f, pmf
from perhop.report.figures import COLOURS, MARKERS, drawing
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

TOLERANCE = 1e-5
# P(w, h) is stated to four digits.
ROUNDED_TOLERANCE = 1e-4

F = (1.0, 0.999999, 0.999846, 0.998215, 0.991262, 0.972701, 0.935198, 0.871609, 0.777786, 0.656811, 0.519390, 0.379925)
P = (1.0, 0.999999, 0.999845, 0.998060, 0.989339, 0.962331, 0.899970, 0.784422, 0.610112, 0.400728, 0.208134, 0.079075)
P_OVER = {
    (6, 5): 0.9261,
    (7, 5): 0.8099,
    (3, 10): 0.9989,
    (5, 10): 0.9277,
    (6, 10): 0.7643,
    (3, 15): 0.9981,
    (4, 15): 0.9770,
    (5, 15): 0.8793,
}


def check(results: Results | None, folder: Path) -> Check:
    """Every stated value against the formula's, and bursts against the bound."""
    assert results is not None
    distribution = pmf()
    rows = {
        "D-15": _backoff_sum(distribution),
        "D-16": _vector("f", F, [f(n, distribution) for n in range(1, 13)]),
        "D-17": _vector("P", P, [burst(w, distribution) for w in range(1, 13)]),
        "D-18": _over_hops(distribution),
    }
    figures = [folder / "D-15_fig8.svg", folder / "D-16_fig9.svg", folder / "D-17_fig10.svg", folder / "D-18_fig11.svg"]
    _draw(figures, distribution)
    figures.append(folder / "D-19_fig12.svg")
    rows["D-19"], of_bursts = judge(results, figures[-1])
    lines = [*(f"{row}: {verdict.measured}" for row, verdict in rows.items()), *of_bursts]
    return Check(all(row.verdict == "pass" for row in rows.values()), lines, {}, figures, rows)


def _backoff_sum(distribution: np.ndarray) -> RowVerdict:
    slots = np.arange(distribution.size)
    mean = float(slots @ distribution)
    deviation_ms = float(np.sqrt(((slots - mean) ** 2) @ distribution)) * SLOT_US / 1e3
    # A second way to the same: draws are independent, so their means and variances add up.
    sum_of_means = sum((window - 1) / 2 for window in CONTENTION_WINDOWS)
    sum_of_variances = sum((window**2 - 1) / 12 for window in CONTENTION_WINDOWS)
    holds = (
        distribution.size == 4057
        and abs(distribution.sum() - 1) < 1e-12
        and abs(mean - 2028) < 1e-6
        and abs(mean - sum_of_means) < 1e-6
        and abs(deviation_ms - np.sqrt(sum_of_variances) * SLOT_US / 1e3) < 1e-9
        and abs(deviation_ms - 10.79) < 0.005
    )
    measured = (
        f"0..{distribution.size - 1} slots, mean {mean:.6g} slots = {mean * SLOT_US / 1e3:.2f} ms, "
        f"standard deviation {deviation_ms:.2f} ms"
    )
    return RowVerdict("pass" if holds else "fail", measured)


def _vector(name: str, stated: tuple[float, ...], computed: list[float]) -> RowVerdict:
    worst = max(abs(ours - theirs) for ours, theirs in zip(computed, stated, strict=True))
    ends = f"{name}(3) = {computed[2]:.6f}, {name}(6) = {computed[5]:.6f}, {name}(12) = {computed[11]:.6f}"
    return RowVerdict(
        "pass" if worst <= TOLERANCE else "fail", f"{ends}; largest difference of the 12 values {worst:.1e}"
    )


def _over_hops(distribution: np.ndarray) -> RowVerdict:
    worst = max(abs(burst_over(*key, distribution) - stated) for key, stated in P_OVER.items())
    above = [w for w in range(1, 13) if burst_over(w, 5, distribution) > 0.9]
    no_loss = min(burst_over(3, hops, distribution) for hops in range(4, 16))
    holds = worst <= ROUNDED_TOLERANCE and above == list(range(1, 7)) and no_loss > 0.998
    measured = (
        f"5 hops: above 90 % for w up to {max(above)}; w = 3 over 4 to 15 hops at least {no_loss:.4f}; "
        f"largest difference of the 8 values {worst:.1e}"
    )
    return RowVerdict("pass" if holds else "fail", measured)


def _draw(figures: list[Path], distribution: np.ndarray) -> None:
    windows = list(range(1, 13))
    with drawing(figures[0], height=3.4) as (_, (axis,)):
        axis.fill_between(
            np.arange(distribution.size) * SLOT_US / 1e3, distribution, color=COLOURS[0], alpha=0.75, lw=0
        )
        axis.set(xlabel="sum of eight draws, ms", ylabel="probability of a slot count", ylim=(0, None), xlim=(0, 81.2))
        axis.set_title("Fig. 8: how long a hidden node is silent", loc="left")
    for figure, title, values, label in (
        (figures[1], "Fig. 9: packet n of a burst meets a silent node", F, "f(n)"),
        (figures[2], "Fig. 10: a burst of w packets passes a contended hop", P, "P(w)"),
    ):
        function = f if label == "f(n)" else burst
        with drawing(figure, height=3.4) as (_, (axis,)):
            axis.plot(windows, [function(w, distribution) for w in windows], color=COLOURS[0], label="formula")
            axis.plot(windows, values, MARKERS[0], color=COLOURS[1], label="stated")
            axis.set(xlabel=label[2], ylabel=label, xticks=windows, ylim=(0, 1.05))
            axis.set_title(title, loc="left")
            axis.legend(loc="lower left")
    with drawing(figures[3], height=3.8) as (figure, (axis,)):
        for index, hops in enumerate((5, 7, 10, 15)):
            values = [burst_over(w, hops, distribution) for w in windows]
            axis.plot(windows, values, color=COLOURS[index], marker=MARKERS[index], label=f"{hops} hops")
        axis.axhline(0.9, color="#5B6673", lw=0.8, ls=":")
        axis.set(xlabel="w, packets in a burst", ylabel="P(w, h)", xticks=windows, ylim=(0, 1.05))
        axis.set_title("Fig. 11: a burst passes the whole path", loc="left")
        figure.legend(loc="outside lower center", ncols=4)
