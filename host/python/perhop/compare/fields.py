# SPDX-License-Identifier: GPL-2.0-or-later
"""All fields of an experiment or a run by their dotted names, with their values as they can be compared and told."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from perhop.experiment.words import swept_word
from perhop.study.results import Row

# What the fields of an experiment hold that changes nothing in a run; policies, seeds and backend are told apart.
WITHOUT_EFFECT = ("name", "description", "policies", "seeds", "backend", "outputs")
TRACE_DIGITS = 12


@dataclass(frozen=True)
class Point:
    """One point of the sweep: what is swept, as in the rows of results, and every field's value by its dotted name."""

    swept: dict[str, Any]
    fields: dict[str, Any]


def is_at(row: Row, swept: dict[str, Any]) -> bool:
    """Whether a row of results is of the point with these swept values."""
    return all(cell(value) == cell(row.get(f"sweep.{name}")) for name, value in swept.items())


def cell(value: Any) -> str:
    """A swept value as it can be compared, whether it comes from a file or, where sections are text, from a table."""
    return str(value) if isinstance(value, dict | list) else word(value)


def fields_of(experiment: dict[str, Any]) -> dict[str, Any]:
    """All that decides what runs do, by dotted name; of the outputs only how long an interval is."""
    kept = {name: value for name, value in experiment.items() if name not in WITHOUT_EFFECT}
    outputs = experiment.get("outputs", {})
    return flat(kept | ({"outputs": {"interval_s": outputs["interval_s"]}} if "interval_s" in outputs else {}))


def motion_of(config: dict[str, Any]) -> dict[str, str]:
    """How nodes move, by a hash: the file of a trace may hold something else on each side."""
    events = config.get("events", [])
    if not any(event["kind"] == "move" for event in events):
        return {}
    text = json.dumps([config["nodes"], events], sort_keys=True)
    return {"topology.motion": hashlib.sha256(text.encode()).hexdigest()[:TRACE_DIGITS]}


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Every value below, by its dotted name."""
    if isinstance(value, dict) and value:
        items: Iterable[tuple[str, Any]] = ((str(key), below) for key, below in value.items())
    elif isinstance(value, list) and value:
        items = ((str(index), below) for index, below in enumerate(value))
    else:
        return {path: value}
    found: dict[str, Any] = {}
    for key, below in items:
        found |= flat(below, f"{path}.{key}" if path else key)
    return found


def word(value: Any) -> str:
    """A value for a person."""
    value = swept_word(value)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
