# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to a live network: the events of its experiment file, and those that somebody asks for.

`python -m perhop.live.events FOLDER` plays the file's from the moment in which the network was up. It may be killed and
started again: what it has played it does not play twice. What the medium has been told stands in run.json, so that one
started anew goes on as the old one was.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ruamel.yaml.error import YAMLError

from perhop import files
from perhop.errors import PerhopError
from perhop.experiment import schema as ex
from perhop.experiment import yaml_text
from perhop.experiment.load import Document, explained
from perhop.experiment.rules import nodes_of_event
from perhop.live import messages, namespaces, state_files
from perhop.live.plan import Node

# A medium that is being started again answers within this time, or reads what happened in run.json.
MEDIUM_TIMEOUT_S = 5
NOTE_AGAIN_S = 0.5


def play(folder: Path, event: dict[str, Any]) -> None:
    """Let one event happen now to the network of this state folder. Raises PerhopError."""
    state = json.loads((folder / "state.json").read_text())
    match event["kind"]:
        case "route":
            _route(folder, state, event["path"])
            if event.get("both_ways", True):
                _route(folder, state, event["path"][::-1])
        case "node_down":
            _tell_medium(folder, event)
            state_files.hold(folder, f"node-{event['node']}", True)
        case "node_up":
            state_files.hold(folder, f"node-{event['node']}", False)
            _tell_medium(folder, event)
        case _:
            _tell_medium(folder, event)


def _route(folder: Path, state: dict[str, Any], path: list[int]) -> None:
    """Every node of the path but the last sends packets for the last to the next one."""
    nodes = [Node(**node) for node in state["nodes"]]
    for here, next_hop in itertools.pairwise(path):
        lines = [
            namespaces.route_line(
                nodes,
                here=here,
                destination=path[-1],
                next_hop=next_hop,
                family=family,
                metrics=state["route_metrics"],
            )
            for family in (4, 6)
        ]
        with state_files.locked(folder):
            with state_files.recording(folder):
                state_files.record_routes(folder, f"node-{here}", lines)
            namespaces.run_in(nodes[here].namespace, lines)


def _tell_medium(folder: Path, event: dict[str, Any]) -> None:
    with state_files.locked(folder):
        run = json.loads((folder / "run.json").read_text())
        with state_files.recording(folder):
            files.write_json(folder / "run.json", after(run, event))
        command = {"command": event["kind"], **{key: event[key] for key in event if key not in ("kind", "at_s")}}
        deadline_s = time.monotonic() + MEDIUM_TIMEOUT_S
        while True:
            try:
                messages.ask_medium(state_files.medium_socket(folder), command)
                return
            except messages.NoAnswer:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.05)


def after(run: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    """The run.json of a medium to which `event` has happened: positions, and events that hold from the beginning."""
    if event["kind"] == "move":
        nodes = [dict(node) for node in run["nodes"]]
        nodes[event["node"]] |= {"x_m": event["x_m"], "y_m": event["y_m"]}
        return {**run, "nodes": nodes}
    others = [known for known in run.get("events", []) if _concerns(known) != _concerns(event)]
    return {**run, "events": [*others, {**event, "at_s": 0.0}]}


def _concerns(event: dict[str, Any]) -> tuple[Any, ...]:
    """What an event changes: a later one of the same takes its place."""
    family = event["kind"].split("_")[0]
    return family, *sorted(event[key] for key in ("a", "b", "node") if key in event)


class _Asked(BaseModel):
    """As far as a person asks for an event by hand, that is the whole file."""

    event: ex.Event


def parse(kind: str, words: list[str], nodes: int) -> dict[str, Any]:
    """An event that somebody asks for: its kind, and FIELD=VALUE with values in YAML. Raises PerhopError."""
    fields: dict[str, Any] = {"kind": kind, "at_s": 0}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise PerhopError(f"{word!r} is no assignment", "write FIELD=VALUE, such as a=1 b=2, or path=[0,1,3]")
        try:
            fields[name] = yaml_text.load(text)
        except (YAMLError, ValueError) as error:
            raise PerhopError(f"{name} has a value that is not YAML", "quote the value") from error
    try:
        event = _Asked(event=fields).event  # type: ignore[arg-type]
    except ValidationError as error:
        raise explained(Document("", {"event": fields}), error, _Asked) from None
    for node in nodes_of_event(event)[1]:
        if node >= nodes:
            raise PerhopError(f"there is no node {node}", f"use indices from 0 to {nodes - 1}")
    if isinstance(event, ex.MoveEvent) and event.speed_mps is not None:
        raise PerhopError("in a live network nodes are elsewhere at once", "leave speed_mps out")
    return event.model_dump(exclude_none=True)


# --- the file's -------------------------------------------------------------------------------------------------------


def play_all(folder: Path) -> None:
    """Plays what is left of the file's events, each at its time; one that fails is noted, and the next one follows."""
    events = json.loads((folder / "state.json").read_text())["events"]
    done = state_files.progress(folder)
    assert done is not None, "the network was not up yet"
    noted = True
    while done["played"] < len(events):
        event = events[done["played"]]
        time.sleep(max(0.0, done["origin_s"] + event["at_s"] - time.monotonic()))
        try:
            play(folder, event)
        except PerhopError as error:
            done["errors"].append({"event": done["played"], **error.as_dict()})
            print(f"event {done['played']} ({event['kind']}): {error}", file=sys.stderr, flush=True)
        else:
            print(f"{event['at_s']:g} s: {event['kind']}", flush=True)
        done["played"] += 1
        noted = _note(folder, done)
    while not noted:
        time.sleep(NOTE_AGAIN_S)
        noted = _note(folder, done)


def _note(folder: Path, done: dict[str, Any]) -> bool:
    """Where there is no room to note what was played, the next event happens all the same. @return whether there was"""
    try:
        files.write_json(folder / state_files.PROGRESS, done)
    except OSError as error:
        with contextlib.suppress(OSError):
            print(f"{folder}: {error}", file=sys.stderr, flush=True)
        return False
    return True


if __name__ == "__main__":
    play_all(Path(sys.argv[1]))
