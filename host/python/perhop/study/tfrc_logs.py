# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what runs with TFRC flows record beside the tables: loss_intervals.csv."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perhop.study.exact_logs import rows


@dataclass(frozen=True)
class LossInterval:
    """An interval between two loss events, when it ended."""

    t_us: int
    predicted_packets: float  # mean of the intervals before it, as it began
    true_packets: float

    @property
    def error(self) -> float:
        """|predicted - true| / true, as paper 002 has it."""
        return abs(self.predicted_packets - self.true_packets) / self.true_packets


def loss_intervals(run: Path) -> dict[int, list[LossInterval]]:
    """The loss intervals of each flow, in order of time."""
    found: dict[int, list[LossInterval]] = {}
    for row in rows(run / "loss_intervals.csv"):
        interval = LossInterval(int(row["t_us"]), float(row["predicted_packets"]), float(row["true_packets"]))
        found.setdefault(int(row["flow"]), []).append(interval)
    return found
