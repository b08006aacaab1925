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
from perhop.experiment import motion
from perhop.experiment.schema import Link
from perhop.experiment.words import swept_word
from perhop.report import beside, page
from perhop.report.beside import Place
from perhop.report.page import text as _text
from perhop.report.study_tables import flows_section, numbers_section, plain_name, section
from perhop.study import results as res
from perhop.study.backend import NAMES
from perhop.study.check import Check
from perhop.study.outcomes import Study
from perhop.study.plan import Plan
from perhop.study.studies import Finished
from perhop.study.summaries import Hop, Summary

# Panels of bars beyond this many are left to hops.parquet.
PANELS_MAX = 12
# Of more links than this a panel shows the slowest; all are in hops.parquet.
LINKS_MAX = 48
# Traces of nodes that move beyond this many are left to provenance.json.
MOTIONS_MAX = 3

RECEPTION_RULES = {
    "ns2": "as ns-2 does, a frame survives a later one only if it is stronger by the capture ratio, else both are lost",
    "sinr": "a frame is good while its power stays above the threshold of its rate over noise and all other frames",
}

WHERE = {
    "sim": "simulated",
    "kernel": "simulated, Linux kernels' TCP in virtual time",
    "live": "live: namespaces, kernel's TCP",
    "radio": "radio: hosts over SSH, kernel's TCP",
}


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
            section(
                f"Results by {plain_name(x_name)}",
                f"Means over the measured time, without the first {experiment.warmup_s:g} s.{spread}",
                figures.lines_figure(summaries, x_name, lambda summary: _caption(summary, x_name)),
            )
        )
    parts.append(_where_time_goes(summaries, x_name, figures))
    parts.append(flows_section(summaries))
    parts.append(numbers_section(summaries))
    parts.append(_what_was_run(plan, study, command))
    return page.document(f"{experiment.name} · perhop", parts, style=figures.dark_style())


def _facts(plan: Plan, study: Study) -> str:
    experiment = plan.points[0].experiment
    version = paths.version()
    rts = experiment.mac.rts_threshold_bytes
    facts = {
        "where": WHERE[plan.backend.name],
        "PHY and MAC": f"{experiment.mac.profile}, {experiment.mac.data_rate_mbps:g} Mb/s, {experiment.mac.compat}",
        **({"other rates": ", ".join(_link(link) for link in experiment.links)} if experiment.links else {}),
        **({"fidelity": experiment.mac.fidelity} if plan.backend.name != "radio" else {}),
        "RTS/CTS": "always" if rts == 0 else "never" if rts == 4095 else f"above {rts} bytes",
        **(
            {"reception": f"{experiment.medium.reception} rule, {experiment.medium.loss} loss"}
            if plan.backend.name != "radio"
            else {}
        ),
        **_motion(plan),
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


def _motion(plan: Plan) -> dict[str, str]:
    """What mobile topologies are like, each once."""
    told = [motion.about(point.experiment, plan.source.parent) for point in plan.points]
    words = list(dict.fromkeys(about.words() for about in told if about is not None))
    if not words:
        return {}
    more = f"; and {len(words) - MOTIONS_MAX} other traces" if len(words) > MOTIONS_MAX else ""
    return {"motion": "; ".join(words[:MOTIONS_MAX]) + more}


def _link(link: Link) -> str:
    where = f"between nodes {link.a} and {link.b}" if link.both_ways else f"from node {link.a} to node {link.b}"
    return f"{link.data_rate_mbps:g} Mb/s {where}"


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
        f"{plain_name(name)} {swept_word(value)}"
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
    return section(f"At {_hops(longest)}", lead, f'<div class="cards">{"".join(cards)}</div>')


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
        return section(title, lead, figures.parts_figure(_link_panels(with_links, x_name, figures), queue=False))

    def at(hops: int) -> str:
        chosen = [summary for summary in with_links if summary.hops == hops][:PANELS_MAX]
        return figures.parts_figure(
            [figures.path_bars(*_shown_links(_caption(summary, "hops"), summary.forward)) for summary in chosen]
        )

    lengths = sorted({summary.hops for summary in with_links})
    longest = lengths[-1]
    body = at(longest)
    if len(lengths) > 2:
        middle = lengths[len(lengths) // 2 - 1]
        body += f"<details><summary>The same at {_hops(middle)}</summary>{at(middle)}</details>"
    return section("Where the time of a data packet goes" + (f", {longest} hops" if longest > 1 else ""), lead, body)


def _shown_links(title: str, links: list[Hop]) -> tuple[str, list[Hop]]:
    """A panel's title and links: all, or of too many the slowest, in the order that they had."""
    if len(links) <= LINKS_MAX:
        return title, links
    slowest = sorted(links, key=lambda link: -link.service_time_us)[:LINKS_MAX]
    kept = {id(link) for link in slowest}
    return f"{title}, the {LINKS_MAX} slowest of {len(links)} links", [link for link in links if id(link) in kept]


def _link_panels(summaries: list[Summary], x_name: str | None, figures: Any) -> list[Any]:
    """MAC-level traffic: a panel for each combination of what is not on the x axis, a bar the mean over its links."""
    groups: dict[str, list[Summary]] = {}
    for summary in summaries:
        groups.setdefault(_caption(summary, x_name or ""), []).append(summary)
    panels = []
    for title, group in list(groups.items())[:PANELS_MAX]:
        labels = [f"{figures.x_value(summary, x_name):g}" if x_name else "" for summary in group]
        panels.append(
            figures.Bars(title, labels, [summary.mean_link for summary in group], plain_name(x_name or "mean of links"))
        )
    return panels


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
    return section(
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
