# SPDX-License-Identifier: GPL-2.0-or-later
"""The table at the end of a run: what each policy got, and what each hop cost."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from rich import box
from rich.table import Table
from rich.text import Text

from perhop.rows import Hop, Mean, Summary
from perhop.words import swept_word

# Up to this many hops each has a column; beyond, the mean and the slowest stand for them.
HOP_COLUMNS_MAX = 8
# What a table with that many hops takes; on a narrower terminal the mean and the slowest do, too.
WIDTH = 104

HOP_LINES: list[tuple[str, str, Callable[[Hop], float]]] = [
    ("service", "bold", lambda hop: hop.service_time_us),
    ("contend", "dark_orange", lambda hop: hop.contention_us),
    ("air time", "deep_sky_blue1", lambda hop: hop.airtime_us),
]


def results_table(summaries: list[Summary], width: int = WIDTH) -> Table:
    """A table of at most `width` columns, where that is 104 or more: a group of lines a topology, three lines a policy.

    Service time is from the head of the queue to the MAC ACK (or drop); contention and airtime are its two halves.
    """
    swept = _swept_names(summaries)
    has_tcp = any(summary.rtt_ms is not None for summary in summaries)
    longest = max((len(summary.forward) for summary in summaries), default=0)
    chains = all(len(summary.forward) == summary.hops for summary in summaries) and longest <= HOP_COLUMNS_MAX
    chains = chains and width >= WIDTH - 6 * (HOP_COLUMNS_MAX - longest)

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    show_hops = has_tcp or len({summary.hops for summary in summaries}) > 1
    if show_hops:
        table.add_column("hops", justify="right")
    for name in swept:
        table.add_column(name.rsplit(".", 1)[-1], justify="right")
    if has_tcp:
        table.add_column("policy", no_wrap=True)
    table.add_column("goodput\nkb/s", justify="right", no_wrap=True)
    if has_tcp:
        table.add_column("RTT\nms", justify="right")
        table.add_column("CWL\npkts", justify="right")
    table.add_column("re-\ntries", justify="right")
    table.add_column("drops", justify="right")
    table.add_column("ms for a\npacket", no_wrap=True)
    if chains:
        for number in range(1, longest + 1):
            table.add_column(f"hop\n{number}", justify="right", no_wrap=True)
    else:
        table.add_column("mean", justify="right")
        table.add_column("worst", justify="right")
        table.add_column("link", justify="right")

    previous: object = None
    for summary in summaries:
        group = (summary.hops, tuple(str(summary.swept.get(name)) for name in swept))
        if previous is not None and group != previous and (has_tcp or longest > 1):
            table.add_section()
        cells: list[Text | str] = [str(summary.hops) if group != previous else ""] if show_hops else []
        cells += [f"{swept_word(summary.swept.get(name))}" if group != previous else "" for name in swept]
        previous = group
        if has_tcp:
            cells.append(Text(summary.policy + ("*" if summary.interrupted else ""), style="bold"))
        cells.append(_mean(summary.goodput_bps, 1e-3, 0))
        if has_tcp:
            cells += [_mean(summary.rtt_ms, 1, 0), _mean(summary.cwl_packets, 1, 1)]
        cells += [f"{summary.retries:.0f}", f"{summary.drops:.0f}"]
        cells.append(_lines([(label, style) for label, style, _ in HOP_LINES]))
        links = summary.forward
        if chains:
            cells += [_hop(hop) for hop in links] + [""] * (longest - len(links))
        else:
            cells += _mean_and_worst(links)
        table.add_row(*cells)
    if any(summary.interrupted for summary in summaries):
        table.caption = "* interrupted: what was measured until then"
        table.caption_justify = "left"
    return table


def _swept_names(summaries: list[Summary]) -> list[str]:
    """Swept fields that the hop count does not already tell."""
    names = list(summaries[0].swept) if summaries else []
    return [name for name in names if name != "topology.hops"]


def _mean(value: Mean | None, factor: float, digits: int) -> Text | str:
    if value is None or (value.value == 0 and digits == 1):
        return "-"
    text = f"{value.value * factor:.{digits}f}"
    return Text.assemble(text, (f"\n±{value.half * factor:.{max(digits, 0)}f}", "dim")) if value.count > 1 else text


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
        f"{worst.sender}→{worst.receiver}",
    ]
