# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds the constraints against the designs: each crossing has its constraint, each constraint its crossing.

Names are those that Vivado makes of the design: a register's is its variable's with _reg and its bit, modules are
parted by /, and a memory becomes cells of which each has its range. What a crossing needs:

- bits that belong together, such as a Gray count: set_max_delay -datapath_only of at most a period of either clock, so
  that at most one is caught in mid-change; a false path over it would undo that
- a single bit, a word of a FIFO's memory, a reset: any exception
- a synchroniser's two registers: ASYNC_REG

A constraint that finds nothing has lost its cells by a new name; one that finds what hears no other clock frees paths
that must be timed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from checks.crossings import module_at
from checks.designs import Subject, image_subjects
from checks.netlist import Crossing, End
from checks.tree import CheckError, Tree
from checks.xdc import Constraint, read_xdc

FILE = "hw/rfnoc/fpga/perhop.xdc"
SOURCES = "hw/rfnoc/fpga/Makefile.srcs"
EXCEPTIONS = ("set_max_delay", "set_false_path")


def cell_name(subject: Subject, end: End) -> str:
    """What Vivado calls the cell of a register's bit, or the first cell of a memory."""
    _, path = module_at(subject, end)
    variable = end.name[len(path) + 1 :] if path else end.name
    base, bracket, index = variable.partition("[")
    tail = f"_reg{bracket}{index}" + (f"_0_{end.words - 1}_0_5" if end.kind == "memory" else f"[{end.bit}]")
    # A generate block's name is parted by a dot, a module's by a slash.
    slashed, at = "", ""
    for part in path.split(".") if path else []:
        at = f"{at}.{part}" if at else part
        slashed += part + ("/" if at in subject.modules else ".")
    return slashed + base + tail


def pins(subject: Subject, end: End, pin: str) -> tuple[str, ...]:
    """Names of a pin of a cell. A memory's output has one name before placing and one after."""
    name = cell_name(subject, end)
    if end.kind == "memory":
        return (f"{name}/DOA[0]", f"{name}/RAMA/O")
    return (f"{name}/{pin}",)


@dataclass
class Names:
    """The names of a design's crossings."""

    crossings: list[Crossing]
    cells: set[str] = field(default_factory=set)
    pins: set[str] = field(default_factory=set)
    crossing_cells: set[str] = field(default_factory=set)
    crossing_pins: set[str] = field(default_factory=set)
    synchronisers: set[str] = field(default_factory=set)
    of_end: dict[End, str] = field(default_factory=dict)


def names_of(subject: Subject) -> Names:
    """Every cell and pin, those of crossings, and those of synchronisers."""
    told = Names(subject.netlist.crossings)
    first: set[End] = set()
    for end in subject.netlist.registers:
        name = told.of_end[end] = cell_name(subject, end)
        told.cells.add(name)
        told.pins.update((*pins(subject, end, "D"), f"{name}/PRE", f"{name}/CLR", f"{name}/C"))
    for each in told.crossings:
        for end, pin in ((each.source, "Q"), (each.sink, each.pin)):
            if end in told.of_end:
                told.crossing_cells.add(told.of_end[end])
                told.crossing_pins.update(pins(subject, end, pin))
        if each.pin == "D" and each.source.kind == each.sink.kind == "register":
            first.add(each.sink)
    told.synchronisers = {told.of_end[end] for end in first}
    for sink, pin, bits in subject.netlist.sinks:
        if pin == "D" and sink.kind == "register" and subject.netlist.behind(bits) & first:
            told.synchronisers.add(told.of_end[sink])
    return told


def covers(subject: Subject, names: Names, constraint: Constraint, crossing: Crossing) -> bool:
    """Whether an exception is one for a path."""
    for way, query in constraint.ends.items():
        end, pin = (crossing.sink, crossing.pin) if way == "to" else (crossing.source, "Q")
        if end not in names.of_end:
            return False
        known = (names.of_end[end],) if query.what == "cells" else pins(subject, end, pin)
        if not any(query.matches(name) for name in known):
            return False
    return bool(constraint.ends)


