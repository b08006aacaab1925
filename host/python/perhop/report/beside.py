# SPDX-License-Identifier: GPL-2.0-or-later
"""The results of one experiment from several places (sim, live, radio) side by side."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.errors import PerhopError
from perhop.experiment.load import Point
from perhop.experiment.words import swept_word
from perhop.report import page
from perhop.report.table import MIXED
from perhop.study import results
from perhop.study.backend import NAMES
from perhop.study.summaries import Mean, Summary, data_links, link_name, summarise

# What must be the same for results to be compared; durations and seeds need not be.
COMPARED = ("topology", "medium", "mac", "routing", "flows", "events", "exact")
# Cells of hops beyond this many are left to hops.parquet.
MOST_HOPS = 8
TITLES = {"sim": "simulated", "kernel": "kernel, virtual time", "live": "live, namespaces", "radio": "radio, hosts"}


@dataclass(frozen=True)
class Place:
    """Results of the experiment from one place; `duration_s` and `seeds` are of its runs."""

    backend: str
    folder: Path
    summaries: list[Summary]
    duration_s: float
    seeds: int


Key = tuple[Any, ...]


def key(summary: Summary) -> Key:
    """What says that two summaries are of the same point and policy."""
    return summary.hops, summary.policy, tuple(sorted((name, str(value)) for name, value in summary.swept.items()))


def find(experiment: dict[str, Any], backend: str, folders: dict[str, Path]) -> list[Place]:
    """The other places' results in `folders` (by backend) that are of this very experiment, in the usual order."""
    found = []
    for name in NAMES:
        if name == backend or name not in folders:
            continue
        place = read(name, folders[name])
        if place is not None and _same(experiment, folders[name]):
            found.append(place)
    return found


def demand(points: list[Point], backend: str, folders: dict[str, Path]) -> None:
    """That each of `folders` holds results to compare with those of `points`. Raises PerhopError."""
    experiment = json.loads(json.dumps(points[0].experiment.model_dump()))
    for name, folder in folders.items():
        where = f"--beside {paths.shown(folder)}"
        if name == backend:
            raise PerhopError(
                f"{where} holds results of backend {name}, as this call makes them", "give a folder of another backend"
            )
        if read(name, folder) is None:
            raise PerhopError(f"{where} holds no results that can be read", "make them again: `perhop run ...`")
        told = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        different = [section for section in COMPARED if experiment.get(section) != told["experiment"].get(section)]
        swept = json.loads(json.dumps([point.swept for point in points]))
        if not different and not any(point in told["points"] for point in swept):
            different = ["sweep"]
        ours, theirs = experiment["policies"], told["experiment"]["policies"]
        if not different and ours != theirs and not set(ours) & set(theirs):
            different = ["policies"]
        if different:
            raise PerhopError(
                f"{where} holds results of another experiment: {told['experiment']['name']}, with another "
                + ", ".join(different),
                "give the output folder of this experiment, or leave --beside out",
            )


def read(backend: str, folder: Path) -> Place | None:
    """The results that a call of `perhop run` wrote into a folder; None where there are none."""
    try:
        told = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        whole = results.read(folder)
    except (OSError, ValueError):
        return None
    if told.get("backend", "sim") != backend or not whole.flows:
        return None
    experiment = told["experiment"]
    return Place(backend, folder, summarise(whole), float(experiment["duration_s"]), len(experiment["seeds"]))


def _same(experiment: dict[str, Any], folder: Path) -> bool:
    other = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["experiment"]
    # As JSON has it: tuples are lists there.
    ours = json.loads(json.dumps(experiment))
    return all(ours.get(name) == other.get(name) for name in COMPARED)


def rows(places: list[Place]) -> list[tuple[Summary, dict[str, Summary]]]:
    """For each point and policy that all places have: the first place's summary, and all by backend."""
    tables = {place.backend: {key(summary): summary for summary in place.summaries} for place in places}
    return [
        (summary, {name: table[key(summary)] for name, table in tables.items()})
        for summary in places[0].summaries
        if all(key(summary) in table for table in tables.values())
    ]


