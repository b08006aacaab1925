# SPDX-License-Identifier: GPL-2.0-or-later
"""Which rows of a committed page were judged by another check than the one in the tree.

Each row on the Markdown page carries the version of its check: a hash of everything that decides its verdict beside the
simulators, whose hashes the page tells at its head.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict
from pathlib import Path

from perhop.reproduce.rows import Catalogue, Row

_SHARED = Path(__file__).parent
_IMPORTS_SHARED = re.compile(r"^ *from perhop\.reproduce(?:\.\w+)? import .*$", re.MULTILINE)
_MARK = re.compile(r"^<!-- ([A-Z]-\d\d) judged by check ([0-9a-f]{12}) -->$", re.MULTILINE)


def check_version(row: Row, known: Catalogue) -> str:
    """12 digits that change with what a row asks, with its experiment, and with the Python that judges it."""
    content = hashlib.sha256(repr(sorted(asdict(row).items())).encode())
    for file in _files(row, known):
        content.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return content.hexdigest()[:12]


def _files(row: Row, known: Catalogue) -> list[Path]:
    """Those of its folders, and of this package what they import."""
    judges = [file for folder in row.folders for file in sorted((known.folder / folder).glob("*.py"))]
    plans = [file for folder in row.folders for file in sorted((known.folder / folder).glob("*.yaml"))]
    imports = " ".join(line for file in judges for line in _IMPORTS_SHARED.findall(file.read_text(encoding="utf-8")))
    shared = [file for file in sorted(_SHARED.glob("*.py")) if re.search(rf"\b{file.stem}\b", imports)]
    return [*judges, *plans, *shared]


def mark(row: Row, known: Catalogue) -> str:
    """The line of the Markdown page, which readers do not see."""
    return f"<!-- {row.id} judged by check {check_version(row, known)} -->"


def stale_rows(markdown: str, known: Catalogue) -> list[str]:
    """Ids of the rows that the page tells otherwise than the tree: judged anew, built since, or no more."""
    on_page = dict(_MARK.findall(markdown))
    in_tree = {row.id: check_version(row, known) for row in known.rows.values() if row.folders}
    return sorted(name for name in on_page.keys() | in_tree.keys() if on_page.get(name) != in_tree.get(name))
