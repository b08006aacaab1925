# SPDX-License-Identifier: GPL-2.0-or-later
"""Colours for how much: the steps of heat maps and of maps, with their legend."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from perhop.report import figures

# From little to much: what heat maps and maps show, and the ink on it.
COLOURS = ("#edf8e4", "#c7e9b4", "#7fcdbb", "#41b6c4", "#24709f", "#253494")
INKS = ("#1b232c", "#1b232c", "#1b232c", "#1b232c", "#ffffff", "#ffffff")


def short(value: float) -> str:
    """Three significant digits, and all digits before the point."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def steps_of(values: Sequence[float]) -> list[float]:
    """The upper ends of the steps of COLOURS, which share what lies between the least and the largest value."""
    low, high = min(values), max(values)
    return [low + (high - low) * (step + 1) / len(COLOURS) for step in range(len(COLOURS))]


def step_of(value: float, steps: Sequence[float]) -> int:
    """The step of a value."""
    return min(sum(value > step for step in steps[:-1]), len(steps) - 1)


def legend(values: Sequence[float], unit: str) -> list[tuple[Markup, str]]:
    """What each colour stands for."""
    steps = steps_of(values)
    if steps[0] == steps[-1]:
        return [(figures.area_sign(COLOURS[0]), f"{short(steps[0])} {unit}")]
    ends = [min(values), *steps]
    return [
        (figures.area_sign(light), f"{short(ends[step])} to {short(ends[step + 1])} {unit}")
        for step, light in enumerate(COLOURS)
    ]
