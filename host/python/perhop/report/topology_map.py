# SPDX-License-Identifier: GPL-2.0-or-later
"""A map of the nodes, with what a packet costs on each link in colour."""

from __future__ import annotations

import itertools
import math
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from perhop.report import figures, heat
from perhop.report.focus import Focus
from perhop.study.summaries import Hop, Link, Summary, link_name

MAPS_MAX = 4
LINKS_MAX = 400
NAMED_NODES_MAX = 60
# What a node with its number takes, and how much of a panel its axes have.
NODE_INCHES = 0.22
AXES_SHARE = 0.6
# How far beside the straight line the two directions of a link are, in points.
ASIDE_POINTS = 3.2


def figure(focus: Focus) -> figures.Panels | None:
    """A map a policy, in one scale of colours; None where no link carried anything."""
    config = focus.outcome.run.config
    shown = [(summary, _costs(summary)) for summary in focus.summaries[:MAPS_MAX]]
    shown = [(summary, costs) for summary, costs in shown if costs]
    if not shown:
        return None
    values = [ms for _, costs in shown for ms in costs.values()]
    steps = heat.steps_of(values)
    panels = [_map(summary.policy or "all", config, costs, steps) for summary, costs in shown]
    legend = heat.legend(values, "ms for each packet")
    return figures.Panels(panels, legend, small=len(panels) > 1)


def _costs(summary: Summary) -> dict[Link, float]:
    """Mean service time in ms of all packets on each link that has a receiver; the dearest of too many links."""
    hops: dict[Link, list[Hop]] = {}
    for hop in summary.links:
        if hop.receiver >= 0 and hop.packets:
            hops.setdefault(hop.link, []).append(hop)
    costs = {
        link: sum(hop.service_time_us * hop.packets for hop in found) / sum(hop.packets for hop in found) / 1e3
        for link, found in hops.items()
    }
    return dict(sorted(costs.items(), key=lambda item: -item[1])[:LINKS_MAX])


def _map(title: str, config: dict[str, Any], costs: dict[Link, float], steps: list[float]) -> figures.Panel:
    positions = [(node["x_m"], node["y_m"]) for node in config["nodes"]]
    costs = {link: ms for link, ms in costs.items() if max(link) < len(positions)}
    failed = {event["node"] for event in config.get("events", []) if event["kind"] == "node_down"}
    ends = {end for flow in config["flows"] for end in (flow["src"], flow["dst"])}
    with mpl.rc_context(figures.RC):
        drawing, axis = figures.panel_figure(figures.PANEL_SIZE)
        for link, ms in costs.items():
            _directed(axis, positions[link[0]], positions[link[1]], heat.COLOURS[heat.step_of(ms, steps)])
        named = _is_named(positions)
        for node, (x_m, y_m) in enumerate(positions):
            edge = "#D55E00" if node in failed else "#1B232C" if node in ends else "#5B6673"
            size = (15 if named else 4) + (2 if node in ends else 0)
            style = {
                "color": edge,
                "markerfacecolor": "#FFFFFF",
                "markeredgecolor": edge,
                "markeredgewidth": 2 if node in ends | failed else 1,
            }
            axis.plot(
                [x_m], [y_m], marker="X" if node in failed and not named else "o", markersize=size, zorder=3, **style
            )
            if named:
                axis.annotate(
                    f"{node}", (x_m, y_m), ha="center", va="center_baseline", fontsize=10, color="#1B232C", zorder=4
                )
        # Equal scales, with room around the outermost nodes.
        axis.margins(0.12)
        axis.set_aspect("equal", adjustable="datalim")
        axis.grid(visible=False)
        axis.set_xlabel("m")
        axis.set_ylabel("m")
        told = "; ".join(f"{link_name(link)} {ms:.2f} ms" for link, ms in list(costs.items())[:LINKS_MAX])
        label = f"Map of {len(positions)} nodes, {title}; service time of a packet: {told}."
        rows = [[*link, f"{ms:.6g}", *positions[link[0]], *positions[link[1]]] for link, ms in costs.items()]
        head = ["from", "to", "service time in ms", "from x in m", "from y in m", "to x in m", "to y in m"]
        return figures.panel(drawing, f"Map, {title}" if title != "all" else "Map", "", label, [head, *rows])


def _is_named(positions: list[tuple[float, float]]) -> bool:
    """Whether numbers in the nodes would not lie on each other."""
    if len(positions) > NAMED_NODES_MAX:
        return False
    across_m = max(max(x for x, _ in positions) - min(x for x, _ in positions), 1.0)
    up_m = max(max(y for _, y in positions) - min(y for _, y in positions), 1.0)
    inches_per_m = min(figures.PANEL_SIZE[0] / across_m, figures.PANEL_SIZE[1] / up_m) * AXES_SHARE
    nearest_m = min((math.dist(a, b) for a, b in itertools.combinations(positions, 2)), default=math.inf)
    return nearest_m * inches_per_m > NODE_INCHES


def _directed(axis: Axes, start: tuple[float, float], end: tuple[float, float], light: str) -> None:
    """A line to the right of the straight one, so that the way back has room. It has a grey rim: pale ones need it."""
    x, y = end[0] - start[0], end[1] - start[1]
    length = math.hypot(x, y) or 1.0
    aside = (ASIDE_POINTS * y / length, -ASIDE_POINTS * x / length)
    for width, colour in ((5.0, "#9AA5B1"), (3.6, light)):
        offset = ScaledTranslation(aside[0] / 72, aside[1] / 72, axis.figure.dpi_scale_trans)
        axis.plot(
            [start[0], end[0]],
            [start[1], end[1]],
            color=colour,
            linewidth=width,
            solid_capstyle="butt",
            transform=axis.transData + offset,
            zorder=1 if width == 5.0 else 2,
        )
