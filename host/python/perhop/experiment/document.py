# SPDX-License-Identifier: GPL-2.0-or-later
"""The values of a file, with the place of each, open to overrides."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from perhop.errors import ExperimentError, FieldError

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """Where a value was written. `source` is the file, or the command line with `line` None."""

    source: str
    line: int | None


@dataclass
class Document:
    """The values of a file with the place of each, open to overrides."""

    source: str
    values: dict[str, Any]
    places: dict[KeyPath, Place] = field(default_factory=dict)
    swept: dict[str, list[Any]] = field(default_factory=dict)  # the sweep, which is not among the values

    def place(self, path: KeyPath) -> Place:
        """Where `path`, or the closest thing around it, was written."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return Place(self.source, 1)

    def error(self, path: KeyPath, problem: str, remedy: str) -> ExperimentError:
        place = self.place(path)
        return ExperimentError(problem, remedy, file=place.source, line=place.line, field=dotted(path))

    def override(self, path: KeyPath, value: Any, place: Place) -> None:
        """Set one field, making the sections on the way. Raises ExperimentError on a path through a value."""
        target: Any = self.values
        for index, key in enumerate(path):
            last = index == len(path) - 1
            if isinstance(target, list):
                if not isinstance(key, int) or key >= len(target):
                    raise ExperimentError(
                        f"there is no element {key!r} in {dotted(path[:index])}",
                        f"count from 0 up to {len(target) - 1}",
                        file=place.source,
                        line=place.line,
                        field=dotted(path),
                    )
            elif isinstance(target, dict):
                key = str(key)
                if not last and key not in target:
                    target[key] = {}
            else:
                raise ExperimentError(
                    f"{dotted(path[:index])} is a value, not a section",
                    f"set {dotted(path[:index])} itself",
                    file=place.source,
                    line=place.line,
                    field=dotted(path),
                )
            if last:
                target[key] = value
            else:
                target = target[key]
        self.places = {known: at for known, at in self.places.items() if known[: len(path)] != path}
        self.places[path] = place

    def copy(self) -> Document:
        return Document(self.source, copy.deepcopy(self.values), dict(self.places), self.swept)


def dotted(path: Iterable[str | int]) -> str:
    return ".".join(str(part) for part in path)


def parse_path(text: str) -> KeyPath:
    return tuple(int(part) if part.isdigit() else part for part in text.split("."))


def located(document: Document, error: FieldError) -> ExperimentError:
    """A broken rule that spans fields, with the place of the field at fault."""
    return document.error(error.path, error.problem, error.remedy)
