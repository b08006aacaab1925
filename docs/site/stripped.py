# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells whether a notebook is as git should have it: what it prints and draws is made anew with the site."""

import json
from pathlib import Path


def not_stripped(path: Path) -> list[str]:
    """What git should not have: outputs, counts, and whose machine it was."""
    book = json.loads(path.read_text())
    found = [f"{path.name}: cell {at} has outputs" for at, cell in enumerate(book["cells"]) if cell.get("outputs")]
    found += [
        f"{path.name}: cell {at} has a count" for at, cell in enumerate(book["cells"]) if cell.get("execution_count")
    ]
    return found + ([f"{path.name}: metadata"] if set(book["metadata"]) - {"kernelspec", "language_info"} else [])
