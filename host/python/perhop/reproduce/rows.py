# SPDX-License-Identifier: GPL-2.0-or-later
"""The claims of the papers, as sim/experiments/rows.yaml lists them, and how words choose among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ruamel.yaml import YAML

from perhop import paths
from perhop.errors import PerhopError, choose_from

# `quick`: shorter runs, fewer seeds. `full`: the papers' durations.
Grade = Literal["quick", "full"]
GRADES: tuple[Grade, ...] = ("quick", "full")


@dataclass(frozen=True)
class Row:
    """One claim. `experiment` is the folder that judges it, None while there is none; `also` one that judges it, too.

    `seeds_least` and `grade_least` are what the row asks of the runs behind its verdict; `missing` names the part of it
    that nothing here runs yet. With less than it asks for, a row is not finished.
    """

    id: str
    paper: str
    title: str
    claim: str
    check: str
    experiment: str | None
    numeric: bool
    seeds_least: int = 0
    grade_least: Grade = "quick"
    missing: str = ""
    also: str | None = None

    @property
    def folders(self) -> list[str]:
        """Those that judge it; of equal grades, that of the first and its seeds are told."""
        return [folder for folder in (self.experiment, self.also) if folder is not None]

    def __post_init__(self) -> None:
        if self.grade_least not in GRADES or not isinstance(self.seeds_least, int) or self.seeds_least < 0:
            raise TypeError(f"grade_least is one of {', '.join(GRADES)}, seeds_least a whole number")


@dataclass(frozen=True)
class Catalogue:
    """All rows, by id and in order, and the titles of the papers."""

    folder: Path
    papers: dict[str, str]
    rows: dict[str, Row]


def experiments() -> Path:
    """Where rows.yaml and the experiment folders are."""
    return paths.repository() / "sim" / "experiments"


def catalogue(folder: Path) -> Catalogue:
    """Read rows.yaml of `folder`. Raises PerhopError when a row is not as it must be."""
    file = folder / "rows.yaml"
    try:
        content = YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PerhopError(
            f"{paths.shown(file)} cannot be read: {error.strerror}", "run in a checkout of perhop"
        ) from None
    rows = {}
    for name, fields in content["rows"].items():
        try:
            row = Row(id=name, **fields)
        except TypeError as error:
            raise PerhopError(
                f"{paths.shown(file)}: row {name}: {error}", "write the fields that the others have"
            ) from None
        for experiment in row.folders:
            if not (folder / experiment / "check.py").is_file():
                raise PerhopError(
                    f"{paths.shown(file)}: row {name} names the experiment {experiment!r}, which has no check.py",
                    "name a folder beside rows.yaml, or null",
                )
        rows[name] = row
    return Catalogue(folder, content["papers"], rows)


def select(known: Catalogue, asked: Iterable[str]) -> list[Row]:
    """The rows that the words name: `all`, a paper, a row, or a folder. Raises PerhopError for any other word."""
    chosen: set[str] = set()
    for word in asked:
        found = {
            row.id
            for row in known.rows.values()
            if word == "all" or word.upper() == row.id or word.lower() in (row.paper, *row.folders)
        }
        if not found:
            # All row ids would be a page; those of the near miss's paper say how they look.
            words = ["all", *known.papers, *known.rows]
            remedy = choose_from(word.upper() if word[:1].upper() + "-01" in known.rows else word, words)
            if "did you mean" in remedy:
                remedy = remedy.partition(" Known:")[0]
            else:
                remedy = f"use all, a paper ({', '.join(known.papers)}), or a row such as {next(iter(known.rows))}"
            raise PerhopError(f"there is no row or paper {word!r}", remedy)
        chosen |= found
    return [row for row in known.rows.values() if row.id in chosen]
