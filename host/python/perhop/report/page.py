# SPDX-License-Identifier: GPL-2.0-or-later
"""What the HTML pages share: the frame with the style, and tables that a screen reader can read out."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path

STYLE_FILE = Path(__file__).with_name("report.css")


def text(value: object) -> str:
    return html.escape(str(value))


def document(title: str, body: Iterable[str], kind: str = "", style: str = "") -> str:
    """A whole page. `kind` is a class for its style, `style` is added to that of all pages."""
    whole_style = STYLE_FILE.read_text(encoding="utf-8") + style
    main = f'<main class="{kind}">' if kind else "<main>"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{text(title)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><style>{whole_style}</style></head>\n'
        f"<body>{main}\n{chr(10).join(part for part in body if part)}\n</main></body></html>\n"
    )


def table(caption: str, head: Sequence[str], lines: Iterable[str], left: Iterable[str] = (), kind: str = "") -> str:
    """A table that scrolls by itself where it is wider than the page.

    `caption` is for those who do not see the table. `lines` are whole <tr>; of the headings `head`, those in `left`
    stand on the left.
    """
    left = tuple(left)
    cells = "".join(
        f'<th scope="col" class="left">{name}</th>' if name in left else f'<th scope="col">{name}</th>' for name in head
    )
    of_kind = f' class="{kind}"' if kind else ""
    return (
        f'<div class="scroll" role="region" aria-label="{text(caption)}" tabindex="0"><table{of_kind}>'
        f"<caption>{text(caption)}</caption><thead><tr>{cells}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def wide(picture: str, label: str) -> str:
    """A picture that scrolls by itself where it is wider than the page, so that what is written in it can be read."""
    return f'<div class="wide" role="region" aria-label="{text(label)}" tabindex="0">{picture}</div>'
