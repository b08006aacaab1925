# SPDX-License-Identifier: GPL-2.0-or-later
"""Goodput, round trips, windows and queues over the time of the runs, with marks at events; and how they spread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pyarrow.compute as pc
import pyarrow.csv

from perhop.report import events, figures
from perhop.report.events import Mark
from perhop.report.focus import Focus
from perhop.study import records
from perhop.study.results import Row
from perhop.study.summaries import Mean, link_name, mean, shown_flows

# So many lines a panel are told apart; with more, each policy has panels of its own.
LINES_MAX = 8
POLICIES_MAX = 4
# Intervals of more lines would hide each other, and those of two seeds all else.
BANDS_MAX = 3
BAND_SEEDS_MIN = 3
# A curve of a spread has at most so many points.
POINTS_MAX = 200

QUANTITIES = (
    ("goodput_bps", "Goodput", "kb/s", 1e-3),
    ("rtt_ms", "Round-trip time", "ms", 1.0),
    ("delay_ms", "Delay one way", "ms", 1.0),
    ("cwnd_packets", "Congestion window", "packets", 1.0),
    ("cwl_packets", "Window limit", "packets", 1.0),
)
SPREADS = QUANTITIES[:3]


@dataclass(frozen=True)
class Line:
    """What one line of a figure is of."""

    label: str
    rows: list[Row]


def figure(
    focus: Focus, intervals: list[Row], queues: list[Row], marks: list[Mark]
) -> list[tuple[str, figures.Panels]]:
    """Panels with a heading each, empty where one says it all."""
    found = []
    for heading, lines, of_queues in _groups(focus, focus.rows(intervals), queues):
        found.append((heading, _panels(focus, lines, marks)))
        if of_queues:
            found.append(("", _queue_panels(focus, of_queues, marks)))
    return found


def spread(focus: Focus, intervals: list[Row]) -> list[figures.Panels]:
    """Cumulative distributions over the intervals after the warm-up and, where packets were recorded, over packets."""
    rows = [row for row in focus.rows(intervals) if row["t_start_s"] >= focus.experiment.warmup_s]
    lines = _lines(focus, rows)
    if len(lines) > LINES_MAX:
        lines = _by_policy(rows)[:LINES_MAX]
    shown = []
    for name, title, unit, factor in SPREADS:
        samples = [(line.label, [row[name] * factor for row in line.rows if row[name] is not None]) for line in lines]
        if any(len(values) > 1 for _, values in samples):
            shown.append(_curve(f"{title}, intervals", unit, samples))
    legend = [(figures.line_sign(index), line.label) for index, line in enumerate(lines)]
    groups = [figures.Panels(shown, legend)] if shown else []
    if services := _services(focus):
        names = [(figures.line_sign(index), f"packets under {name}") for index, (name, _) in enumerate(services)]
        groups.append(figures.Panels([_curve("Service time, packets", "ms", services)], names))
    return groups


def _groups(focus: Focus, rows: list[Row], queues: list[Row]) -> Iterable[tuple[str, list[Line], list[Line]]]:
    of_queues = _dense(focus.rows(queues), rows)
    lines = _lines(focus, rows)
    if len(lines) <= LINES_MAX:
        return [("", lines, _queue_lines(of_queues, len(_by_policy(rows)) > 1))]
    return [
        (each.label, _lines(focus, each.rows), _queue_lines([q for q in of_queues if q["policy"] == each.label], False))
        for each in _by_policy(rows)[:POLICIES_MAX]
    ]


def _dense(queues: list[Row], intervals: list[Row]) -> list[Row]:
    """The queues of the nodes that had one at some time, at all times: where a node has no row, nothing waited."""
    edges: dict[str, set[tuple[float, float]]] = {}
    for row in intervals:
        edges.setdefault(row["run"], set()).add((row["t_start_s"], row["t_end_s"]))
    policies = {row["run"]: row["policy"] for row in intervals}
    waited = {(row["run"], row["node"], round(row["t_start_s"], 3)): row["queue_packets"] for row in queues}
    nodes: dict[str, set[int]] = {}
    for row in queues:
        nodes.setdefault(row["policy"], set()).add(row["node"])
    return [
        {
            "policy": policy,
            "node": node,
            "t_start_s": start_s,
            "t_end_s": end_s,
            "queue_packets": waited.get((run, node, round(start_s, 3)), 0.0),
        }
        for run, policy in policies.items()
        for node in sorted(nodes.get(policy, ()))
        for start_s, end_s in sorted(edges[run])
    ]


def _by_policy(rows: list[Row]) -> list[Line]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["policy"], []).append(row)
    return [Line(policy or "all", found) for policy, found in groups.items()]


def _lines(focus: Focus, rows: list[Row]) -> list[Line]:
    """A line a flow and policy; of many flows those with the least and the most."""
    kept = {flow.index for flow in shown_flows(focus.summaries[0])[0]}
    several = len(focus.summaries[0].flows) > 1
    policies = len({row["policy"] for row in rows}) > 1
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row["flow"] in kept:
            groups.setdefault((row["policy"], row["flow"]), []).append(row)
    return [
        Line(
            _label(policy if policies else "", link_name((found[0]["src"], found[0]["dst"])) if several else ""), found
        )
        for (policy, _), found in groups.items()
    ]


def _label(policy: str, rest: str) -> str:
    return ", ".join(part for part in (policy, rest) if part) or "all"


def _queue_lines(queues: list[Row], policies: bool) -> list[Line]:
    """Those of the nodes whose queues are the longest."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in queues:
        groups.setdefault((row["policy"], row["node"]), []).append(row)
    longest = sorted(groups, key=lambda key: -sum(row["queue_packets"] for row in groups[key]))[:LINES_MAX]
    return [
        Line(_label(policy if policies else "", f"node {node}"), groups[policy, node])
        for policy, node in groups
        if (policy, node) in longest
    ]


