# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of a study's page: each flow, and all numbers."""

from __future__ import annotations

from perhop.experiment.words import swept_word
from perhop.report.page import Cell, Row, Table
from perhop.study.summaries import FlowSummary, Hop, Mean, Summary, data_links, link_name, shown_flows

# Cells of hops beyond this many are left to hops.parquet.
HOP_CELLS_MAX = 16
LEFT = ("policy", "flow")


def plain_name(field: str) -> str:
    """The last word of a dotted field, for people."""
    return field.rsplit(".", 1)[-1].replace("_", " ")


def swept_names(summaries: list[Summary]) -> list[str]:
    """Swept fields that the hop count does not already tell."""
    return [name for name in (summaries[0].swept if summaries else {}) if name != "topology.hops"]


def _policy_cell(summary: Summary, unseen: bool = False) -> Cell:
    return Cell(summary.policy, strong=True, mark="*" if summary.interrupted else "", unseen=unseen)


def _count(value: float | None) -> Cell:
    return Cell("-" if value is None else f"{value:.0f}")


def _mean(value: Mean | None, factor: float, digits: int, mark: str = "") -> Cell:
    if value is None:
        return Cell("-")
    below = f"±{value.half * factor:.{digits}f}" if value.count > 1 else ""
    return Cell(f"{value.value * factor:.{digits}f}", below, mark=mark)


def flow_lines(summaries: list[Summary]) -> int:
    """How many rows `flows_table` has for these."""
    return sum(len(shown_flows(summary)[0]) + (len(summary.flows) > 1) for summary in summaries)


def flows_table(title: str, summaries: list[Summary]) -> Table:
    """A row a flow of every point, and one for their sum where a point has several."""
    names = swept_names(summaries)
    has_policy = any(summary.policy for summary in summaries)
    several = any(len(summary.flows) > 1 for summary in summaries)
    short = any(summary.short_of_seeds for summary in summaries)
    head = [
        "hops",
        *(plain_name(name) for name in names),
        *(["policy"] if has_policy else []),
        *(["n"] if short else []),
    ]
    head += ["flow", "goodput\nkb/s", *(["share\n%"] if several else []), "RTT\nms", "window\npackets", "CWL"]
    head += ["TCP re-\nsends", "time-\nouts", *(["Jain's\nindex"] if several else [])]
    rows = []
    for summary in summaries:

        def begin(unseen: bool, summary: Summary = summary) -> list[Cell]:
            cells = [Cell(str(summary.hops), unseen=unseen)]
            cells += [Cell(str(swept_word(summary.swept[name])), unseen=unseen) for name in names]
            cells += [_policy_cell(summary, unseen)] if has_policy else []
            counted = Cell(
                summary.short_of_seeds or str(summary.seeds), unseen=unseen, strong=bool(summary.short_of_seeds)
            )
            return [*cells, *([counted] if short else [])]

        flows, left_out = shown_flows(summary)
        for flow in flows:
            first = flow is flows[0]
            cells = [Cell(flow.name), _mean(flow.goodput_bps, 1e-3, 0)]
            cells += [_share(flow, summary)] if several else []
            cells += [_mean(flow.rtt_ms, 1, 0), _mean(flow.cwnd_packets, 1, 1), _mean(flow.cwl_packets, 1, 1)]
            cells += [_count(mean.value if mean else None) for mean in (flow.retransmissions, flow.timeouts)]
            rows.append(Row(first, [*begin(not first), *cells, *([Cell("")] if several else [])]))
        if len(summary.flows) > 1:
            mark = f", {left_out} not shown" if left_out else ""
            cells = [Cell(f"sum of {len(summary.flows)}", strong=True, mark=mark), _mean(summary.goodput_bps, 1e-3, 0)]
            cells += [Cell(""), _mean(summary.rtt_ms, 1, 0), _mean(summary.cwnd_packets, 1, 1)]
            cells += [_mean(summary.cwl_packets, 1, 1), _count(summary.retransmissions), _count(summary.timeouts)]
            rows.append(Row(False, [*begin(True), *cells, _mean(summary.jain, 1, 2)]))
    return Table(f"{title}: a line for each flow of a point and policy", head, rows, "flow", LEFT)


