# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a packet's time goes: bars of the ten parts of its service time, and of its wait."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes

from perhop.report import figures
from perhop.study.summaries import Hop

BAR_LABELS_MAX = 16

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


def parts_figure(panels: Sequence[Bars], queue: bool = True) -> figures.Panels:
    """Where a packet's time goes, part by part; `queue` adds the wait in the MAC's queue, which is no service time."""
    tallest_ms = max((_height_ms(hop, queue) for bars in panels for hop in bars.hops), default=0.0)
    parts = ", ".join(label for label, _ in PART_STYLES.values())
    shown = []
    for bars in panels:
        with mpl.rc_context(figures.RC):
            figure, axis = figures.panel_figure(figures.SMALL_PANEL_SIZE)
            _bars(axis, bars, queue)
            # One scale for all, or the eye compares what cannot be compared.
            axis.set_ylim(0, tallest_ms * 1.05 or 1.0)
            axis.set_xlabel(bars.axis_label)
            label = (
                f"{bars.title}: ms for each packet by {bars.axis_label}, bars of {parts}. "
                "The sums are in the table, the parts in hops.parquet."
            )
            names = [*PART_STYLES, *(["queue"] if queue else [])]
            rows = [
                [name, *(f"{hop.parts_us[part] / 1e3:.6g}" for part in names)]
                for name, hop in zip(bars.labels, bars.hops, strict=True)
            ]
            head = [bars.axis_label, *(f"{name} in ms" for name in names)]
            shown.append(figures.panel(figure, bars.title, "ms for each packet", label, [head, *rows]))
    legend = [(figures.area_sign(light), label) for label, light in PART_STYLES.values()]
    if queue:
        legend.append((figures.area_sign("#9AA5B1", hatched=True), QUEUE_LABEL))
    return figures.Panels(shown, legend, small=True)


def _height_ms(hop: Hop, queue: bool) -> float:
    return sum(hop.parts_us[part] for part in (*PART_STYLES, *(["queue"] if queue else []))) / 1e3


def _bars(axis: Axes, panel: Bars, queue: bool) -> None:
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
    # Of many links only some have room for their names.
    step = math.ceil(len(panel.labels) / BAR_LABELS_MAX) or 1
    figures.label_below(axis, list(places)[::step], panel.labels[::step], figures.SMALL_PANEL_SIZE)
    axis.grid(axis="x", visible=False)