def _panels(focus: Focus, lines: list[Line], marks: list[Mark]) -> figures.Panels:
    shown = []
    for name, title, unit, factor in QUANTITIES:
        if any(row[name] for line in lines for row in line.rows):
            drawn = [(line.label, _moments(line.rows, name, factor)) for line in lines]
            shown.append(_panel(focus, title, unit, drawn, marks))
    legend = [(figures.line_sign(index), line.label) for index, line in enumerate(lines)]
    if focus.experiment.warmup_s:
        legend.append((figures.area_sign("#E6EAEE"), "warm-up, left out of all other numbers"))
    return figures.Panels(shown, legend)


def _queue_panels(focus: Focus, queues: list[Line], marks: list[Mark]) -> figures.Panels:
    drawn = [(line.label, _moments(line.rows, "queue_packets", 1.0)) for line in queues]
    legend = [(figures.line_sign(index), line.label) for index, line in enumerate(queues)]
    return figures.Panels([_panel(focus, "Queue in front of the MAC", "packets", drawn, marks)], legend)


Moment = tuple[float, float, Mean]


def _moments(rows: list[Row], name: str, factor: float) -> list[Moment]:
    """Means over the seeds of each interval that some run has a value for."""
    groups: dict[tuple[float, float], list[float | None]] = {}
    for row in rows:
        value = row[name]
        groups.setdefault((row["t_start_s"], row["t_end_s"]), []).append(None if value is None else value * factor)
    found = [(start_s, end_s, mean(values)) for (start_s, end_s), values in sorted(groups.items())]
    return [(start_s, end_s, value) for start_s, end_s, value in found if value is not None]


