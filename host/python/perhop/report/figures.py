# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's plots: panels of SVG that flow with the page's width, and the figures of checks.

Colours are told apart by colour-blind readers, and markers differ too. Titles and legends are HTML, which wraps. In the
page each colour has a counterpart for dark mode.
"""

from __future__ import annotations

import csv
import html
import io
import itertools
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from perhop import files
from perhop.report.compact_svg import compact
from perhop.study.summaries import Mean, Summary

# Okabe and Ito's palette, without its yellow (too pale on white), and a grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")

# How a legend in HTML shows the markers and the line styles.
MARKER_SIGNS = ("●", "■", "▲", "◆", "▼", "✚", "✖", "⬢")
LINE_STYLES = ("-", "--", ":")
LINE_SIGNS = ("", " ╌", " ┈")

# Each colour that figures use, and what stands for it where the page is dark.
DARK = {
    "#ffffff": "#171c22",
    "#000000": "#e4e9ee",
    "#1b232c": "#e4e9ee",
    "#2b3440": "#d3dbe3",
    "#5b6673": "#a9b6c3",
    "#9aa5b1": "#8996a3",
    "#e6eaee": "#2c353e",
    "#0072b2": "#3f9bd8",
    "#d55e00": "#f0792a",
    "#009e73": "#2fc39a",
    "#cc79a7": "#dd93bb",
    "#e69f00": "#f2b632",
    "#56b4e9": "#93d3f8",
    "#7f7f7f": "#a3a3a3",
    "#08519c": "#2f7fd1",
    "#4292c6": "#62addf",
    "#9ecae1": "#b3d9ee",
    "#fff2b8": "#fff2b8",
    "#fdd465": "#fdd465",
    "#f59331": "#f59331",
    "#bf4b05": "#d65a10",
    "#8e6bb1": "#b797d6",
    "#3d2b4f": "#7b6796",
    # In the dark much is light.
    "#edf8e4": "#26324f",
    "#c7e9b4": "#26426b",
    "#7fcdbb": "#245a82",
    "#41b6c4": "#236c86",
    "#24709f": "#6fd0c0",
    "#253494": "#d3f2c4",
}

# Inches. A panel of the first size is at least 340 pixels wide on the page, one of the second 260.
PANEL_SIZE = (4.5, 3.1)
SMALL_PANEL_SIZE = (3.4, 2.8)
# What labels of the other axis take, and how many characters of a label have room on an inch.
AXIS_MARGIN_INCHES = 0.9
CHARACTERS_PER_INCH = 10
GROUP_LABEL_CHARACTERS = 24

RC = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#5B6673",
    "axes.labelcolor": "#2B3440",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlecolor": "#1B232C",
    "xtick.color": "#5B6673",
    "ytick.color": "#5B6673",
    "axes.grid": True,
    "grid.color": "#E6EAEE",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "perhop",
}


@contextmanager
def drawing(file: Path, columns: int = 1, height: float = 4.2) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure of a check, one panel a column, in this project's style; written to `file` (SVG) at the end."""
    with mpl.rc_context(RC):
        figure = Figure(figsize=(11.2, height), layout="constrained")
        yield figure, list(figure.subplots(1, columns, squeeze=False)[0])
        write_figure(figure, file)


def write_figure(figure: Figure, file: Path) -> None:
    """Write a figure as an SVG file, in few lines and bytes."""
    files.write_text(file, _svg(figure))


def colour(light: str) -> str:
    """A colour of a figure for the page's style, which makes another one of it in dark mode."""
    return f"var({_variable(light)}, {light})" if light.lower() in DARK else light


def _variable(light: str) -> str:
    return "--c-" + light.lower().removeprefix("#")


def dark_style() -> str:
    """What a page, or an SVG by itself, needs for figures in dark mode."""
    names = "".join(f"{_variable(light)}:{dark};" for light, dark in DARK.items())
    # What says no colour, such as the text of a legend, is black.
    return "@media (prefers-color-scheme: dark) { :root { " + names + " } svg { fill:" + DARK["#000000"] + "; } }\n"


def themed(svg: str) -> str:
    """The figure with colours that `dark_style` changes."""
    # An attribute takes no variable; a style does.
    styled = re.sub(r'\b(fill|stroke)="(#[0-9a-fA-F]{6})"', r'style="\1: \2"', svg)
    return re.sub(r"\b(fill|stroke): (#[0-9a-fA-F]{6})", lambda found: f"{found[1]}: {colour(found[2])}", styled)


def inline(svg: str, label: str) -> Markup:
    """The figure as part of a page; `label` says what it shows to those who do not see it."""
    # What nothing refers to would be there several times on a page of several figures.
    whole = re.sub(r' id="[A-Za-z0-9.]+_\d+"', "", themed(svg[svg.index("<svg") :]))
    return Markup(whole.replace("<svg ", f'<svg role="img" aria-label="{html.escape(label)}" ', 1))


@dataclass(frozen=True)
class Panel:
    """A picture with its title and unit, and what it shows as CSV."""

    title: str
    unit: str
    svg: Markup
    csv: str


