# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables at the end of a run: what each policy got, what each flow of it, and what each link cost."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from perhop.experiment.words import swept_word
from perhop.study.summaries import FlowSummary, Hop, Link, Mean, Summary, data_links, link_name, shown_flows

# Up to this many links each has a column; beyond, the mean and the slowest stand for them.
LINK_COLUMNS_MAX = 8
# What a table with that many links takes; on a narrower terminal the mean and the slowest do, too.
WIDTH = 104

MIXED = "data and TCP ACKs cross the same links, and the daemons do not tell them apart: links are means over both"

HOP_LINES: list[tuple[str, str, Callable[[Hop], float]]] = [
    ("service", "bold", lambda hop: hop.service_time_us),
    ("contend", "dark_orange", lambda hop: hop.contention_us),
    ("air time", "deep_sky_blue1", lambda hop: hop.airtime_us),
]


def results_table(summaries: list[Summary], width: int = WIDTH) -> Table:
    """A table of at most `width` columns, where that is 104 or more: a group of lines a topology, three lines a policy.

    Service time is from the head of the queue to the MAC ACK (or drop) of a data packet; contention and airtime are its
    two halves. Where several flows share a line, goodput is their sum.
    """
    links = data_links(summaries)
    if len(links) <= LINK_COLUMNS_MAX:
        table = _results_table(summaries, links)
        if _width(table) <= width:
            return table
    return _results_table(summaries, None)


def flows_table(summaries: list[Summary]) -> Table | None:
    """A line a flow of every point with several, and one for their sum; None where no point has several."""
    summaries = [summary for summary in summaries if len(summary.flows) > 1]
    if not summaries:
        return None
    swept = _swept_names(summaries)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, title="Each flow", title_justify="left")
    table.add_column("hops", justify="right")
    for name in swept:
        table.add_column(name.rsplit(".", 1)[-1], justify="right")
    table.add_column("policy", no_wrap=True)
    table.add_column("flow", no_wrap=True)
    for head in ("goodput\nkb/s", "RTT\nms", "CWL\npkts", "TCP\nre-sends", "Jain's\nindex"):
        table.add_column(head, justify="right", no_wrap=True)
    previous: object = None
    for summary in summaries:
        group = (summary.hops, tuple(str(summary.swept.get(name)) for name in swept))
        if previous is not None:
            table.add_section()
        begin: list[Text | str] = [str(summary.hops) if group != previous else ""]
        begin += [f"{swept_word(summary.swept.get(name))}" if group != previous else "" for name in swept]
        begin.append(_policy(summary))
        previous = group
        flows, left_out = shown_flows(summary)
        for flow in flows:
            table.add_row(*begin, *_flow_cells(flow))
            begin = [""] * len(begin)
        name = f"sum of {len(summary.flows)}" + (f", {left_out} not shown" if left_out else "")
        sum_cells: list[Text | str] = [Text(name, style="bold"), _mean(summary.goodput_bps, 1e-3, 0), "", ""]
        resends = "-" if summary.retransmissions is None else f"{summary.retransmissions:.0f}"
        table.add_row(*begin, *sum_cells, resends, _mean(summary.jain, 1, 2))
    return table


def _flow_cells(flow: FlowSummary) -> list[Text | str]:
    return [
        flow.name,
        _mean(flow.goodput_bps, 1e-3, 0),
        _mean(flow.rtt_ms, 1, 0),
        _mean(flow.cwl_packets, 1, 1),
        "-" if flow.retransmissions is None else f"{flow.retransmissions.value:.0f}",
        "",
    ]


