# SPDX-License-Identifier: GPL-2.0-or-later
"""The experiment that a file of another tool becomes: its nodes, their motion, and a flow to begin with."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perhop.api.experiment import Experiment
from perhop.errors import ExperimentError
from perhop.experiment import schema
from perhop.imports import core_xml
from perhop.imports.detect import CORE, KINDS, detect
from perhop.mobility import formats
from perhop.mobility.trace_file import Presence, Read

# Energy is sensed so much farther than frames are read, as in ns-2 (550 m, 250 m); CORE knows no carrier sense.
CS_RANGE_SHARE = 2.2
# Of a file that does not move nodes.
STANDING_S = 30.0
# Beyond this many events an experiment file is no longer one that people read.
MOST_EVENTS = 2000
MOST_NAMES_SHOWN = 20

TOPOLOGIES = {
    "setdest": schema.SetdestFile,
    "bonnmotion": schema.BonnMotionFile,
    "sumo": schema.SumoFile,
    "eel": schema.EelFile,
}


@dataclass(frozen=True)
class Imported:
    """An experiment, as text of its file, and what of the other tool's file it does not carry."""

    kind: str
    nodes: int
    text: str
    left_out: tuple[str, ...]


def make(file: Path, beside: Path, kind: str | None = None, network: str | None = None) -> Imported:
    """The experiment of a file. It will be written into the folder `beside`. Raises ExperimentError."""
    kind = kind or detect(file)
    if kind not in KINDS:
        raise ExperimentError(f"{kind!r} is no format", f"use one of: {', '.join(KINDS)}", field="--format")
    if network is not None and kind != CORE:
        raise ExperimentError("is of CORE's scenarios alone", "leave it out", field="--network")
    if kind == CORE:
        return _of_core(file, core_xml.load(file, network))
    return _of_trace(kind, file, beside, formats.load(kind, file))


def _of_core(file: Path, scenario: core_xml.Scenario) -> Imported:
    places = [schema.Position(x_m=round(x_m, 3), y_m=round(y_m, 3)) for x_m, y_m in scenario.places_m]
    range_m = round(scenario.range_m, 3)
    medium: dict[str, Any] = {"tx_range_m": range_m, "cs_range_m": round(CS_RANGE_SHARE * range_m, 3)}
    if scenario.frame_error_rate:
        medium["frame_error_rate"] = scenario.frame_error_rate
    experiment = _experiment(
        file,
        topology=schema.Explicit(nodes=places),
        medium=schema.Medium(**medium),
        duration_s=STANDING_S,
        routing="static",
    )
    return _imported(CORE, file, experiment, len(places), scenario.names, scenario.left_out)


def _of_trace(kind: str, file: Path, beside: Path, read: Read) -> Imported:
    nodes = len(read.trace.starts)
    if nodes < 2:
        raise ExperimentError("has a single node", "give a trace of two nodes or more", file=str(file))
    events, left_out = _switched(read.presences), list(read.left_out)
    if len(events) > MOST_EVENTS:
        left_out.append(
            f"{len(events)} events of nodes that come and go, more than {MOST_EVENTS}: all are there always"
        )
        events = []
    elif events:
        # They are carried after all, here.
        left_out = [each for each in left_out if "there all the time" not in each]
    last_s = max((each.at_s for each in [*read.trace.turns, *events]), default=0.0)
    experiment = _experiment(
        file,
        topology=TOPOLOGIES[kind](file=os.path.relpath(file, beside)),
        **({"events": events} if events else {}),
        duration_s=max(math.floor(last_s) + 1.0, STANDING_S),
        routing="aodv",
    )
    return _imported(kind, file, experiment, nodes, read.names, tuple(left_out))


def _switched(presences: tuple[Presence, ...]) -> list[schema.NodeEvent]:
    """Nodes whose radios are off while they are not there."""
    events = []
    for each in presences:
        if each.from_s > 0:
            events.append(schema.NodeEvent(at_s=0, kind="node_down", node=each.node))
            events.append(schema.NodeEvent(at_s=each.from_s, kind="node_up", node=each.node))
        events.append(schema.NodeEvent(at_s=each.until_s, kind="node_down", node=each.node))
    return sorted(events, key=lambda event: event.at_s)


def _experiment(file: Path, **said: Any) -> Experiment:
    return Experiment(
        name=re.sub(r"[^A-Za-z0-9_.-]+|^[^A-Za-z0-9]+", "_", file.name.split(".")[0]).strip("_") or "imported",
        flows=[schema.TcpFlow(src="first", dst="last")],
        policies=["none", "delay"],
        seeds=[1],
        **said,
    )


def _imported(
    kind: str, file: Path, experiment: Experiment, nodes: int, names: tuple[str, ...], left_out: tuple[str, ...]
) -> Imported:
    lines = [f"# Made by `perhop import` from {_plain(file.name)} ({kind})."]
    lines += ["# Its file has no traffic that perhop could take: flows and policies below are a beginning."]
    for index, name in enumerate(names[:MOST_NAMES_SHOWN]):
        lines.append(f"# node {index}: {_plain(name)}")
    if len(names) > MOST_NAMES_SHOWN:
        lines.append(f"# ... and {len(names) - MOST_NAMES_SHOWN} more, in the order of the file")
    lines += [f"# not carried: {_plain(each)}" for each in left_out]
    return Imported(kind, nodes, "\n".join(lines) + "\n" + experiment.to_yaml(), left_out)


def _plain(text: str) -> str:
    """What others wrote, fit for a comment."""
    return "".join(each if each.isprintable() else "?" for each in text)
