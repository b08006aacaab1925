# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a file of Xilinx Design Constraints, as far as ours go; whatever else stands in one is refused, not skipped.

set_max_delay -datapath_only NS -from CELLS -to CELLS
set_false_path [-from CELLS] [-through PINS] [-to PINS]
set_property NAME VALUE CELLS
CELLS, PINS: [get_cells -hierarchical -filter {NAME =~ PATTERN || NAME =~ PATTERN}], [get_pins ...]
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass

from checks.tree import CheckError


@dataclass(frozen=True)
class Query:
    """Objects of a design, by patterns of their names."""

    what: str
    """cells or pins"""
    patterns: tuple[str, ...]

    def matches(self, name: str) -> bool:
        return any(matches(pattern, name) for pattern in self.patterns)


@dataclass(frozen=True)
class Constraint:
    """One command."""

    line: int
    command: str
    value: float | str | None
    """Nanoseconds of a delay, or what a property is set to."""
    ends: dict[str, Query]
    """By from, through and to; a property's cells by of."""
    datapath_only: bool = False
    name: str = ""
    """Of a property."""


def matches(pattern: str, name: str) -> bool:
    """Vivado's =~: * and ? as usual; brackets of an index stand for themselves."""
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))


def words(text: str) -> list[tuple[int, list[str]]]:
    """Commands of a Tcl text, each with its line and words; braces and brackets keep what is in them together."""
    found: list[tuple[int, list[str]]] = []
    begun, begins = "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        begins = begins if begun else number
        begun += line.removesuffix("\\") + " "
        if line.endswith("\\"):
            continue
        command, begun = begun.strip(), ""
        if command and not command.startswith("#"):
            found.append((begins, _split(command, begins)))
    return found


def _split(line: str, number: int) -> list[str]:
    found, word, depth = [], "", 0
    for letter in line:
        if letter in "{[":
            depth += 1
        elif letter in "}]":
            depth -= 1
        if letter.isspace() and depth == 0:
            if word:
                found.append(word)
            word = ""
        else:
            word += letter
        if depth < 0:
            break
    if depth != 0:
        raise CheckError(f"line {number}: brackets or braces that do not match: {line}")
    return [*found, word] if word else found


def _query(word: str, number: int) -> Query:
    asked = re.fullmatch(r"\[get_(cells|pins)\s+-hierarchical\s+-filter\s+\{(.*)\}\]", word)
    if not asked:
        raise CheckError(f"line {number}: {word}: only get_cells and get_pins with -hierarchical -filter are known")
    patterns = []
    for part in asked.group(2).split("||"):
        said = re.fullmatch(r"\s*NAME\s*=~\s*(\S+)\s*", part)
        if not said:
            raise CheckError(f"line {number}: a filter is NAME =~ PATTERN, others behind ||; not {part.strip()}")
        patterns.append(said.group(1))
    return Query(asked.group(1), tuple(patterns))


def read_xdc(text: str) -> list[Constraint]:
    """Its constraints; CheckError with the line of what is not understood."""
    found = []
    for number, (command, *rest) in words(text):
        if command == "set_property":
            if len(rest) != 3:
                raise CheckError(f"line {number}: set_property takes a name, a value and cells")
            found.append(Constraint(number, command, rest[1], {"of": _query(rest[2], number)}, name=rest[0]))
            continue
        if command not in ("set_max_delay", "set_false_path"):
            raise CheckError(f"line {number}: {command} is not known here: teach hw/checks what it covers")
        ends: dict[str, Query] = {}
        value, datapath_only, at = None, False, 0
        while at < len(rest):
            word = rest[at]
            if word in ("-from", "-through", "-to") and at + 1 < len(rest):
                ends[word[1:]] = _query(rest[at + 1], number)
                at += 1
            elif word == "-datapath_only":
                datapath_only = True
            elif command == "set_max_delay" and value is None and re.fullmatch(r"[\d.]+", word):
                value = float(word)
            else:
                raise CheckError(f"line {number}: {command} with {word} is not known here")
            at += 1
        if command == "set_max_delay" and value is None:
            raise CheckError(f"line {number}: set_max_delay without a delay")
        found.append(Constraint(number, command, value, ends, datapath_only))
    return found