def wrong_constraints(subject: Subject, constraints: list[Constraint]) -> list[str]:
    """What is wrong with the constraints of a design."""
    names = names_of(subject)
    wrong = _missing(subject, names, constraints)
    for each in constraints:
        at = f"{FILE}:{each.line}"
        if each.command == "set_property":
            continue
        if not any(covers(subject, names, each, crossing) for crossing in names.crossings):
            wrong.append(f"{at}: {each.command} is of no crossing")
        for way, query in each.ends.items():
            all_of_it = names.cells if query.what == "cells" else names.pins
            allowed = names.crossing_cells if query.what == "cells" else names.crossing_pins
            found = {name for name in all_of_it if query.matches(name)}
            if not found:
                wrong.append(f"{at}: -{way} finds no {query.what}: {' || '.join(query.patterns)}")
            elif found - allowed:
                some = ", ".join(sorted(found - allowed)[:3])
                wrong.append(f"{at}: -{way} finds {len(found - allowed)} {query.what} of no crossing: {some}")
    return wrong + _async_reg(names, constraints)


def _missing(subject: Subject, names: Names, constraints: list[Constraint]) -> list[str]:
    wrong: dict[str, str] = {}
    for crossing in names.crossings:
        if crossing.sink not in names.of_end and crossing.source not in names.of_end:
            continue
        covering = [each for each in constraints if covers(subject, names, each, crossing)]
        said = f"{_short(crossing.source)} to {_short(crossing.sink)}"
        together = crossing.pin == "D" and crossing.source.kind == "register" and crossing.sink.width > 1
        if not covering:
            wrong.setdefault(said, f"no constraint is of the crossing from {said}")
        elif together:
            freed = [each for each in covering if each.command == "set_false_path"]
            if freed:
                wrong.setdefault(said, f"{FILE}:{freed[0].line}: a false path over bits that belong together: {said}")
            clocks = (crossing.source.clock, crossing.sink.clock)
            period_ns = min(subject.periods_ns[clock] for clock in clocks)
            for each in covering:
                if each.command == "set_max_delay" and not each.datapath_only:
                    wrong.setdefault(
                        said, f"{FILE}:{each.line}: a delay from clock to clock: -datapath_only is missing"
                    )
                elif each.command == "set_max_delay" and each.value > period_ns:
                    wrong.setdefault(
                        said, f"{FILE}:{each.line}: {each.value:g} ns is more than a period, {period_ns:.3f} ns: {said}"
                    )
    return list(wrong.values())


def _short(end: End) -> str:
    return re.sub(r"\[\d+\]$", "", end.name)


def _async_reg(names: Names, constraints: list[Constraint]) -> list[str]:
    found: set[str] = set()
    wrong = []
    for each in constraints:
        if each.command != "set_property":
            continue
        at = f"{FILE}:{each.line}"
        if each.name != "ASYNC_REG" or each.value != "TRUE":
            wrong.append(f"{at}: set_property {each.name} {each.value} is not known here")
            continue
        matched = {name for name in names.cells if each.ends["of"].matches(name)}
        if matched - names.synchronisers:
            some = ", ".join(sorted(matched - names.synchronisers)[:3])
            wrong.append(f"{at}: ASYNC_REG is for the registers of a synchroniser, not for {some}")
        found |= matched
    left = sorted(names.synchronisers - found)
    if left:
        wrong.append(f"{FILE}: {len(left)} registers of synchronisers have no ASYNC_REG: {', '.join(left[:3])}")
    return wrong


def check_constraints(tree: Tree, subjects: list[Subject] | None = None) -> str:
    """CheckError with everything that is wrong; else how much was compared. `subjects` saves elaborating them."""
    try:
        constraints = read_xdc(tree.read(FILE))
    except CheckError as error:
        raise CheckError(f"{FILE}: {error}") from error
    wrong = [] if "perhop.xdc" in tree.read(SOURCES) else [f"{SOURCES} does not name perhop.xdc: Vivado never reads it"]
    crossings = 0
    subjects = image_subjects(tree) if subjects is None else subjects
    for subject in subjects:
        wrong += [f"{subject.name}: {each}" for each in wrong_constraints(subject, constraints)]
        crossings += len(subject.netlist.crossings)
    if wrong:
        raise CheckError("\n".join(wrong))
    return f"{len(constraints)} constraints, {crossings} crossings of {len(subjects)} kinds of image"