def _panel(
    focus: Focus, title: str, unit: str, lines: Sequence[tuple[str, list[Moment]]], marks: list[Mark]
) -> figures.Panel:
    with mpl.rc_context(figures.RC):
        drawing, axis = figures.panel_figure(figures.PANEL_SIZE)
        axis.set_xlim(0, focus.experiment.duration_s)
        if focus.experiment.warmup_s:
            axis.axvspan(0, min(focus.experiment.warmup_s, focus.experiment.duration_s), color="#E6EAEE", linewidth=0)
        for index, (_, moments) in enumerate(lines):
            style = figures.line_style(index, len(moments))
            middles = [(start_s + end_s) / 2 for start_s, end_s, _ in moments]
            if len(lines) <= BANDS_MAX and any(value.count >= BAND_SEEDS_MIN for _, _, value in moments):
                # An interval may leave the plot; below nothing there is nothing.
                low = [max(0.0, value.value - value.half) for _, _, value in moments]
                high = [value.value + value.half for _, _, value in moments]
                axis.fill_between(middles, low, high, color=style["color"], alpha=0.15, linewidth=0)
            axis.plot(*_with_gaps(moments), linewidth=1.8, **style)
        top = max((value.value for _, moments in lines for _, _, value in moments), default=0.0)
        axis.set_ylim(0, top * 1.2 or 1.0)
        axis.set_xlabel("time in s")
        events.draw(axis, marks)
        said = "; ".join(f"{mark.at_s:g} s: {mark.words}" for mark in marks)
        label = f"{title} in {unit} over time, a line each for {'; '.join(name for name, _ in lines)}."
        rows = [
            [name, start_s, end_s, *figures.mean_cells(value)]
            for name, moments in lines
            for start_s, end_s, value in moments
        ]
        head = ["line", "from s", "to s", f"{title} in {unit}", "half of its 95 % interval"]
        return figures.panel(drawing, title, unit, label + (f" Marked: {said}." if said else ""), [head, *rows])


def _with_gaps(moments: list[Moment]) -> tuple[list[float], list[float]]:
    """The points of a line, which ends where nothing was measured."""
    xs: list[float] = []
    ys: list[float] = []
    ended_s = None
    for start_s, end_s, value in moments:
        if ended_s is not None and start_s > ended_s + (end_s - start_s) / 2:
            xs.append((ended_s + start_s) / 2)
            ys.append(math.nan)
        xs.append((start_s + end_s) / 2)
        ys.append(value.value)
        ended_s = end_s
    return xs, ys


def _services(focus: Focus) -> list[tuple[str, list[float]]]:
    """Service times in ms of the packets that were delivered, by policy; empty where none were recorded."""
    groups: dict[str, list[float]] = {}
    for outcome in focus.runs:
        file = outcome.folder / records.CSV_FILE if outcome.folder is not None else None
        if file is None or not file.is_file():
            continue
        options = pyarrow.csv.ConvertOptions(include_columns=["t_head_us", "t_done_us", "result"])
        table = pyarrow.csv.read_csv(file, convert_options=options)
        table = table.filter(pc.equal(table["result"], "delivered"))
        service_us = pc.subtract(table["t_done_us"], table["t_head_us"])
        groups.setdefault(outcome.run.policy or "all", []).extend(
            pc.divide(service_us.cast("float64"), 1e3).to_pylist()
        )
    return list(groups.items())[:LINES_MAX]


def _curve(title: str, unit: str, samples: Sequence[tuple[str, Sequence[float]]]) -> figures.Panel:
    with mpl.rc_context(figures.RC):
        drawing, axis = figures.panel_figure(figures.PANEL_SIZE)
        rows: list[list[object]] = []
        largest = 0.0
        for index, (name, values) in enumerate(samples):
            if not values:
                continue
            shares = np.linspace(0, 1, min(len(values), POINTS_MAX))
            at = np.quantile(values, shares)
            largest = max(largest, float(np.quantile(values, 0.99)))
            axis.plot(at, 100 * shares, linewidth=1.8, drawstyle="steps-post", **figures.line_style(index, len(at)))
            rows += [[name, f"{value:.6g}", f"{share:.4f}"] for value, share in zip(at, shares, strict=True)]
        # The last hundredth may lie far out.
        axis.set_xlim(0, largest * 1.1 or 1.0)
        axis.set_ylim(0, 102)
        axis.set_xlabel(f"{unit}")
        curves = "; ".join(name for name, _ in samples)
        label = f"{title}: how large a share is at most so many {unit}, a curve each for {curves}."
        return figures.panel(drawing, title, "% at most", label, [["curve", f"at most, {unit}", "share"], *rows])
