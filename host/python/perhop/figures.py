# SPDX-License-Identifier: GPL-2.0-or-later
"""The report's plots, as SVG text. Colours are told apart by colour-blind readers, and markers differ too."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator

from perhop import files
from perhop.rows import Hop, Mean, Summary

# Okabe and Ito's palette, without its yellow (too pale on white), and a grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")

# From the bottom of a bar: what is air, in blues, then what is contention, from light to dark; queueing comes on top.
PART_STYLES: dict[str, tuple[str, str]] = {
    "data": ("DATA on the air", "#08519C"),
    "control": ("RTS on the air", "#4292C6"),
    "response": ("SIFS, CTS and MAC ACK", "#9ECAE1"),
    "ifs": ("inter-frame space", "#FFF2B8"),
    "backoff": ("backoff slots", "#FDD465"),
    "frozen_cca": ("frozen: medium busy", "#F59331"),
    "frozen_nav": ("frozen: NAV", "#BF4B05"),
    "responder": ("answering others", "#8E6BB1"),
    "timeout": ("waiting for a response in vain", "#3D2B4F"),
}
QUEUE_LABEL = "queued in the MAC (not service time)"

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
        files.write_text(file, _svg(figure))


def means_line(axis: Axes, points: Sequence[tuple[float, Mean]], index: int, label: str, factor: float = 1.0) -> None:
    """A line through means with their 95 % intervals, in colour and marker `index`."""
    axis.errorbar(
        [x for x, _ in points],
        [mean.value * factor for _, mean in points],
        yerr=[mean.half * factor for _, mean in points] if any(mean.half for _, mean in points) else None,
        label=label,
        color=COLOURS[index % len(COLOURS)],
        marker=MARKERS[index % len(MARKERS)],
        linestyle=("-", "--", ":")[index // len(COLOURS) % 3],
        markersize=5.5,
        linewidth=1.8,
        capsize=3,
    )


def lines_figure(summaries: Sequence[Summary], x_name: str, caption: Callable[[Summary], str]) -> str:
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
    with mpl.rc_context(RC):
        figure = Figure(figsize=(11.2, 3.9 if len(panels) > 1 else 4.2), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, (title, unit, read, factor) in zip(axes, panels, strict=True):
            _lines(axis, summaries, x_name, caption, lambda summary, read=read: read(summary), factor)
            axis.set_title(title, loc="left")
            axis.set_ylabel(unit)
            axis.set_xlabel(x_name.rsplit(".", 1)[-1].replace("_", " "))
        if _spans_much(axes[0]):
            _make_logarithmic(axes[0])
        handles, labels = axes[0].get_legend_handles_labels()
        if len(labels) > 1:
            figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6))
        return _svg(figure)


def goodput_title(summaries: Sequence[Summary]) -> str:
    return "Goodput, sum of all flows" if any(len(summary.flows) > 1 for summary in summaries) else "Goodput"


def grouped_figure(
    panels: Sequence[tuple[str, str, Sequence[Sequence[Mean | None]], float]],
    labels: Sequence[str],
    names: Sequence[str],
) -> str:
    """A panel (title, unit, values[name][label], factor) a quantity: bars in groups by label, a colour a name."""
    with mpl.rc_context(RC):
        height = 1.5 + 0.28 * len(labels) * len(names)
        figure = Figure(figsize=(11.2, max(2.6, min(height, 9))), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        thickness = 0.8 / len(names)
        for axis, (title, unit, values, factor) in zip(axes, panels, strict=True):
            for index, (name, line) in enumerate(zip(names, values, strict=True)):
                places = [at + (index - (len(names) - 1) / 2) * thickness for at in range(len(labels))]
                axis.barh(
                    places,
                    [mean.value * factor if mean else 0.0 for mean in line],
                    xerr=[mean.half * factor if mean else 0.0 for mean in line],
                    height=0.9 * thickness,
                    color=COLOURS[index],
                    ecolor="#2B3440",
                    capsize=2,
                    label=name,
                )
            # A wide interval may leave the plot; the means are what it is scaled for.
            means = [mean.value * factor for line in values for mean in line if mean]
            axis.set_xlim(0, max(means, default=1.0) * 1.2 or 1.0)
            axis.set_title(title, loc="left")
            axis.set_xlabel(unit)
            axis.grid(axis="y", visible=False)
            axis.set_yticks(range(len(labels)), labels)
        axes[0].invert_yaxis()
        handles, shown = axes[0].get_legend_handles_labels()
        figure.legend(handles, shown, loc="outside lower center", ncols=len(names))
        return _svg(figure)


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


@dataclass(frozen=True)
class Bars:
    """A panel of bars, one a link; `labels` are under them and `axis_label` under those."""

    title: str
    labels: Sequence[str]
    hops: Sequence[Hop]
    axis_label: str


def path_bars(title: str, hops: Sequence[Hop]) -> Bars:
    """A panel of the links that carry data."""
    return Bars(title, [hop.name for hop in hops], hops, "link")


def parts_figure(panels: Sequence[Bars], queue: bool = True) -> str:
    """Where a packet's time goes, part by part; `queue` adds the wait in the MAC's queue, which is no service time."""
    with mpl.rc_context(RC):
        columns = min(4, len(panels))
        rows = math.ceil(len(panels) / columns)
        figure = Figure(figsize=(11.2, 3.0 * rows + 1.1), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for axis in axes.flat[len(panels) :]:
            axis.set_visible(False)
        for number, panel in enumerate(panels):
            axis = axes.flat[number]
            _bars(axis, panel, queue, 10 if len(panel.labels) * columns <= 16 else 7)
            axis.set_title(panel.title, loc="left")
            if number % columns == 0:
                axis.set_ylabel("ms for each packet")
            axis.set_xlabel(panel.axis_label)
        handles = [Patch(facecolor=colour, label=label) for label, colour in PART_STYLES.values()]
        if queue:
            handles.append(Patch(facecolor="#FFFFFF", edgecolor="#9AA5B1", hatch="////", label=QUEUE_LABEL))
        figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)
        return _svg(figure)


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
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


def x_value(summary: Summary, x_name: str) -> float:
    return float(summary.hops if x_name == "hops" else summary.swept[x_name])


def _bars(axis: Axes, panel: Bars, queue: bool, label_size: int) -> None:
    places = range(len(panel.hops))
    floor = [0.0] * len(panel.hops)
    for part, (_, colour) in PART_STYLES.items():
        heights = [hop.parts_us[part] / 1e3 for hop in panel.hops]
        axis.bar(places, heights, bottom=floor, color=colour, width=0.74)
        floor = [low + high for low, high in zip(floor, heights, strict=True)]
    if queue:
        waits = [hop.parts_us["queue"] / 1e3 for hop in panel.hops]
        style = {"color": "#FFFFFF", "edgecolor": "#9AA5B1", "hatch": "////", "linewidth": 0.6}
        axis.bar(places, waits, bottom=floor, width=0.74, **style)
    if len(panel.labels) <= 16:
        axis.set_xticks(list(places), panel.labels, fontsize=label_size)
    axis.grid(axis="x", visible=False)


def _svg(figure: Figure) -> str:
    """The figure as an <svg> element, with text as outlines so that it looks the same without our font."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