def service_ms(summary: Summary) -> Mean | None:
    """Service time of a packet over all hops of the path."""
    hops = summary.forward
    return Mean(sum(hop.service_time_us for hop in hops) / 1e3, 0.0, 1) if hops else None


@dataclass(frozen=True)
class Shown:
    """A lead, a figure and a table."""

    lead: str
    figure: Any
    table: page.Table


def shown(places: list[Place]) -> Shown | None:
    """The places' results side by side; None where nothing is the same."""
    found = rows(places)
    if not found:
        return None
    from perhop.report import figures

    names = [place.backend for place in places]
    all_shown = [one for _, each in found for one in each.values()]
    several = any(len(summary.flows) > 1 for summary in all_shown)
    labels = [_caption(summary) for summary, _ in found]
    panels = [
        (
            figures.goodput_title(all_shown),
            "kb/s",
            [[each[name].goodput_bps for _, each in found] for name in names],
            1e-3,
        ),
        ("Round-trip time", "ms", [[each[name].rtt_ms for _, each in found] for name in names], 1.0),
        (
            "Service time, links of all flows" if several else "Service time, all hops",
            "ms a packet",
            [[service_ms(each[name]) for _, each in found] for name in names],
            1.0,
        ),
    ]
    panels = [panel for panel in panels if any(value is not None for line in panel[2] for value in line)]
    links = data_links(all_shown)
    if len(links) > MOST_HOPS:
        links = []
    goodput = "goodput, sum\nkb/s" if several else "goodput\nkb/s"
    cost_of_all = "all links\nms" if several else "all hops\nms"
    head = ["point", "where", goodput, "RTT\nms", "window\npackets", "retries", "drops", cost_of_all]
    head += [f"{link_name(link)}\nms" for link in links]
    lines = []
    for label, (_, each) in zip(labels, found, strict=True):
        for name in names:
            one = each[name]
            first = name == names[0]
            whose = name + (f" (n {one.short_of_seeds})" if one.short_of_seeds else "")
            line = [page.Cell(label, strong=True, unseen=not first), page.Cell(whose)]
            line += [_cell(one.goodput_bps, 1e-3, 0), _cell(one.rtt_ms, 1, 1), _cell(one.cwnd_packets, 1, 1)]
            line += [page.Cell("-" if count is None else f"{count:.0f}") for count in (one.retries, one.drops)]
            line.append(_cell(service_ms(one), 1, 2))
            cost = {hop.link: f"{hop.service_time_us / 1e3:.2f}" for hop in one.forward}
            line += [page.Cell(cost.get(link, "")) for link in links]
            lines.append(page.Row(first, line))
    runs = "; ".join(f"{TITLES[place.backend]}: {place.seeds} runs of {place.duration_s:g} s" for place in places)
    lead = (
        "The same file, gateware and policies, in each place that has results of it; hops are service times. "
        f"± is a 95 % interval over seeds. {runs}."
    )
    lead += "".join(
        f" {TITLES[place.backend]}: {MIXED}."
        for place in places
        if any(hop.direction == "both" for summary in place.summaries for hop in summary.forward)
    )
    caption = "Side by side: a line for each point and place"
    table = page.Table(caption, head, lines, named_by="point", left=("point", "where"))
    return Shown(lead, figures.grouped_figure(panels, labels, [TITLES[name] for name in names]), table)


def _caption(summary: Summary) -> str:
    words = [f"{summary.hops} hop{'s' if summary.hops != 1 else ''}"] if "topology.hops" in summary.swept else []
    words += [summary.policy] if summary.policy else []
    words += [
        f"{name.rsplit('.', 1)[-1]} {swept_word(value)}"
        for name, value in summary.swept.items()
        if name != "topology.hops"
    ]
    return ", ".join(words) or "all"


def _cell(value: Mean | None, factor: float, digits: int) -> page.Cell:
    if value is None:
        return page.Cell("-")
    below = f"±{value.half * factor:.{digits}f}" if value.count > 1 else ""
    return page.Cell(f"{value.value * factor:.{digits}f}", below)
