# SPDX-License-Identifier: GPL-2.0-or-later
"""One self-contained HTML page for a study: what came out, where the time went, and what exactly was run."""

from __future__ import annotations

import base64
import json
import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from perhop import files, paths
from perhop.experiment import motion
from perhop.experiment.schema import Link
from perhop.experiment.words import swept_word
from perhop.report import answer, beside, events, focus, page, table
from perhop.report.beside import Place
from perhop.report.focus import Focus, hops_words
from perhop.report.study_tables import flow_lines, flows_table, numbers_table, plain_name
from perhop.study import results as res
from perhop.study.backend import NAMES
from perhop.study.outcomes import Study
from perhop.study.plan import Plan
from perhop.study.studies import Finished
from perhop.study.summaries import Hop, Summary

TIMELINE_SCRIPT = Path(__file__).with_name("timeline.js")

# The first table has so many lines; the rest is further down the page.
FIRST_LINES_MAX = 24
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
    files.write_text(file, render(done, command, places))
    return replace(done, written={**done.written, "report": file})


def render(done: Finished, command: list[str], places: list[Place]) -> str:
    """The whole page. It names no file outside itself but those beside it in the output folder.

    `places` are where the experiment has been made, this one among them: two or more are shown side by side.
    """
    # matplotlib takes a second to load, which `perhop doctor` need not wait for.
    from perhop.report import drops, figures, over_time, timeline, topology_map

    plan, study, summaries = done.plan, done.study, done.summaries
    experiment = plan.points[0].experiment
    at = focus.find(plan, study, summaries)
    marks = events.marks(at.experiment)
    shown_marks = marks[: events.MARKS_MAX]
    x_name = _x_name(summaries)
    first, left_out = _first_lines(summaries, at)
    several = any(len(summary.flows) > 1 for summary in summaries)
    of_drops, drops_counted = drops.figure(at, done.results.flows)
    air = timeline.make(at, shown_marks)
    version = paths.version()
    return page.render(
        "study.html.jinja",
        f"{experiment.name} · perhop",
        figures.dark_style(),
        experiment=experiment,
        answer=answer.sentences(at, summaries, x_name, marks, WHERE[plan.backend.name]),
        first_table=flows_table("What came out", first),
        first_table_left_out=left_out,
        several=several,
        facts=_facts(plan, study, version),
        notes=_notes(study),
        check=done.check,
        check_pictures=[_picture(file) for file in done.check.figures] if done.check else [],
        beside=beside.shown(places) if len(places) > 1 else None,
        by_x=_by_x(summaries, x_name, experiment.warmup_s, len(experiment.seeds), figures),
        sweep=_sweep(summaries),
        at=f", {at.words}" if at.words else "",
        over_time=over_time.figure(at, done.results.intervals, done.results.queues, shown_marks),
        over_time_lead=_over_time_lead(at, shown_marks),
        marks=shown_marks,
        marks_left_out=len(marks) - len(shown_marks),
        where_time_goes=_where_time_goes(summaries, x_name, figures),
        map=topology_map.figure(at),
        map_lead=_map_lead(at),
        air=air,
        timeline_script=Markup(TIMELINE_SCRIPT.read_text(encoding="utf-8")),
        drops=of_drops,
        drops_counted=drops_counted,
        spread=over_time.spread(at, done.results.intervals),
        spread_lead=_spread_lead(at),
        flows_table=flows_table("Each flow", summaries) if several and left_out else None,
        numbers_table=numbers_table(summaries),
        table_notes=table.notes(summaries),
        provenance=_provenance(plan, study, command, version),
        experiment_text=plan.source.read_text(encoding="utf-8"),
        configuration=json.dumps(experiment.model_dump(), indent=1),
        runs=[f"{o.run.id}  {o.status:<11}  {o.wall_s:6.1f} s  {o.run.label}" for o in study.outcomes],
    )


def _first_lines(summaries: list[Summary], at: Focus) -> tuple[list[Summary], int]:
    """The summaries that the first table is of, and how many lines that leaves to the other ones."""
    if flow_lines(summaries) <= FIRST_LINES_MAX:
        return summaries, 0
    return at.summaries, flow_lines(summaries) - flow_lines(at.summaries)


