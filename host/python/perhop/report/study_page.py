# SPDX-License-Identifier: GPL-2.0-or-later
"""One self-contained HTML page for a study: what came out, where the time went, and what exactly was run."""

from __future__ import annotations

import base64
import json
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

from perhop import files, paths
from perhop.experiment.words import swept_word
from perhop.report import beside, page, table
from perhop.report.beside import Place
from perhop.report.page import text as _text
from perhop.study import results as res
from perhop.study.backend import NAMES
from perhop.study.check import Check
from perhop.study.plan import Plan
from perhop.study.runner import Study
from perhop.study.studies import Finished
from perhop.study.summaries import Hop, Mean, Summary, data_links, link_name, shown_flows

# Cells of hops beyond this many are left to hops.parquet.
HOP_CELLS_MAX = 16
# Panels of bars beyond this many are left to hops.parquet.
PANELS_MAX = 12

RECEPTION_RULES = {
    "ns2": "as ns-2 does, a frame survives a later one only if it is stronger by the capture ratio, else both are lost",
    "sinr": "a frame is good while its power stays above the threshold of its rate over noise and all other frames",
}

WHERE = {"sim": "simulated", "live": "live: namespaces, kernel's TCP", "radio": "radio: hosts over SSH, kernel's TCP"}


def write(done: Finished, command: list[str]) -> Finished:
    """Write report.html of a study that gave results: the same study, with this file among those written.

    Other backends' results of the same experiment are shown beside, where there are any.
    """
    if not done.summaries:
        return done
    plan = done.plan
    experiment = plan.points[0].experiment
    here = Place(plan.backend.name, plan.folder, done.summaries, float(experiment.duration_s), len(experiment.seeds))
    others = beside.find(experiment.model_dump(), here.backend, plan.others)
    places = sorted([here, *others], key=lambda place: NAMES.index(place.backend))
    file = plan.folder / "report.html"
    files.write_text(file, render(plan, done.study, done.summaries, command, done.check, places))
    return replace(done, written={**done.written, "report": file})


def render(
    plan: Plan, study: Study, summaries: list[Summary], command: list[str], check: Check | None, places: list[Place]
) -> str:
    """The whole page. It names no file outside itself but those beside it in the output folder.

    `places` are where the experiment has been made, this one among them: two or more are shown side by side.
    """
    from perhop.report import figures  # matplotlib takes a second to load, which `perhop doctor` need not wait for

    experiment = plan.points[0].experiment
    x_name = _x_name(summaries)
    parts = [
        f"<header><h1>{_text(experiment.name)}</h1><p>{_text(experiment.description)}</p></header>",
        _facts(plan, study),
        _notes(study),
    ]
    if check is not None:
        parts.append(_check(check))
    if cards := _cards(summaries, [figures.colour(light) for light in figures.COLOURS]):
        parts.append(cards)
    if len(places) > 1:
        parts.append(beside.section(places))
    if x_name:
        spread = (
            " Bars are 95 % confidence intervals over seeds."
            if len(experiment.seeds) > 1
            else " One seed: no interval."
        )
        parts.append(
            _section(
                f"Results by {_plain_name(x_name)}",
                f"Means over the measured time, without the first {experiment.warmup_s:g} s.{spread}",
                figures.lines_figure(summaries, x_name, lambda summary: _caption(summary, x_name)),
            )
        )
    parts.append(_where_time_goes(summaries, x_name, figures))
    parts.append(_flows(summaries))
    parts.append(_table(summaries))
    parts.append(_what_was_run(plan, study, command))
    return page.document(f"{experiment.name} · perhop", parts, style=figures.dark_style())


def _section(title: str, lead: str, body: str) -> str:
    return f"<section><h2>{_text(title)}</h2><p>{lead}</p>{body}</section>"


