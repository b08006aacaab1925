# SPDX-License-Identifier: GPL-2.0-or-later
"""What was dropped, by cause: at retry limits, at full queues, and where a link failed."""

from __future__ import annotations

import statistics

import matplotlib as mpl

from perhop.report import figures
from perhop.report.focus import Focus
from perhop.study.results import Row
from perhop.study.summaries import link_name, shown_flows

ROWS_MAX = 24


def _link_failures(row: Row) -> float | None:
    packets, data = row["link_failure_drops_packets"], row["link_failure_drops_data_packets"]
    return None if packets is None else packets - (data or 0.0)


CAUSES = (
    ("data, retry limit of the MAC", lambda row: row["mac_drops_data_packets"]),
    ("TCP ACKs, retry limit of the MAC", lambda row: row["mac_drops_tcp_ack_packets"]),
    ("data, queue full", lambda row: row["queue_drops_data_packets"]),
    ("TCP ACKs, queue full", lambda row: row["queue_drops_tcp_ack_packets"]),
    ("data, link failed", lambda row: row["link_failure_drops_data_packets"]),
    ("others, link failed", _link_failures),
)


def figure(focus: Focus, flows: list[Row]) -> tuple[figures.Panels | None, bool]:
    """Bars of a flow and policy each, and whether anything was counted at all."""
    kept = {flow.index for flow in shown_flows(focus.summaries[0])[0]}
    several = len(focus.summaries[0].flows) > 1
    policies = len(focus.summaries) > 1
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in focus.rows(flows):
        if row["flow"] in kept:
            groups.setdefault((row["policy"], row["flow"]), []).append(row)
    bars: list[tuple[str, list[float]]] = []
    counted = False
    for (policy, _), rows in list(groups.items())[:ROWS_MAX]:
        words = [policy] if policies or not several else []
        words += [link_name((rows[0]["src"], rows[0]["dst"]))] if several else []
        means = []
        for _, read in CAUSES:
            values = [value for value in (read(row) for row in rows) if value is not None]
            counted = counted or bool(values)
            means.append(statistics.fmean(values) if values else 0.0)
        bars.append((", ".join(word for word in words if word) or "all", means))
    if not any(sum(means) for _, means in bars):
        return None, counted
    return _panels(bars), counted


def _panels(bars: list[tuple[str, list[float]]]) -> figures.Panels:
    labels = [figures.wrapped(label) for label, _ in bars]
    lines = sum(1 + label.count("\n") for label in labels)
    present = [index for index in range(len(CAUSES)) if any(means[index] for _, means in bars)]
    with mpl.rc_context(figures.RC):
        drawing, axis = figures.panel_figure((figures.PANEL_SIZE[0], max(1.6, 0.8 + 0.3 * lines)))
        floor = [0.0] * len(bars)
        for index in present:
            widths = [means[index] for _, means in bars]
            axis.barh(range(len(bars)), widths, left=floor, height=0.7, color=figures.COLOURS[index])
            floor = [low + width for low, width in zip(floor, widths, strict=True)]
        axis.set_yticks(range(len(bars)), labels)
        axis.set_ylim(len(bars) - 0.4, -0.6)
        axis.set_xlim(0, max(floor) * 1.1)
        axis.grid(axis="y", visible=False)
        axis.set_xlabel("packets a run")
        names = [CAUSES[index][0] for index in present]
        told = "; ".join(
            f"{label}: " + ", ".join(f"{means[index]:.3g} {CAUSES[index][0]}" for index in present if means[index])
            for label, means in bars
            if sum(means)
        )
        rows = [[label, *(f"{means[index]:.6g}" for index in present)] for label, means in bars]
        one = figures.panel(
            drawing, "Drops by cause", "packets a run", f"Drops by cause. {told}.", [["flow", *names], *rows]
        )
    return figures.Panels([one], [(figures.area_sign(figures.COLOURS[index]), CAUSES[index][0]) for index in present])
