# SPDX-License-Identifier: GPL-2.0-or-later
"""What each question has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS

from phy_bench import frame_errors
from phy_bench.points import Bench

LOSS_DB = {RATE_1MBPS: 1.0, RATE_2MBPS: 1.5}
"""What the receiver may lose against theory at the worst offsets: its filter, its timing, six bits."""


def bound_db(rate: int) -> float:
    """Es/N0 at which at most PER_LIMIT of the frames may be lost."""
    return frame_errors.theory_point_db(rate) + LOSS_DB[rate]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


class Section(ABC):
    """One question."""

    title: str

    @abstractmethod
    def measure(self, bench: Bench) -> None:
        """Take the measurements; what is below speaks of them."""

    @abstractmethod
    def lines(self) -> list[str]:
        """What was measured, for the terminal."""

    def wrong(self) -> list[str]:
        """Each bound that does not hold, as a sentence."""
        return []

    @abstractmethod
    def page(self, folder: Path) -> str:
        """The section of docs/phy in Markdown, below its title; its figures are written to `folder`."""

    @abstractmethod
    def result(self) -> dict[str, Any]:
        """Its keys of the RESULT line."""