def _facts(plan: Plan, study: Study) -> str:
    experiment = plan.points[0].experiment
    version = paths.version()
    rts = experiment.mac.rts_threshold_bytes
    facts = {
        "where": WHERE[plan.backend.name],
        "PHY and MAC": f"{experiment.mac.profile}, {experiment.mac.data_rate_mbps:g} Mb/s, {experiment.mac.compat}",
        **({"fidelity": experiment.mac.fidelity} if plan.backend.name != "radio" else {}),
        "RTS/CTS": "always" if rts == 0 else "never" if rts == 4095 else f"above {rts} bytes",
        **(
            {"reception": f"{experiment.medium.reception} rule, {experiment.medium.loss} loss"}
            if plan.backend.name != "radio"
            else {}
        ),
        "runs": f"{len(study.outcomes)} of {experiment.duration_s:g} s",
        "seeds": ", ".join(str(seed) for seed in experiment.seeds),
        "took": f"{study.wall_s:.0f} s" + (f" ({study.reused} runs reused)" if study.reused else ""),
        "version": f"{version['perhop']} {version['git'] or ''}".strip(),
    }
    swept = {name for point in plan.points for name in point.swept}
    if any(name.startswith("mac.rts") for name in swept):
        del facts["RTS/CTS"]
    items = "".join(f"<li><b>{_text(name)}</b>{_text(value)}</li>" for name, value in facts.items())
    return f'<ul class="facts">{items}</ul>'


def _notes(study: Study) -> str:
    notes = []
    cut = [outcome.run.label for outcome in study.outcomes if outcome.status == "interrupted"]
    missing = sum(outcome.status in ("pending", "running") for outcome in study.outcomes)
    if cut or missing:
        notes.append(
            f"Interrupted: {len(cut)} runs were cut short and {missing} not begun. The same command resumes them."
        )
    for outcome in study.failed:
        notes.append(f"{outcome.run.label}: {outcome.message}")
    return "".join(f'<div class="note">{_text(note)}</div>' for note in notes)


def _x_name(summaries: list[Summary]) -> str | None:
    """What the plots go over: hops if they vary, else the swept number with the most values."""
    if len({summary.hops for summary in summaries}) > 1:
        return "hops"
    swept: dict[str, set[Any]] = {}
    for summary in summaries:
        for name, value in summary.swept.items():
            swept.setdefault(name, set()).add(value if isinstance(value, int | float) else None)
    numeric = {name: len(values) for name, values in swept.items() if None not in values and len(values) > 1}
    return max(numeric, key=lambda name: numeric[name]) if numeric else None


def _caption(summary: Summary, x_name: str) -> str:
    words = [summary.policy] if summary.policy else []
    words += [
        f"{_plain_name(name)} {swept_word(value)}"
        for name, value in summary.swept.items()
        if name != x_name and not (x_name == "hops" and name == "topology.hops")
    ]
    return ", ".join(words) or "all"


def _cards(summaries: list[Summary], colours: list[str]) -> str:
    """The longest topology's policies at a glance."""
    longest = max((summary.hops for summary in summaries), default=0)
    chosen = [summary for summary in summaries if summary.hops == longest]
    if len(chosen) > 8 or not all(summary.has_tcp for summary in chosen):
        return ""
    several = any(len(summary.flows) > 1 for summary in chosen)
    cards = []
    for index, summary in enumerate(chosen):
        rtt = f"RTT {summary.rtt_ms.value:.0f} ms" if summary.rtt_ms else ""
        window = f" · window {summary.cwnd_packets.value:.1f}" if summary.cwnd_packets else ""
        dropped = summary.drops or 0.0
        drops = "1&nbsp;drop" if round(dropped) == 1 else f"{dropped:.0f}&nbsp;drops"
        short = f" · n {summary.short_of_seeds}" if summary.short_of_seeds else ""
        total = " sum of all flows" if len(summary.flows) > 1 else ""
        goodput = f"{summary.goodput_bps.value / 1e3:.0f}" if summary.goodput_bps else "-"
        cards.append(
            f'<div class="card" style="--colour:{colours[index % len(colours)]}">'
            f'<div class="name">{_text(_caption(summary, "hops"))}</div>'
            f'<div class="big">{goodput} <small>kb/s{total}</small></div>'
            f'<div class="rest">{rtt}{window} · {drops}{short}</div></div>'
        )
    whose = "Sum of the goodput of all flows" if several else "Goodput of TCP"
    lead = f"{whose} under each limit of its congestion window; a limit of packets in flight is called CWL."
    return _section(f"At {_hops(longest)}", lead, f'<div class="cards">{"".join(cards)}</div>')


