# SPDX-License-Identifier: GPL-2.0-or-later
"""Swept values as a person reads them."""

from __future__ import annotations

from typing import Any


def swept_word(value: Any) -> Any:
    """A list of flows or events is told by their kinds, a section by its kind; anything else stays as it is."""
    if isinstance(value, list) and all(isinstance(entry, dict) and "kind" in entry for entry in value):
        return " and ".join(sorted({str(entry["kind"]) for entry in value})) or "none"
    if isinstance(value, dict) and "kind" in value:
        return value["kind"]
    return value
