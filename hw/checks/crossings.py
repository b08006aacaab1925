# SPDX-License-Identifier: GPL-2.0-or-later
"""No register hears another clock but through cdc_bit, cdc_fifo or cdc_reset, and those hear it as they must.

A synchroniser's first register hears one register of another clock, a bit each, without logic between: a wire that
changes twice would be caught in between. A FIFO's memory is read at the clock of its reading end alone. A reset may
come without a clock.
"""

from __future__ import annotations

from checks.designs import NO_CLOCK, Subject, image_subjects, port_subject
from checks.netlist import Crossing, End
from checks.tree import CheckError, Tree

SYNCHRONISER, FIFO, RESET = "cdc_bit", "cdc_fifo", "cdc_reset"


def module_at(subject: Subject, end: End) -> tuple[str, str]:
    """The innermost module that a register is in: its name, and the path of the instance."""
    path = end.name
    while path:
        path = path.rpartition(".")[0]
        if path in subject.modules:
            return subject.modules[path].module, path
    return subject.design.top, ""


def wrong_crossings(subject: Subject) -> list[str]:
    """Crossings that no cdc_* module makes, or that one makes wrongly."""
    read_at = {}
    for each in subject.netlist.registers:
        module, path = module_at(subject, each)
        if module == FIFO and each.variable == "read_q":
            read_at[path] = each.clock
    heard: dict[End, set[End]] = {}
    wrong: dict[tuple[str, str], str] = {}
    for each in subject.netlist.crossings:
        if not _is_made(subject, each, read_at):
            wrong.setdefault((each.sink.name, each.source.name), str(each))
        elif each.pin == "D" and each.source.kind == "register":
            heard.setdefault(each.sink, set()).add(each.source)
    for sink, sources in heard.items():
        if len(sources) > 1:
            wrong[(sink.name, "")] = f"{sink.name} hears {len(sources)} registers of another clock through logic"
    return list(wrong.values())


def _is_made(subject: Subject, crossing: Crossing, read_at: dict[str, str]) -> bool:
    module, _ = module_at(subject, crossing.sink)
    if crossing.pin != "D":
        return module == RESET
    if module == SYNCHRONISER and crossing.source.kind == "register":
        return True
    of, path = module_at(subject, crossing.source)
    return crossing.source.kind == "memory" and of == FIFO and crossing.sink.clock == read_at.get(path)


def check_subject(subject: Subject) -> int:
    """How many FIFOs a design has; CheckError with its wrong crossings, or where nothing was seen."""
    wrong = wrong_crossings(subject)
    if wrong:
        raise CheckError(f"{subject.name}:\n" + "\n".join(wrong))
    registers = subject.netlist.registers
    silent = [clock for clock in subject.design.clocks if all(each.clock != clock for each in registers)]
    other = {each.clock for each in registers} - set(subject.design.clocks) - {NO_CLOCK}
    if silent or other:
        raise CheckError(f"{subject.name}: no register is of {silent}, or some are of {sorted(other)}")
    kinds = [each.module for each in subject.modules.values()]
    if not kinds.count(FIFO) or not kinds.count(RESET):
        raise CheckError(f"{subject.name} has no {FIFO} or no {RESET}: nothing was looked at")
    return kinds.count(FIFO)


def check_crossings(tree: Tree) -> str:
    subjects = [*image_subjects(tree), port_subject(tree)]
    return ", ".join(f"{each.name} {check_subject(each)} FIFOs" for each in subjects)