def _hops(count: int) -> str:
    return "1 hop" if count == 1 else f"{count} hops"


def _where_time_goes(summaries: list[Summary], x_name: str | None, figures: Any) -> str:
    with_links = [summary for summary in summaries if summary.links]
    if not with_links:
        return ""
    lead = (
        "Every microsecond from the head of the MAC's queue to the MAC ACK (or the drop), measured by the gateware: "
        "blue is air time, yellow to brown is contention."
    )
    if not all(summary.has_tcp for summary in with_links):
        title = "Where the time of a packet goes"
        return _section(title, lead, figures.parts_figure(_link_panels(with_links, x_name, figures), queue=False))

    def at(hops: int) -> str:
        chosen = [summary for summary in with_links if summary.hops == hops][:PANELS_MAX]
        return figures.parts_figure(
            [figures.path_bars(_caption(summary, "hops"), summary.forward) for summary in chosen]
        )

    lengths = sorted({summary.hops for summary in with_links})
    longest = lengths[-1]
    body = at(longest)
    if len(lengths) > 2:
        middle = lengths[len(lengths) // 2 - 1]
        body += f"<details><summary>The same at {_hops(middle)}</summary>{at(middle)}</details>"
    return _section("Where the time of a data packet goes" + (f", {longest} hops" if longest > 1 else ""), lead, body)


def _link_panels(summaries: list[Summary], x_name: str | None, figures: Any) -> list[Any]:
    """MAC-level traffic: a panel for each combination of what is not on the x axis, a bar the mean over its links."""
    groups: dict[str, list[Summary]] = {}
    for summary in summaries:
        groups.setdefault(_caption(summary, x_name or ""), []).append(summary)
    panels = []
    for title, group in list(groups.items())[:PANELS_MAX]:
        labels = [f"{figures.x_value(summary, x_name):g}" if x_name else "" for summary in group]
        panels.append(
            figures.Bars(
                title, labels, [summary.mean_link for summary in group], _plain_name(x_name or "mean of links")
            )
        )
    return panels


def _plain_name(field: str) -> str:
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
    return _section(title, lead, page.table(f"{title}: {lines_are}", head, lines, left=left))


def _flows(summaries: list[Summary]) -> str:
    """A row a flow of every point with several, and one for their sum; empty where no point has several."""
    summaries = [summary for summary in summaries if len(summary.flows) > 1]
    if not summaries:
        return ""
    names = _swept_names(summaries)
    head = ["hops", *(_plain_name(name) for name in names), "policy", "flow", "goodput<br>kb/s", "RTT<br>ms", "CWL"]
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


def _table(summaries: list[Summary]) -> str:
    has_tcp = any(summary.has_tcp for summary in summaries)
    several = any(len(summary.flows) > 1 for summary in summaries)
    short = any(summary.short_of_seeds for summary in summaries)
    links = data_links(summaries)
    cells = len(links) <= HOP_CELLS_MAX
    slowest_us = max((hop.service_time_us for s in summaries for hop in s.forward), default=1.0) or 1.0
    names = _swept_names(summaries)
    show_hops = has_tcp or len({summary.hops for summary in summaries}) > 1
    head = (["hops"] if show_hops else []) + [*(_plain_name(name) for name in names)]
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


def _check(check: Check) -> str:
    word, style = ("holds", "pass") if check.passed else ("does not hold", "fail")
    lines = _text("\n".join(check.lines))
    pictures = "".join(_picture(file) for file in check.figures)
    return (
        f'<section><h2>Check: <span class="verdict {style}">{word}</span></h2>'
        f"<p>What the experiment claims, against what was measured.</p>{pictures}<pre>{lines}</pre></section>"
    )


def _picture(file: Path) -> str:
    from perhop.report import figures

    label = "Figure of the check: " + file.stem.replace("_", " ")
    if file.suffix == ".svg":
        return page.wide(figures.inline(file.read_text(encoding="utf-8"), label), label)
    data = base64.b64encode(file.read_bytes()).decode()
    return page.wide(f'<img alt="{_text(label)}" src="data:image/png;base64,{data}">', label)


def _what_was_run(plan: Plan, study: Study, command: list[str]) -> str:
    experiment = plan.points[0].experiment
    version = paths.version()
    recorded = res.packets(study)
    swept = {name: [point.swept[name] for point in plan.points] for name in plan.points[0].swept}
    swept_text = "; ".join(
        f"{name} = {', '.join(dict.fromkeys(str(swept_word(v)) for v in values))}" for name, values in swept.items()
    )
    facts = {
        "command": f"<code>{_text(' '.join(command))}</code>" if command else "",
        "version": _text(f"perhop {version['perhop']}, tree {version['git'] or 'not under git'}"),
        "seeds": _text(", ".join(str(seed) for seed in experiment.seeds)),
        "sweep": _text(swept_text),
        "reception": _text(
            f"{experiment.medium.reception}: {RECEPTION_RULES[experiment.medium.reception]}; "
            f"frames read up to {experiment.medium.tx_range_m:g} m, sensed up to {experiment.medium.cs_range_m:g} m"
            if plan.backend.name != "radio"
            else "what the radios hear; topology and medium of the file are where the nodes were meant to stand"
        ),
        "nodes": _text(_hosts(study)),
        "common time": _text(_clocks(study)),
        "service-time sums": _text(
            f"{study.total('completions_checked'):,} completion records checked, "
            f"{study.total('sum_mismatches')} whose parts do not sum to the whole"
        ),
        "packets": _text(f"packets.pcapng holds the run {recorded.title}") if recorded else "",
        "machine": _text(f"{platform.machine()}, Python {platform.python_version()}"),
        "data beside this page": "<code>results.parquet</code> (flow and interval), <code>flows.parquet</code>, "
        "<code>hops.parquet</code> (run, link and direction), <code>runs.parquet</code>, "
        "<code>provenance.json</code>, <code>runs/&lt;id&gt;/</code>",
    }
    items = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts.items() if value)
    config = _text(json.dumps(experiment.model_dump(), indent=1))
    runs = _text("\n".join(f"{o.run.id}  {o.status:<11}  {o.wall_s:6.1f} s  {o.run.label}" for o in study.outcomes))
    return _section(
        "What was run",
        "Enough to make every number again.",
        f"<dl>{items}</dl>"
        f"<details><summary>Configuration of the first point, defaults spelt out</summary><pre>{config}</pre></details>"
        f"<details><summary>The {len(study.outcomes)} runs</summary><pre>{runs}</pre></details>",
    )


