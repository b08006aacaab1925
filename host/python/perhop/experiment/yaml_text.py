# SPDX-License-Identifier: GPL-2.0-or-later
"""YAML that people write, read within bounds: a file made to exhaust its reader is refused before it is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent, ScalarEvent

MOST_BYTES = 4_000_000
MOST_DEPTH = 40
# With each alias counted as what it stands for.
MOST_VALUES = 100_000
# Python itself reads no longer ones.
MOST_DIGITS = 4000


class Excess(MarkedYAMLError):
    """YAML that is more than a file of ours can need; `remedy` says what to do."""

    def __init__(self, problem: str, remedy: str, mark: Any = None) -> None:
        super().__init__(problem=problem, problem_mark=mark)
        self.remedy = remedy


def read_text(file: Path) -> str:
    """The text of a file. Raises OSError, UnicodeDecodeError, Excess."""
    with file.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise Excess(f"has more than {MOST_BYTES} bytes", "give an experiment file")
    return content.decode("utf-8")


def load(text: str, with_places: bool = False) -> Any:
    """The values of `text`, `with_places` as ruamel's types that know their lines. Raises YAMLError, ValueError."""
    _measure(text)
    return YAML(typ="rt").load(text) if with_places else YAML(typ="safe", pure=True).load(text)


def _measure(text: str) -> None:
    """Go over the events, which takes no memory and no recursion. Raises YAMLError."""
    # Of each collection that is open: its anchor, and how many values it holds so far.
    opened: list[tuple[str | None, int]] = []
    # Of each anchor: how many values it stands for.
    known: dict[str, int] = {}
    total = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        if isinstance(event, CollectionEndEvent):
            anchor, values = opened.pop()
        elif isinstance(event, AliasEvent):
            if any(anchor == event.anchor for anchor, _ in opened):
                raise Excess(f"*{event.anchor} stands for itself", "write out what is meant", event.start_mark)
            anchor, values = None, known.get(event.anchor, 1)
            total += values
        elif isinstance(event, NodeEvent):
            anchor, values = event.anchor, 1
            total += 1
            if isinstance(event, ScalarEvent) and len(event.value) > MOST_DIGITS and event.value[1:].isdigit():
                raise Excess(f"a number has {len(event.value)} digits", "write a smaller number", event.start_mark)
        else:
            continue
        if total > MOST_VALUES:
            raise Excess(
                f"holds more than {MOST_VALUES} values, with aliases written out",
                "use fewer aliases; for so many nodes take a topology that places them, or the file of kind setdest",
                event.start_mark,
            )
        if isinstance(event, CollectionStartEvent):
            opened.append((anchor, values))
            if len(opened) > MOST_DEPTH:
                raise Excess(
                    f"is nested more than {MOST_DEPTH} deep", "close brackets where they belong", event.start_mark
                )
            continue
        if anchor is not None:
            known[anchor] = values
        if opened:
            outer, so_far = opened[-1]
            opened[-1] = outer, so_far + values
