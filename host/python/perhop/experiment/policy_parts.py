# SPDX-License-Identifier: GPL-2.0-or-later
"""What the table of policies is made of: groups, their kinds, and what a kind can be told.

A parameter is read from the words that follow a kind, in the order of the table, and written again in a label.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Number:
    """A count, such as `fixed 8`; a range gives several policies."""

    key: str
    unit: str
    least: int
    most: int
    required: bool
    examples: tuple[str, ...]

    @property
    def pattern(self) -> str:
        return r"(\d+(?:\.\.\d+)?)"

    def values(self, said: str) -> list[Any]:
        """Raises ValueError for what is no range."""
        first, _, last = said.partition("..")
        low, high = int(first), int(last or first)
        if not self.least <= low <= high <= self.most:
            raise ValueError
        return list(range(low, high + 1))

    def written(self, value: Any) -> str:
        return str(value) if value else ""

    def forms(self) -> tuple[str, ...]:
        return self.examples


@dataclass(frozen=True)
class Words:
    """A choice; each word of run.json with how it is written. The first is it where nothing is said."""

    key: str
    words: dict[str, str]

    required = False

    @property
    def pattern(self) -> str:
        # Longer ones first: `by hop and delay` begins as `by hop` does.
        return f"({'|'.join(re.escape(written) for written in sorted(self.forms(), key=len, reverse=True))})"

    def values(self, said: str) -> list[Any]:
        return [word for word, written in self.words.items() if written == said]

    def written(self, value: Any) -> str:
        return "" if value == next(iter(self.words)) else self.words[value]

    def forms(self) -> tuple[str, ...]:
        return tuple(written for written in self.words.values() if written)


@dataclass(frozen=True)
class Flag:
    """Words that turn something on, or off."""

    key: str
    flag: str
    sets: bool

    required = False

    @property
    def pattern(self) -> str:
        return f"({re.escape(self.flag)})"

    def values(self, said: str) -> list[Any]:
        return [self.sets]

    def written(self, value: Any) -> str:
        return self.flag if value == self.sets else ""

    def forms(self) -> tuple[str, ...]:
        return (self.flag,)


Parameter = Number | Words | Flag


@dataclass(frozen=True)
class Kind:
    """One kind of a group: `written` in an experiment file, where that is not empty, and `label` in tables."""

    name: str
    written: str
    label: str
    parameters: tuple[Parameter, ...]
    at_most_one_of: tuple[str, ...]

    @property
    def pattern(self) -> str:
        parts = [f" {each.pattern}" if each.required else f"(?: {each.pattern})?" for each in self.parameters]
        return re.escape(self.written) + "".join(parts)

    def forms(self) -> list[str]:
        """How it may be written: with each of its parameters alone, and without any where none is needed."""
        alone = [] if any(each.required for each in self.parameters) else [self.written]
        return alone + [f"{self.written} {form}" for each in self.parameters for form in each.forms()]


@dataclass(frozen=True)
class Group:
    """What a flow has one kind of: `key` in run.json."""

    key: str
    title: str
    otherwise: str
    kinds: tuple[Kind, ...]

    @property
    def written_kinds(self) -> list[Kind]:
        return [kind for kind in self.kinds if kind.written]