def _facts(plan: Plan, study: Study, version: dict[str, str | None]) -> dict[str, str]:
    experiment = plan.points[0].experiment
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
    return facts


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


def _notes(study: Study) -> list[str]:
    notes = []
    cut = [outcome.run.label for outcome in study.outcomes if outcome.status == "interrupted"]
    missing = sum(outcome.status in ("pending", "running") for outcome in study.outcomes)
    if cut or missing:
        notes.append(
            f"Interrupted: {len(cut)} runs were cut short and {missing} not begun. The same command resumes them."
        )
    return [*notes, *(f"{outcome.run.label}: {outcome.message}" for outcome in study.failed)]


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


def _by_x(summaries: list[Summary], x_name: str | None, warmup_s: float, seeds: int, figures: Any) -> Any:
    """Lines over the only field that varies; a sweep over several has heat maps or small panels."""
    from perhop.report import sweep_figures

    if not x_name or len(sweep_figures.axes(summaries)) > 1:
        return None
    spread = "Bars are 95 % confidence intervals over seeds." if seeds > 1 else "One seed: no interval."
    return {
        "name": plain_name(x_name),
        "lead": f"Means over the measured time, without the first {warmup_s:g} s. {spread}",
        "figure": figures.lines_figure(summaries, x_name, lambda summary: _caption(summary, x_name)),
    }


def _sweep(summaries: list[Summary]) -> Any:
    """Two fields that vary: heat maps; three or more: a small panel for each combination of all but the first."""
    from perhop.report import sweep_figures

    axes = sweep_figures.axes(summaries)
    if len(axes) < 2:
        return None
    title = "Results by " + " and ".join(axis.title for axis in axes)
    if len(axes) == 2:
        lead = "A map for each policy; all maps of a quantity have one scale of colours, and say means over seeds."
        return {"title": title, "lead": lead, "groups": sweep_figures.heat_maps(summaries, *axes)}
    groups, left_out = sweep_figures.small_multiples(summaries, axes[0], axes[1:])
    lead = (
        f"A panel for each combination of the other fields, over {axes[0].title}; bars are 95 % intervals over seeds."
    )
    lead += f" {left_out} other combinations are in flows.parquet." if left_out else ""
    return {"title": title, "lead": lead, "groups": groups}


def _over_time_lead(at: Focus, marks: list[Any]) -> str:
    interval_s = at.experiment.outputs.interval_s
    seeds = len({outcome.run.seed for outcome in at.runs})
    of = f"means over {seeds} seeds" if seeds > 1 else "of one seed"
    few = " A panel of few lines has 95 % intervals as bands." if seeds >= 3 else ""
    marked = " A dashed line marks each event:" if marks else ""
    return f"Intervals of {interval_s:g} s, {of}.{few}{marked}"


def _map_lead(at: Focus) -> str:
    moves = any(event["kind"] == "move" for event in at.outcome.run.config.get("events", []))
    stand = "Where the nodes are at the start of the run" if moves else "Where the nodes stand"
    failed = any(event["kind"] == "node_down" for event in at.outcome.run.config.get("events", []))
    red = " A node that fails during the run has an orange rim." if failed else ""
    return (
        f"{stand}, and the mean service time of all packets on each link that carried some. Of the two directions of a "
        f"link each is on its right-hand side. Where flows begin and end nodes have a thick rim.{red}"
    )


def _spread_lead(at: Focus) -> str:
    interval_s = at.experiment.outputs.interval_s
    recorded = at.experiment.outputs.completions
    packets = (
        " Service times are those of single packets."
        if recorded
        else (" With `outputs: {completions: true}` service times of single packets are here, too.")
    )
    return (
        f"Cumulative distributions over intervals of {interval_s:g} s after the warm-up, all seeds together.{packets}"
    )