def _hosts(study: Study) -> str:
    """The hosts of the first run, with what each had for a radio."""
    nodes = study.outcomes[0].run.config.get("realtime", {}).get("nodes", [])
    return "; ".join(f"{node['name']}: {node['address']}, {node['radio']['kind']}" for node in nodes)


def _clocks(study: Study) -> str:
    """How exactly the nodes of runs in real time began together, and counted at one time."""
    results = [outcome.result for outcome in study.outcomes if outcome.result is not None]
    clocks = [result["common_time"] for result in results if "common_time" in result]
    if not clocks:
        return ""
    bound_us = max(value for clock in clocks for value in clock["bound_us"])
    offset_ms = max(abs(value) for clock in clocks for value in clock["time_of_day_offset_ms"])
    drift_us = max((abs(value) for clock in clocks for value in clock["drift_us"]), default=0.0)
    late_us = max(result.get("late_us") or 0 for result in results)
    return (
        f"every node began and counted within {bound_us:.0f} us of the common moment, which is half of the shortest "
        f"round trip to it; counts were taken at most {late_us} us late; monotonic clocks moved by at most "
        f"{drift_us:.0f} us during a run; times of day were within {offset_ms:.3f} ms of ours. Delays of hops "
        "need no common time: one MAC measures each, from head of line to MAC ACK"
    )
