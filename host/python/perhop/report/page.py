# SPDX-License-Identifier: GPL-2.0-or-later
"""What the HTML pages share: the frame with style and script, and tables that a screen reader can read out."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
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


def text(value: object) -> str:
    return html.escape(str(value))


def document(title: str, body: Iterable[str], kind: str = "", style: str = "") -> str:
    """A whole page of parts in HTML. `kind` is a class for its style, `style` is added to that of all pages."""
    return render("page.html.jinja", title, style, kind=kind, body=[Markup(part) for part in body])


def render(template: str, title: str, style: str = "", **values: Any) -> str:
    """A whole page by a template that extends page.html.jinja."""
    return templates.render(
        template,
        title=title,
        style=Markup(STYLE_FILE.read_text(encoding="utf-8") + style),
        script=Markup(SCRIPT_FILE.read_text(encoding="utf-8")),
        **{"kind": "", **values},
    )


def section(title: str, lead: str, body: str) -> str:
    """A section of a page; lead and body are HTML."""
    return f"<section><h2>{text(title)}</h2><p>{lead}</p>{body}</section>"


def table(caption: str, head: Sequence[str], lines: Iterable[str], left: Iterable[str] = (), kind: str = "") -> str:
    """A table of whole <tr>; headings are HTML."""
    return str(
        templates.environment()
        .from_string(
            '{% import "parts.html.jinja" as parts %}'
            "{% call parts.framed(caption, head, left, kind) %}{{ lines }}{% endcall %}"
        )
        .render(
            caption=caption,
            head=[Markup(name) for name in head],
            lines=Markup("".join(lines)),
            left=tuple(left),
            kind=kind,
        )
    )


def panels(group: Any) -> str:
    """Figures beside or below each other, as the page has room."""
    return str(templates.macro("panels", group))


def wide(picture: str, label: str) -> str:
    """A picture that scrolls by itself where it is wider than the page, so that what is written in it can be read."""
    return str(templates.macro("wide", Markup(picture), label))