def _results_table(summaries: list[Summary], links: list[Link] | None) -> Table:
    """@param links that have a column each; None: the mean and the slowest stand for them"""
    swept = _swept_names(summaries)
    has_tcp = any(summary.has_tcp for summary in summaries)
    has_policy = any(summary.policy for summary in summaries)
    several = any(len(summary.flows) > 1 for summary in summaries)
    short = any(summary.short_of_seeds for summary in summaries)

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    show_hops = has_tcp or len({summary.hops for summary in summaries}) > 1
    if show_hops:
        table.add_column("hops", justify="right")
    for name in swept:
        table.add_column(name.rsplit(".", 1)[-1], justify="right")
    if has_policy:
        table.add_column("policy", no_wrap=True)
    if short:
        table.add_column("n", no_wrap=True)
    table.add_column("goodput\nsum kb/s" if several else "goodput\nkb/s", justify="right", no_wrap=True)
    if has_tcp:
        table.add_column("RTT\nms", justify="right")
        table.add_column("CWL\npkts", justify="right")
    table.add_column("re-\ntries", justify="right")
    table.add_column("drops", justify="right")
    table.add_column("ms for a\npacket", no_wrap=True)
    if links is not None:
        for link in links:
            table.add_column(f"link\n{link_name(link)}", justify="right", no_wrap=True)
    else:
        table.add_column("mean", justify="right")
        table.add_column("worst", justify="right")
        table.add_column("link", justify="right")

    previous: object = None
    for summary in summaries:
        group = (summary.hops, tuple(str(summary.swept.get(name)) for name in swept))
        if previous is not None and group != previous and (has_tcp or len(summary.forward) > 1):
            table.add_section()
        cells: list[Text | str] = [str(summary.hops) if group != previous else ""] if show_hops else []
        cells += [f"{swept_word(summary.swept.get(name))}" if group != previous else "" for name in swept]
        previous = group
        if has_policy:
            cells.append(_policy(summary))
        if short:
            cells.append(_seeds(summary))
        mark = "*" if summary.interrupted and not has_policy else ""
        cells.append(Text.assemble(mark, _mean(summary.goodput_bps, 1e-3, 0)))
        if has_tcp:
            cells += [_mean(summary.rtt_ms, 1, 0), _mean(summary.cwl_packets, 1, 1)]
        cells += ["-" if count is None else f"{count:.0f}" for count in (summary.retries, summary.drops)]
        cells.append(_lines([(label, style) for label, style, _ in HOP_LINES]))
        if links is not None:
            cost = {hop.link: _hop(hop) for hop in summary.forward}
            cells += [cost.get(link, "") for link in links]
        else:
            cells += _mean_and_worst(summary.forward)
        table.add_row(*cells)
    table.caption = "\n".join(notes(summaries)) or None
    table.caption_justify = "left"
    return table


def notes(summaries: list[Summary]) -> list[str]:
    """What a reader of the summaries' table must know."""
    found = []
    if any(len(summary.flows) > 1 for summary in summaries):
        found.append(
            "goodput, retries and drops are sums over all flows; RTT and CWL are means over the flows with one"
        )
    if any(hop.direction == "both" for summary in summaries for hop in summary.forward):
        found.append(MIXED)
    if any(summary.short_of_seeds for summary in summaries):
        found.append(
            "column n says how many runs are in the means, of those asked for; the others failed or were not finished"
        )
    if any(summary.interrupted for summary in summaries):
        found.append("* interrupted: what was measured until then")
    return found


def _width(table: Table) -> int:
    console = Console(width=10_000)
    caption, table.caption = table.caption, None
    needed = Measurement.get(console, console.options, table).maximum
    table.caption = caption
    return needed


def _policy(summary: Summary) -> Text:
    return Text(summary.policy + ("*" if summary.interrupted else ""), style="bold")


def _seeds(summary: Summary) -> Text | str:
    short = summary.short_of_seeds
    return Text(short, style="bold red") if short else str(summary.seeds)


def _swept_names(summaries: list[Summary]) -> list[str]:
    """Swept fields that the hop count does not already tell."""
    names = list(summaries[0].swept) if summaries else []
    return [name for name in names if name != "topology.hops"]


def _mean(value: Mean | None, factor: float, digits: int) -> Text | str:
    if value is None:
        return "-"
    text = f"{value.value * factor:.{digits}f}"
    return Text.assemble(text, (f"\n±{value.half * factor:.{digits}f}", "dim")) if value.count > 1 else text


def _hop(hop: Hop) -> Text:
    return _lines([(f"{read(hop) / 1e3:.1f}", style) for _, style, read in HOP_LINES])


def _lines(lines: list[tuple[str, str]]) -> Text:
    return Text("\n").join(Text(text, style=style) for text, style in lines)


def _mean_and_worst(links: list[Hop]) -> list[Text | str]:
    if not links:
        return ["", "", ""]
    worst = max(links, key=lambda hop: hop.service_time_us)
    means = [statistics.fmean(read(hop) for hop in links) for _, _, read in HOP_LINES]
    return [
        _lines([(f"{value / 1e3:.2f}", style) for value, (_, style, _) in zip(means, HOP_LINES, strict=True)]),
        _lines([(f"{read(worst) / 1e3:.2f}", style) for _, style, read in HOP_LINES]),
        worst.name,
    ]
