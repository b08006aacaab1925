# SPDX-License-Identifier: GPL-2.0-or-later
"""What the HTML pages share: the frame with style and script, and what a table is made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from perhop.report import templates

STYLE_FILE = Path(__file__).with_name("report.css")
SCRIPT_FILE = Path(__file__).with_name("report.js")


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table. `unseen`: for those who hear the table, as the line above says it too."""

    text: str
    below: str = ""
    strong: bool = False
    unseen: bool = False
    mark: str = ""
    title: str = ""
    bar: tuple[tuple[str, float], ...] = ()  # classes and percent
    unit: str = ""


@dataclass(frozen=True)
class Row:
    """`first` says whether it begins a group."""

    first: bool
    cells: list[Cell]


@dataclass(frozen=True)
class Table:
    """`caption` is for those who do not see it; the headings in `left` stand on the left, `named_by` names the rows."""

    caption: str
    head: list[str]
    rows: list[Row]
    named_by: str = ""
    left: tuple[str, ...] = ()
    kind: str = ""


def render(template: str, title: str, style: str = "", **values: Any) -> str:
    """A whole page by a template that extends page.html.jinja."""
    return templates.render(
        template,
        title=title,
        style=Markup(STYLE_FILE.read_text(encoding="utf-8") + style),
        script=Markup(SCRIPT_FILE.read_text(encoding="utf-8")),
        **{"kind": "", **values},
    )
