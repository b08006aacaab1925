# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of a study's page: each flow, and all numbers."""

from __future__ import annotations

from perhop.experiment.words import swept_word
from perhop.report import page, table
from perhop.report.page import text as _text
from perhop.study.summaries import Hop, Mean, Summary, data_links, link_name, shown_flows

# Cells of hops beyond this many are left to hops.parquet.
HOP_CELLS_MAX = 16


def section(title: str, lead: str, body: str) -> str:
    return f"<section><h2>{_text(title)}</h2><p>{lead}</p>{body}</section>"


def plain_name(field: str) -> str:
    """The last word of a dotted field, for people."""
    return field.rsplit(".", 1)[-1].replace("_", " ")


def _swept_names(summaries: list[Summary]) -> list[str]:
    return [name for name in (summaries[0].swept if summaries else {}) if name != "topology.hops"]


def _policy_cell(summary: Summary) -> str:
    return f"<b>{_text(summary.policy)}</b>{'*' if summary.interrupted else ''}"


def _count(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _seen_once(cell: str, first: bool) -> str:
    """Each line says what it is of, or those who hear the table would not know it; it is seen once."""
    return cell if first else f'<span class="unseen">{cell}</span>'


def _table_of(
    title: str, lines_are: str, lead: str, head: list[str], rows: list[tuple[bool, list[str]]], named_by: str
) -> str:
    """A section with a table. A row says whether it begins a group; its cell below `named_by` is its heading."""
    left = ("policy", "flow")
    lines = []
    for first, row in rows:
        mark = ' class="first"' if first else ""
        cells = []
        for name, cell in zip(head, row, strict=True):
            of_side = ' class="left"' if name in left else ""
            cells.append(f'<th scope="row"{of_side}>{cell}</th>' if name == named_by else f"<td{of_side}>{cell}</td>")
        lines.append(f"<tr{mark}>{''.join(cells)}</tr>")
    return section(title, lead, page.table(f"{title}: {lines_are}", head, lines, left=left))


def flows_section(summaries: list[Summary]) -> str:
    """A row a flow of every point with several, and one for their sum; empty where no point has several."""
    summaries = [summary for summary in summaries if len(summary.flows) > 1]
    if not summaries:
        return ""
    names = _swept_names(summaries)
    head = ["hops", *(plain_name(name) for name in names), "policy", "flow", "goodput<br>kb/s", "RTT<br>ms", "CWL"]
    head += ["TCP re-<br>sends", "time-<br>outs", "Jain's<br>index"]
    rows = []
    for summary in summaries:
        begin = [str(summary.hops), *(_text(swept_word(summary.swept[name])) for name in names), _policy_cell(summary)]
        flows, left_out = shown_flows(summary)
        for flow in flows:
            cells = [_mean(flow.goodput_bps, 1e-3, 0), _mean(flow.rtt_ms, 1, 0), _mean(flow.cwl_packets, 1, 1)]
            cells += [_count(mean.value if mean else None) for mean in (flow.retransmissions, flow.timeouts)]
            first = flow is flows[0]
            rows.append((first, [*(_seen_once(cell, first) for cell in begin), flow.name, *cells, ""]))
        name = f"<b>sum of {len(summary.flows)}</b>" + (f", {left_out} not shown" if left_out else "")
        cells = [_mean(summary.goodput_bps, 1e-3, 0), "", "", _count(summary.retransmissions)]
        cells += [_count(summary.timeouts), _mean(summary.jain, 1, 2)]
        rows.append((False, [*(_seen_once(cell, False) for cell in begin), name, *cells]))
    lead = (
        "What each flow got by itself, from its source to its destination, and the sum of all. Jain's index is 1 where "
        "all get the same and 1/n where one of n gets everything. - is what was not measured."
    )
    lines_are = "a line for each flow of a point and policy, and one for their sum"
    return _table_of("Each flow", lines_are, lead, head, rows, named_by="flow")


def numbers_section(summaries: list[Summary]) -> str:
    has_tcp = any(summary.has_tcp for summary in summaries)
    several = any(len(summary.flows) > 1 for summary in summaries)
    short = any(summary.short_of_seeds for summary in summaries)
    links = data_links(summaries)
    cells = len(links) <= HOP_CELLS_MAX
    slowest_us = max((hop.service_time_us for s in summaries for hop in s.forward), default=1.0) or 1.0
    names = _swept_names(summaries)
    show_hops = has_tcp or len({summary.hops for summary in summaries}) > 1
    head = (["hops"] if show_hops else []) + [*(plain_name(name) for name in names)]
    head += (["policy"] if has_tcp else []) + (["n"] if short else [])
    head += ["goodput, sum<br>kb/s" if several else "goodput<br>kb/s"]
    head += (["RTT<br>ms", "CWL"] if has_tcp else []) + ["retries", "drops"]
    head += ["TCP re-<br>sends", "time-<br>outs"] if has_tcp else []
    head += [link_name(link) for link in links] if cells else ["mean of links"]
    rows: list[tuple[bool, list[str]]] = []
    previous = None
    for summary in summaries:
        group = (summary.hops, *(str(summary.swept[name]) for name in names))
        line = [_seen_once(str(summary.hops), group != previous)] if show_hops else []
        line += [*(_text(swept_word(summary.swept[name])) for name in names)]
        line += [_policy_cell(summary)] if has_tcp else []
        line += [f"<b>{summary.short_of_seeds}</b>" if summary.short_of_seeds else str(summary.seeds)] if short else []
        mark = "*" if summary.interrupted and not has_tcp else ""
        slow = summary.goodput_bps is not None and summary.goodput_bps.value <= 1e4
        line.append(mark + _mean(summary.goodput_bps, 1e-3, 2 if slow else 0))
        line += [_mean(summary.rtt_ms, 1, 0), _mean(summary.cwl_packets, 1, 1)] if has_tcp else []
        line += [_count(summary.retries), _count(summary.drops)]
        line += [_count(summary.retransmissions), _count(summary.timeouts)] if has_tcp else []
        if cells:
            cost = {hop.link: _hop_cell(hop, slowest_us) for hop in summary.forward}
            line += [cost.get(link, "") for link in links]
        else:
            costs_us = [hop.service_time_us for hop in summary.forward]
            line.append(f"{sum(costs_us) / len(costs_us) / 1e3:.2f}" if costs_us else "-")
        rows.append((group != previous and (has_tcp or previous is None), line))
        previous = group
    lead = (
        "Mean service time of a data packet on each link, named by its nodes, in ms, and its halves: "
        '<span class="key" aria-hidden="true" style="background:var(--orange)"></span>contention '
        '<span class="key" aria-hidden="true" style="background:var(--air)"></span>air time. '
        "Retries and drops count both directions of all hops; ± is a 95 % interval over seeds; - is what was not "
        "measured."
    )
    lead += "".join(f" {_text(note[:1].upper() + note[1:])}." for note in table.notes(summaries))
    return _table_of("All numbers", "a line for each point and policy", lead, head, rows, named_by="policy")


def _hop_cell(hop: Hop, slowest_us: float) -> str:
    title = f"{hop.name}: contention {hop.contention_us:.0f} us, air time {hop.airtime_us:.0f} us"
    bar = "".join(
        f'<i class="{name}" style="width:{100 * value / slowest_us:.1f}%"></i>'
        for name, value in (("c", hop.contention_us), ("a", hop.airtime_us))
    )
    return (
        f'<span title="{title}">{hop.service_time_us / 1e3:.1f}<br>'
        f"<small>{hop.contention_us / 1e3:.1f}+{hop.airtime_us / 1e3:.1f}</small>"
        f'<span class="bar" aria-hidden="true">{bar}</span></span>'
    )


def _mean(value: Mean | None, factor: float, digits: int) -> str:
    if value is None:
        return "-"
    half = f"<br><small>±{value.half * factor:.{digits}f}</small>" if value.count > 1 else ""
    return f"{value.value * factor:.{digits}f}{half}"