def _share(flow: FlowSummary, summary: Summary) -> Cell:
    """How much of what all flows got is this one's."""
    if flow.goodput_bps is None or summary.goodput_bps is None or not summary.goodput_bps.value:
        return Cell("-")
    return Cell(f"{100 * flow.goodput_bps.value / summary.goodput_bps.value:.0f}")


def numbers_table(summaries: list[Summary]) -> Table:
    """A row a point and policy: sums over its flows, and what each link cost."""
    has_tcp = any(summary.has_tcp for summary in summaries)
    several = any(len(summary.flows) > 1 for summary in summaries)
    short = any(summary.short_of_seeds for summary in summaries)
    links = data_links(summaries)
    in_cells = len(links) <= HOP_CELLS_MAX
    slowest_us = max((hop.service_time_us for s in summaries for hop in s.forward), default=1.0) or 1.0
    names = swept_names(summaries)
    show_hops = has_tcp or len({summary.hops for summary in summaries}) > 1
    head = (["hops"] if show_hops else []) + [plain_name(name) for name in names]
    head += (["policy"] if has_tcp else []) + (["n"] if short else [])
    head += ["goodput, sum\nkb/s" if several else "goodput\nkb/s"]
    head += (["RTT\nms", "CWL"] if has_tcp else []) + ["retries", "drops"]
    head += ["TCP re-\nsends", "time-\nouts"] if has_tcp else []
    head += [link_name(link) for link in links] if in_cells else ["mean of links"]
    rows: list[Row] = []
    previous = None
    for summary in summaries:
        group = (summary.hops, *(str(summary.swept[name]) for name in names))
        line = [Cell(str(summary.hops), unseen=group == previous)] if show_hops else []
        line += [Cell(str(swept_word(summary.swept[name]))) for name in names]
        line += [_policy_cell(summary)] if has_tcp else []
        line += (
            [Cell(summary.short_of_seeds or str(summary.seeds), strong=bool(summary.short_of_seeds))] if short else []
        )
        slow = summary.goodput_bps is not None and summary.goodput_bps.value <= 1e4
        line.append(
            _mean(summary.goodput_bps, 1e-3, 2 if slow else 0, "*" if summary.interrupted and not has_tcp else "")
        )
        line += [_mean(summary.rtt_ms, 1, 0), _mean(summary.cwl_packets, 1, 1)] if has_tcp else []
        line += [_count(summary.retries), _count(summary.drops)]
        line += [_count(summary.retransmissions), _count(summary.timeouts)] if has_tcp else []
        if in_cells:
            cost = {hop.link: _hop_cell(hop, slowest_us) for hop in summary.forward}
            line += [cost.get(link, Cell("")) for link in links]
        else:
            costs_us = [hop.service_time_us for hop in summary.forward]
            line.append(Cell(f"{sum(costs_us) / len(costs_us) / 1e3:.2f}" if costs_us else "-"))
        rows.append(Row(group != previous and (has_tcp or previous is None), line))
        previous = group
    return Table("All numbers: a line for each point and policy", head, rows, "policy", LEFT)


def _hop_cell(hop: Hop, slowest_us: float) -> Cell:
    halves = (("c", hop.contention_us), ("a", hop.airtime_us))
    return Cell(
        f"{hop.service_time_us / 1e3:.1f}",
        f"{hop.contention_us / 1e3:.1f}+{hop.airtime_us / 1e3:.1f}",
        title=f"{hop.name}: contention {hop.contention_us:.0f} us, air time {hop.airtime_us:.0f} us",
        bar=tuple((name, 100 * value / slowest_us) for name, value in halves),
    )
