# SPDX-License-Identifier: GPL-2.0-or-later
"""Plants faults in a copy of the tree, one at a time, and says which check found each.

The copy without a fault passes first, so that what is found is the fault. A check must not only fail but say what is
wrong: a message of something else does not count.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from checks.area import SMALLEST, check_area, page_rows
from checks.chains import check_chains
from checks.constraints import check_constraints
from checks.crossings import check_subject
from checks.designs import Subject, image_subjects, port_subject
from checks.documents import check_documents
from checks.elaboration import verilator
from checks.faults import FAULTS, Fault
from checks.host import check_host
from checks.images import check_image
from checks.rates import check_rates
from checks.tree import CheckError, Tree

# What checks read.
COPIED = (
    "hw",
    "gateware/rtl",
    "gateware/lint",
    "gateware/spec",
    "host/core/wire",
    "host/drivers",
    "host/node",
    "host/python",
    "docs",
)


def copy_of(tree: Tree, at: Path) -> Tree:
    """The tracked files of a tree that checks read, in a folder of their own."""
    shutil.rmtree(at, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z", *COPIED], cwd=tree.root, capture_output=True, text=True
    )
    names = [name for name in listed.stdout.split("\0") if name and (tree.root / name).is_file()]
    if not names:
        raise CheckError(f"git names no files of {tree.root}: faults are planted in a copy of what it tracks")
    for name in names:
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tree.root / name, at / name)
    return Tree(at)


@contextmanager
def planted(tree: Tree, fault: Fault) -> Iterator[None]:
    """The fault, as long as the context lasts."""
    path = tree.root / fault.file
    before = tree.read(fault.file)
    if before.count(fault.old) != 1:
        raise CheckError(
            f"the fault '{fault.name}' can no longer be planted: {fault.file} has {before.count(fault.old)} times "
            f"{fault.old!r}; change hw/checks/faults.py"
        )
    path.write_text(before.replace(fault.old, fault.new))
    try:
        yield
    finally:
        path.write_text(before)


class Field:
    """A copy of a tree, and what is known of it while nothing is planted."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.count = {name: value for name, value in page_rows(tree)[SMALLEST].items() if name != "may"}
        self.checks: dict[str, Callable[[Fault | None], object]] = {
            "images": self._images,
            "elaborate": self._elaborate,
            "crossings": self._crossings,
            "constraints": self._constraints,
            "chains": lambda fault: check_chains(tree),
            "rates": lambda fault: check_rates(tree),
            "host": lambda fault: check_host(tree),
            "documents": lambda fault: check_documents(tree),
            "area": lambda fault: check_area(tree, self.count, tree.load("hw/reports/area.py")),
        }

    @cached_property
    def subjects(self) -> list[Subject]:
        """The designs without a fault: elaborated when a check first asks for them, which it does before faults are."""
        return image_subjects(self.tree)

    def _image(self, fault: Fault | None) -> str:
        return (fault and fault.image) or "e320_perhop_22"

    def _images(self, fault: Fault | None) -> None:
        name = self._image(fault)
        check_image(self.tree, name, self.tree.image_cores()[name])

    def _elaborate(self, fault: Fault | None) -> None:
        name = self._image(fault)
        verilator(self.tree, name, *self.tree.block_of(self.tree.image_cores()[name]))

    def _crossings(self, fault: Fault | None) -> None:
        if fault is None:
            check_subject(port_subject(self.tree))
        for each in [port_subject(self.tree)] if fault and fault.file.startswith("hw/ports/") else self._anew(fault):
            check_subject(each)

    def _constraints(self, fault: Fault | None) -> None:
        check_constraints(self.tree, self._anew(fault))

    def _anew(self, fault: Fault | None) -> list[Subject]:
        """Elaborated with the fault, where it is in the RTL: one kind of image is enough to see it."""
        if fault is None or not fault.file.endswith((".v", ".sv")):
            return self.subjects
        kind = fault.image or "perhop"
        return [each for each in image_subjects(self.tree) if each.name == kind]


def plant_all(tree: Tree, faults: list[Fault] | None = None) -> dict[str, str | None]:
    """By fault, the check that found it; None where it was not found, or something else was said."""
    faults = FAULTS if faults is None else faults
    field = Field(copy_of(tree, tree.out / "planted"))
    for name in dict.fromkeys(fault.check for fault in faults):
        try:
            field.checks[name](None)
        except CheckError as error:
            raise CheckError(f"without a fault planted, {name} fails: {error}") from error
    found: dict[str, str | None] = {}
    for fault in faults:
        with planted(field.tree, fault):
            try:
                field.checks[fault.check](fault)
                found[fault.name] = None
            except CheckError as error:
                found[fault.name] = fault.check if fault.says in str(error) else None
    return found


def told(found: dict[str, str | None]) -> str:
    """How many were found; CheckError with those that were not."""
    left = [name for name, check in found.items() if check is None]
    if left:
        raise CheckError(f"{len(left)} of {len(found)} planted faults are not found: {'; '.join(left)}")
    return f"{len(found)} of {len(found)} planted faults found"