@dataclass(frozen=True)
class Panels:
    """Panels beside or below each other, as the page has room. `legend` is signs and names."""

    panels: list[Panel]
    legend: list[tuple[Markup, str]]
    small: bool = False


def panel(figure: Figure, title: str, unit: str, label: str, rows: Iterable[Sequence[object]]) -> Panel:
    """@param label what it shows to those who do not see it; @param rows what it shows, the first one the headings"""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return Panel(title, unit, inline(_svg(figure), label), text.getvalue())


def line_sign(index: int) -> Markup:
    """How a legend in HTML shows a line."""
    sign = MARKER_SIGNS[index % len(MARKER_SIGNS)] + LINE_SIGNS[index // len(COLOURS) % len(LINE_SIGNS)]
    return Markup(f'<i aria-hidden="true" style="color:{colour(COLOURS[index % len(COLOURS)])}">{sign}</i>')


def area_sign(light: str, hatched: bool = False) -> Markup:
    """How a legend in HTML shows an area of a colour."""
    kind = "area hatched" if hatched else "area"
    return Markup(f'<i aria-hidden="true" class="{kind}" style="--colour:{colour(light)}"></i>')


def line_style(index: int, points: int) -> dict[str, Any]:
    """How line `index` through so many points looks, with a few markers."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": 5,
        # Those of lines that lie on each other do not.
        "markevery": (index * points // 50 % max(1, points // 6), max(1, points // 6)),
        "linestyle": LINE_STYLES[index // len(COLOURS) % len(LINE_STYLES)],
    }


def wrapped(label: str) -> str:
    """A label beside an axis, in lines that have room there."""
    return "\n".join(textwrap.wrap(label, GROUP_LABEL_CHARACTERS)) or label


def means_line(axis: Axes, points: Sequence[tuple[float, Mean]], index: int, label: str, factor: float = 1.0) -> None:
    """A line through means with their 95 % intervals, in colour and marker `index`."""
    axis.errorbar(
        [x for x, _ in points],
        [mean.value * factor for _, mean in points],
        yerr=[mean.half * factor for _, mean in points] if any(mean.half for _, mean in points) else None,
        label=label,
        color=COLOURS[index % len(COLOURS)],
        marker=MARKERS[index % len(MARKERS)],
        linestyle=LINE_STYLES[index // len(COLOURS) % len(LINE_STYLES)],
        markersize=5.5,
        linewidth=1.8,
        capsize=3,
    )


def lines_figure(summaries: Sequence[Summary], x_name: str, caption: Callable[[Summary], str]) -> Panels:
    """Goodput and, for TCP, RTT and the window limit against `x_name` (`hops` or a swept field); one line a `caption`.

    Error bars are 95 % intervals over seeds.
    """
    panels: list[tuple[str, str, Callable[[Summary], Mean | None], float]] = [
        (goodput_title(summaries), "kb/s", lambda summary: summary.goodput_bps, 1e-3)
    ]
    if any(summary.rtt_ms for summary in summaries):
        panels.append(("Round-trip time", "ms", lambda summary: summary.rtt_ms, 1.0))
    if any(summary.cwnd_packets and summary.cwnd_packets.value for summary in summaries):
        panels.append(("Mean congestion window", "packets", lambda summary: summary.cwnd_packets, 1.0))
    captions = list(dict.fromkeys(caption(summary) for summary in summaries))
    along = x_name.rsplit(".", 1)[-1].replace("_", " ")
    shown = []
    for title, unit, read, factor in panels:
        with mpl.rc_context(RC):
            figure, axis = panel_figure(PANEL_SIZE)
            _lines(axis, summaries, x_name, caption, read, factor)
            axis.set_xlabel(along)
            if read is panels[0][2] and _spans_much(axis):
                _make_logarithmic(axis)
            label = (
                f"{title} in {unit} by {along}, a line each for {'; '.join(captions)}. All numbers are in the table."
            )
            means = [(summary, read(summary)) for summary in summaries]
            rows = [
                [caption(summary), f"{x_value(summary, x_name):g}", *mean_cells(mean, factor)]
                for summary, mean in means
                if mean is not None
            ]
            shown.append(
                panel(
                    figure,
                    title,
                    unit,
                    label,
                    [["line", along, f"{title} in {unit}", "half of its 95 % interval"], *rows],
                )
            )
    return Panels(shown, [(line_sign(index), name) for index, name in enumerate(captions)])


def mean_cells(mean: Mean, factor: float = 1.0) -> list[str]:
    """A mean and half of its interval for a table; no interval of a single value."""
    return [f"{mean.value * factor:.6g}", f"{mean.half * factor:.6g}" if mean.count > 1 else ""]


def panel_figure(size: tuple[float, float]) -> tuple[Figure, Axes]:
    """What is drawn in one panel."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()


def goodput_title(summaries: Sequence[Summary]) -> str:
    return "Goodput, sum of all flows" if any(len(summary.flows) > 1 for summary in summaries) else "Goodput"


def grouped_figure(
    panels: Sequence[tuple[str, str, Sequence[Sequence[Mean | None]], float]],
    labels: Sequence[str],
    names: Sequence[str],
) -> Panels:
    """A panel (title, unit, values[name][label], factor) a quantity: bars in groups by label, a colour a name."""
    beside = [wrapped(label) for label in labels]
    lines = sum(max(len(names), 1 + label.count("\n")) for label in beside)
    shown = []
    for title, unit, values, factor in panels:
        with mpl.rc_context(RC):
            figure, axis = panel_figure((PANEL_SIZE[0], max(2.2, 0.8 + 0.24 * lines)))
            _groups(axis, values, factor, beside, names)
            axis.set_xlabel(unit)
            label = (
                f"{title} in {unit}, bars for {', '.join(names)} at {'; '.join(labels)}. All numbers are in the table."
            )
            rows = [
                [point, name, *mean_cells(mean, factor)]
                for name, line in zip(names, values, strict=True)
                for point, mean in zip(labels, line, strict=True)
                if mean is not None
            ]
            shown.append(
                panel(
                    figure,
                    title,
                    unit,
                    label,
                    [["point", "bar", f"{title} in {unit}", "half of its 95 % interval"], *rows],
                )
            )
    return Panels(shown, [(area_sign(COLOURS[index]), name) for index, name in enumerate(names)])


def _groups(
    axis: Axes, values: Sequence[Sequence[Mean | None]], factor: float, labels: Sequence[str], names: Sequence[str]
) -> None:
    thickness = 0.8 / len(names)
    for index, line in enumerate(values):
        places = [at + (index - (len(names) - 1) / 2) * thickness for at in range(len(labels))]
        axis.barh(
            places,
            [mean.value * factor if mean else 0.0 for mean in line],
            xerr=[mean.half * factor if mean else 0.0 for mean in line],
            height=0.9 * thickness,
            color=COLOURS[index],
            ecolor="#2B3440",
            capsize=2,
        )
    # A wide interval may leave the plot; the means are what it is scaled for.
    means = [mean.value * factor for line in values for mean in line if mean]
    axis.set_xlim(0, max(means, default=1.0) * 1.2 or 1.0)
    axis.grid(axis="y", visible=False)
    axis.set_yticks(range(len(labels)), labels)
    # The first on top, and as much room around the bars as between them.
    axis.set_ylim(len(labels) - 0.4, -0.6)


def _spans_much(axis: Axes) -> bool:
    """Whether the values span so much that small ones would lie on one another."""
    values = _values(axis)
    return bool(values) and min(values) > 0 and max(values) / min(values) > 4


def _make_logarithmic(axis: Axes) -> None:
    """A logarithmic axis with round numbers on it."""
    values = _values(axis)
    axis.set_yscale("log")
    axis.set_ylim(min(values) / 1.15, max(values) * 1.15)
    decades = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    ticks = [factor * 10.0**decade for decade in decades for factor in (1, 2, 3, 5)]
    axis.set_yticks([tick for tick in ticks if min(values) / 1.15 <= tick <= max(values) * 1.15])
    axis.yaxis.set_major_formatter(lambda tick, _: f"{tick:g}")
    axis.yaxis.set_minor_locator(NullLocator())


def _values(axis: Axes) -> list[float]:
    return [float(y) for container in axis.containers for y in container[0].get_ydata() if not math.isnan(y)]


def _lines(
    axis: Axes,
    summaries: Sequence[Summary],
    x_name: str,
    caption: Callable[[Summary], str],
    read: Callable[[Summary], Mean | None],
    factor: float,
) -> None:
    groups: dict[str, list[tuple[float, Mean]]] = {}
    for summary in summaries:
        value = read(summary)
        groups.setdefault(caption(summary), [])
        if value is not None:
            groups[caption(summary)].append((x_value(summary, x_name), value))
    for index, (label, points) in enumerate(groups.items()):
        points.sort(key=lambda point: point[0])
        means_line(axis, points, index, label, factor)
    means = [mean.value * factor for points in groups.values() for _, mean in points]
    # A wide interval may leave the plot; the means are what it is scaled for.
    axis.set_ylim(0, max(means, default=1.0) * 1.2 or 1.0)
    ticks = sorted({x for points in groups.values() for x, _ in points})
    if 1 < len(ticks) <= 16:
        label_below(axis, ticks, [f"{tick:g}" for tick in ticks], PANEL_SIZE)


def label_below(axis: Axes, places: Sequence[float], labels: Sequence[str], size: tuple[float, float]) -> None:
    """Labels under an axis; upwards where they would run into each other."""
    ordered = sorted(places)
    closest = min((high - low for low, high in itertools.pairwise(ordered)), default=1.0)
    share = closest / ((ordered[-1] - ordered[0]) or 1.0)
    room = share * (size[0] - AXIS_MARGIN_INCHES) * CHARACTERS_PER_INCH
    crowded = len(labels) > 1 and max(map(len, labels)) + 1 > room
    axis.set_xticks(list(places), labels, rotation=90 if crowded else 0)


def x_value(summary: Summary, x_name: str) -> float:
    return float(summary.hops if x_name == "hops" else summary.swept[x_name])


def _svg(figure: Figure) -> str:
    """The figure as an <svg> element, with text as outlines so that it looks the same without our font."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return compact(buffer.getvalue())
