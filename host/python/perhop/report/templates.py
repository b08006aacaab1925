# SPDX-License-Identifier: GPL-2.0-or-later
"""The templates of the HTML pages: what is put into one is escaped, unless it is HTML that a template made."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

FOLDER = Path(__file__).with_name("templates")


@cache
def environment() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    found.filters["lines"] = lines
    return found


def lines(text: str) -> Markup:
    """Text whose line breaks are seen."""
    return Markup("<br>").join(escape(line) for line in text.split("\n"))


def render(name: str, **values: Any) -> str:
    """The template `name` with these values."""
    return environment().get_template(name).render(**values)
