# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sweep over several fields gave: heat maps for two, small panels of lines for three and more."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.patches import Rectangle

from perhop.experiment.words import swept_word
from perhop.report import figures, heat
from perhop.report.study_tables import plain_name
from perhop.study.summaries import Mean, Summary

# Of more panels than these a page shows the first.
PANELS_MAX = 24
# A value is written into its field where there is room for so many characters.
CHARACTERS_IN_FIELD = 5
FIELDS_INCHES = 3.3

Read = Callable[[Summary], Mean | None]


@dataclass(frozen=True)
class Axis:
    """A swept field with its values, in the order of the file."""

    name: str
    values: list[Any]

    def words(self, value: Any) -> str:
        return str(swept_word(value))

    @property
    def title(self) -> str:
        return plain_name(self.name)

    @property
    def numeric(self) -> bool:
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)


def axes(summaries: Sequence[Summary]) -> list[Axis]:
    """The swept fields with several values: numbers first, then those with the most values."""
    found: dict[str, list[Any]] = {}
    for summary in summaries:
        for name, value in summary.swept.items():
            if value not in found.setdefault(name, []):
                found[name].append(value)
    several = [Axis(name, values) for name, values in found.items() if len(values) > 1]
    return sorted(several, key=lambda axis: (not axis.numeric, -len(axis.values)))


def quantities(summaries: Sequence[Summary]) -> list[tuple[str, str, Read, float]]:
    """Title, unit, how to read it, and its factor."""
    found: list[tuple[str, str, Read, float]] = [
        (figures.goodput_title(summaries), "kb/s", lambda summary: summary.goodput_bps, 1e-3)
    ]
    if any(summary.rtt_ms for summary in summaries):
        found.append(("Round-trip time", "ms", lambda summary: summary.rtt_ms, 1.0))
    return found


def heat_maps(summaries: Sequence[Summary], across: Axis, up: Axis) -> list[figures.Panels]:
    """Of each quantity a panel a policy, in one scale."""
    policies = list(dict.fromkeys(summary.policy for summary in summaries))[:PANELS_MAX]
    groups = []
    for title, unit, read, factor in quantities(summaries):
        means = [mean for summary in summaries if (mean := read(summary)) is not None]
        if not means:
            continue
        values = [mean.value * factor for mean in means]
        shown = [
            _heat_map(
                f"{title}, {policy}" if policy else title,
                unit,
                [summary for summary in summaries if summary.policy == policy],
                across,
                up,
                lambda summary, read=read, factor=factor: m.value * factor if (m := read(summary)) else None,
                heat.steps_of(values),
            )
            for policy in policies
        ]
        groups.append(figures.Panels(shown, heat.legend(values, unit), small=True))
    return groups


def _heat_map(
    title: str,
    unit: str,
    summaries: Sequence[Summary],
    across: Axis,
    up: Axis,
    read: Callable[[Summary], float | None],
    steps: Sequence[float],
) -> figures.Panel:
    with mpl.rc_context(figures.RC):
        height = max(1.7, 0.9 + 0.34 * len(up.values))
        drawing, axis = figures.panel_figure((figures.SMALL_PANEL_SIZE[0], height))
        rows: list[list[object]] = []
        written = len(across.values) * CHARACTERS_IN_FIELD / figures.CHARACTERS_PER_INCH <= FIELDS_INCHES - 0.8
        for summary in summaries:
            value = read(summary)
            x, y = across.values.index(summary.swept[across.name]), up.values.index(summary.swept[up.name])
            if value is None:
                continue
            step = heat.step_of(value, steps)
            axis.add_patch(
                Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=heat.COLOURS[step], edgecolor="#FFFFFF", linewidth=1)
            )
            if written:
                axis.text(x, y, heat.short(value), ha="center", va="center", color=heat.INKS[step])
            rows.append([across.words(summary.swept[across.name]), up.words(summary.swept[up.name]), f"{value:.6g}"])
        axis.set_xlim(-0.5, len(across.values) - 0.5)
        axis.set_ylim(-0.5, len(up.values) - 0.5)
        axis.grid(visible=False)
        labels = [across.words(value) for value in across.values]
        figures.label_below(axis, list(range(len(labels))), labels, figures.SMALL_PANEL_SIZE)
        axis.set_yticks(range(len(up.values)), [figures.wrapped(up.words(value)) for value in up.values])
        axis.set_xlabel(across.title)
        axis.set_ylabel(up.title)
        told = "; ".join(f"{a}, {b}: {value}" for a, b, value in rows)
        label = f"{title} in {unit} by {across.title} and {up.title}: {told}."
        head = [across.title, up.title, f"{title} in {unit}"]
        return figures.panel(drawing, title, unit, label, [head, *rows])


def small_multiples(
    summaries: Sequence[Summary], along: Axis, others: Sequence[Axis]
) -> tuple[list[figures.Panels], int]:
    """Of each quantity a panel for each combination of the other fields, a line a policy, and how many are left out."""
    combinations = list(itertools.product(*(axis.values for axis in others)))
    policies = list(dict.fromkeys(summary.policy for summary in summaries))
    groups = []
    for title, unit, read, factor in quantities(summaries):
        tops = [mean.value * factor for summary in summaries if (mean := read(summary)) is not None]
        shown = [
            _lines(
                ", ".join(f"{axis.title} {axis.words(value)}" for axis, value in zip(others, values, strict=True)),
                (title, unit, factor),
                [s for s in summaries if all(s.swept[a.name] == v for a, v in zip(others, values, strict=True))],
                along,
                policies,
                read,
                max(tops, default=1.0),
            )
            for values in combinations[:PANELS_MAX]
        ]
        legend = [(figures.line_sign(index), policy or "all") for index, policy in enumerate(policies)]
        groups.append(figures.Panels(shown, legend, small=True))
    return groups, max(0, len(combinations) - PANELS_MAX)


def _lines(
    where: str,
    quantity: tuple[str, str, float],
    summaries: Sequence[Summary],
    along: Axis,
    policies: Sequence[str],
    read: Read,
    top: float,
) -> figures.Panel:
    title, unit, factor = quantity
    with mpl.rc_context(figures.RC):
        drawing, axis = figures.panel_figure(figures.SMALL_PANEL_SIZE)
        rows: list[list[object]] = []
        # Words have no distances from each other.
        places = {str(value): float(value) if along.numeric else at for at, value in enumerate(along.values)}
        for index, policy in enumerate(policies):
            points = [
                (places[str(summary.swept[along.name])], mean)
                for summary in summaries
                if summary.policy == policy and (mean := read(summary)) is not None
            ]
            points.sort(key=lambda point: point[0])
            if points:
                figures.means_line(axis, points, index, policy, factor)
            rows += [[policy or "all", f"{at:g}", *figures.mean_cells(mean, factor)] for at, mean in points]
        # One scale for all, or the eye compares what cannot be compared.
        axis.set_ylim(0, top * 1.2 or 1.0)
        at = sorted(places.values())
        labels = [word for word, _ in sorted(places.items(), key=lambda item: item[1])]
        figures.label_below(
            axis, at, [f"{float(w):g}" if along.numeric else w for w in labels], figures.SMALL_PANEL_SIZE
        )
        axis.set_xlabel(along.title)
        name = f"{title}, {where}"
        label = f"{name}, in {unit} by {along.title}, a line each for {'; '.join(p or 'all' for p in policies)}."
        head = ["line", along.title, f"{title} in {unit}", "half of its 95 % interval"]
        return figures.panel(drawing, name, unit, label, [head, *rows])