def _where_time_goes(summaries: list[Summary], x_name: str | None, figures: Any) -> Any:
    from perhop.report import parts_figures

    with_links = [summary for summary in summaries if summary.links]
    if not with_links:
        return None
    if not all(summary.has_tcp for summary in with_links):
        title = "Where the time of a packet goes"
        panels = parts_figures.parts_figure(_link_panels(with_links, x_name, figures), queue=False)
        return {"title": title, "figure": panels, "more": []}

    def at(hops: int) -> Any:
        chosen = [summary for summary in with_links if summary.hops == hops][:PANELS_MAX]
        return parts_figures.parts_figure(
            [parts_figures.path_bars(*_shown_links(_caption(summary, "hops"), summary.forward)) for summary in chosen]
        )

    lengths = sorted({summary.hops for summary in with_links})
    longest = lengths[-1]
    middle = lengths[len(lengths) // 2 - 1]
    return {
        "title": "Where the time of a data packet goes" + (f", {longest} hops" if longest > 1 else ""),
        "figure": at(longest),
        "more": [(f"The same at {hops_words(middle)}", at(middle))] if len(lengths) > 2 else [],
    }


def _shown_links(title: str, links: list[Hop]) -> tuple[str, list[Hop]]:
    """A panel's title and links: all, or of too many the slowest, in the order that they had."""
    if len(links) <= LINKS_MAX:
        return title, links
    slowest = sorted(links, key=lambda link: -link.service_time_us)[:LINKS_MAX]
    kept = {id(link) for link in slowest}
    return f"{title}, the {LINKS_MAX} slowest of {len(links)} links", [link for link in links if id(link) in kept]


def _link_panels(summaries: list[Summary], x_name: str | None, figures: Any) -> list[Any]:
    """MAC-level traffic: a panel for each combination of what is not on the x axis, a bar the mean over its links."""
    from perhop.report import parts_figures

    groups: dict[str, list[Summary]] = {}
    for summary in summaries:
        groups.setdefault(_caption(summary, x_name or ""), []).append(summary)
    panels = []
    for title, group in list(groups.items())[:PANELS_MAX]:
        labels = [f"{figures.x_value(summary, x_name):g}" if x_name else "" for summary in group]
        panels.append(
            parts_figures.Bars(
                title, labels, [summary.mean_link for summary in group], plain_name(x_name or "mean of links")
            )
        )
    return panels


def _picture(file: Path) -> tuple[Markup, str]:
    """A figure of the check, and what it is of."""
    from perhop.report import figures

    label = "Figure of the check: " + file.stem.replace("_", " ")
    if file.suffix == ".svg":
        return figures.inline(file.read_text(encoding="utf-8"), label), label
    data = base64.b64encode(file.read_bytes()).decode()
    return Markup('<img alt="{}" src="data:image/png;base64,{}">').format(label, data), label


def _provenance(plan: Plan, study: Study, command: list[str], version: dict[str, str | None]) -> dict[str, Any]:
    experiment = plan.points[0].experiment
    recorded = res.packets(study)
    swept = {name: [point.swept[name] for point in plan.points] for name in plan.points[0].swept}
    facts = {
        "command": Markup("<code>{}</code>").format(" ".join(command)) if command else "",
        "version": f"perhop {version['perhop']}, tree {version['git'] or 'not under git'}",
        "seeds": ", ".join(str(seed) for seed in experiment.seeds),
        "sweep": "; ".join(
            f"{name} = {', '.join(dict.fromkeys(str(swept_word(v)) for v in values))}" for name, values in swept.items()
        ),
        "reception": f"{experiment.medium.reception}: {RECEPTION_RULES[experiment.medium.reception]}; "
        f"frames read up to {experiment.medium.tx_range_m:g} m, sensed up to {experiment.medium.cs_range_m:g} m"
        if plan.backend.name != "radio"
        else "what the radios hear; topology and medium of the file are where the nodes were meant to stand",
        "nodes": _hosts(study),
        "common time": _clocks(study),
        "service-time sums": f"{study.total('completions_checked'):,} completion records checked, "
        f"{study.total('sum_mismatches')} whose parts do not sum to the whole",
        "packets": f"packets.pcapng holds the run {recorded.title}" if recorded else "",
        "programs (SHA-256)": ", ".join(f"{name} {sha[:12]}" for name, sha in sorted(study.program_hashes.items())),
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "data beside this page": Markup(
            "<code>results.parquet</code> (flow and interval), <code>flows.parquet</code>, <code>hops.parquet</code> "
            "(run, link and direction), <code>queues.parquet</code> (node and interval), <code>runs.parquet</code>, "
            "<code>provenance.json</code>, <code>runs/&lt;id&gt;/</code>"
        ),
    }
    return {name: value for name, value in facts.items() if value}


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
