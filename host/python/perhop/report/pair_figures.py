# SPDX-License-Identifier: GPL-2.0-or-later
"""Plots of two sides: differences with their intervals, the pairs themselves, and both sides over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl

from perhop.report import figures
from perhop.study.summaries import Mean


@dataclass(frozen=True)
class Reach:
    """A value with its interval, which is None where there is none, and what it is of."""

    label: str
    value: float
    low: float | None
    high: float | None


def reaches_figure(panels: Sequence[tuple[str, str, Sequence[Reach]]]) -> figures.Panels:
    """A panel (title, unit, values) each: a point and its interval a line, beside a line at zero."""
    shown = []
    for title, unit, reaches in panels:
        wrapped = [figures.wrapped(reach.label) for reach in reaches]
        rows = sum(1.4 + label.count("\n") for label in wrapped)
        with mpl.rc_context(figures.RC):
            figure, axis = figures.panel_figure((figures.PANEL_SIZE[0], max(1.6, 0.8 + 0.2 * rows)))
            axis.axvline(0, color="#5B6673", linewidth=1)
            for at, reach in enumerate(reaches):
                ends = [(reach.value - reach.low, reach.high - reach.value)] if _has_ends(reach) else None
                axis.errorbar(
                    [reach.value],
                    [at],
                    xerr=list(zip(*ends, strict=True)) if ends else None,
                    color=figures.COLOURS[0],
                    marker=figures.MARKERS[0],
                    markersize=5.5,
                    linewidth=1.8,
                    capsize=3,
                )
            axis.grid(axis="y", visible=False)
            axis.set_yticks(range(len(wrapped)), wrapped)
            axis.set_ylim(len(wrapped) - 0.4, -0.6)
            axis.margins(x=0.12)
            axis.set_xlabel(unit)
            told = "; ".join(f"{reach.label} {reach.value:.3g}" for reach in reaches)
            label = f"{title} in {unit} with intervals: {told}. All are in the table."
            rows = [[reach.label, reach.value, reach.low, reach.high] for reach in reaches]
            head = ["of", f"{title} in {unit}", "from", "to"]
            shown.append(figures.panel(figure, title, unit, label, [head, *rows]))
    return figures.Panels(shown, [])


def _has_ends(reach: Reach) -> bool:
    return reach.low is not None and reach.high is not None


def pairs_figure(
    panels: Sequence[tuple[str, str, Sequence[tuple[float, float]]]], names: tuple[str, str]
) -> figures.Panels:
    """A panel (title, unit, pairs) each: a line joins what both sides got with one seed; bars are the means."""
    shown = []
    for title, unit, pairs in panels:
        with mpl.rc_context(figures.RC):
            figure, axis = figures.panel_figure(figures.SMALL_PANEL_SIZE)
            for pair in pairs:
                axis.plot([0, 1], pair, color="#9AA5B1", linewidth=1.2, marker=".", markersize=6)
            for at in (0, 1):
                middle = sum(pair[at] for pair in pairs) / len(pairs)
                axis.plot([at - 0.18, at + 0.18], [middle, middle], color=figures.COLOURS[at], linewidth=3)
            axis.set_xlim(-0.5, 1.5)
            axis.set_xticks([0, 1], [figures.wrapped(name) for name in names])
            axis.grid(axis="x", visible=False)
            axis.margins(y=0.12)
            label = f"{title} in {unit} of each seed's pair of runs, {names[0]} on the left, {names[1]} on the right."
            head = [f"{name}, {title} in {unit}" for name in names]
            shown.append(figures.panel(figure, title, unit, label, [head, *pairs]))
    legend = [(figures.area_sign("#9AA5B1"), "the runs of one seed")]
    legend += [(figures.area_sign(figures.COLOURS[at]), f"mean: {names[at]}") for at in (0, 1)]
    return figures.Panels(shown, legend, small=True)


def over_time_figure(
    title: str,
    edges_s: Sequence[tuple[float, float]],
    lines: Sequence[tuple[str, Sequence[Mean]]],
    apart: Sequence[Mean],
    warmup_s: float,
) -> figures.Panels:
    """Goodput by interval, with bands for the 95 % intervals: of each side, and of their difference. In kb/s."""
    shown = []
    middles = [(start + end) / 2 for start, end in edges_s]
    panels = [
        (f"Goodput{title}", [(figures.COLOURS[at], name, means) for at, (name, means) in enumerate(lines)]),
        (f"Difference{title}", [(figures.COLOURS[2], f"{lines[1][0]} less {lines[0][0]}", apart)]),
    ]
    for heading, drawn in panels:
        with mpl.rc_context(figures.RC):
            figure, axis = figures.panel_figure(figures.PANEL_SIZE)
            if warmup_s > edges_s[0][0]:
                axis.axvspan(edges_s[0][0], min(warmup_s, edges_s[-1][1]), color="#E6EAEE", linewidth=0)
            if drawn[0][2] is apart:
                axis.axhline(0, color="#5B6673", linewidth=1)
            for light, _, means in drawn:
                values = [mean.value / 1e3 for mean in means]
                low, high = ([mean.value / 1e3 + sign * mean.half / 1e3 for mean in means] for sign in (-1, 1))
                axis.fill_between(middles, low, high, color=light, alpha=0.2, linewidth=0)
                axis.plot(middles, values, color=light, linewidth=1.8)
            axis.set_xlabel("time in s")
            axis.set_xlim(edges_s[0][0], edges_s[-1][1])
            names = " and ".join(name for _, name, _ in drawn)
            label = f"{heading} in kb/s over time of {names}, means over seeds. The numbers are in over_time.parquet."
            rows = [
                [name, start_s, end_s, *figures.mean_cells(mean, 1e-3)]
                for _, name, means in drawn
                for (start_s, end_s), mean in zip(edges_s, means, strict=True)
            ]
            head = ["line", "from s", "to s", f"{heading} in kb/s", "half of its 95 % interval"]
            shown.append(figures.panel(figure, heading, "kb/s", label, [head, *rows]))
    legend = [(figures.area_sign(light), name) for _, drawn in panels for light, name, _ in drawn]
    if warmup_s > edges_s[0][0]:
        legend.append((figures.area_sign("#E6EAEE"), "left out of all other numbers: warm-up"))
    return figures.Panels(shown, legend)
