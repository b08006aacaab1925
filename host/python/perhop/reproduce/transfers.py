# SPDX-License-Identifier: GPL-2.0-or-later
"""What transfers of a given size get of a path while they compete: for the checks of paper 004's experiments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from perhop.study.results import Results, Row, jain


@dataclass(frozen=True)
class Contest:
    """What the flows of a run got from the start of the last one to the end of the first: all had data to send."""

    row: Row  # of the run's first flow: label, swept values
    ends: tuple[tuple[int, int], ...]  # (src, dst) of each flow
    rates_bps: tuple[float, ...]
    seconds: float

    @property
    def jain(self) -> float | None:
        return jain(self.rates_bps)

    @property
    def sum_bps(self) -> float:
        return sum(self.rates_bps)

    def share(self, flow: int) -> float | None:
        """Of what all flows got together; None where nobody got anything."""
        return self.rates_bps[flow] / self.sum_bps if self.sum_bps else None

    def swept(self, name: str) -> Any:
        return self.row[f"sweep.{name}"]


def contests(results: Results, first_start_s: float) -> Iterator[Contest]:
    """One for each run, in order. The last flow's start is swept, the others begin at `first_start_s`."""
    flows = _by_run(results.flows)
    intervals = _by_run(results.intervals)
    for run, rows in flows.items():
        starts = [first_start_s] * len(rows)
        starts[-1] = rows[-1].get(f"sweep.flows.{len(rows) - 1}.start_s", first_start_s)
        ends = [
            start + row["completion_s"]
            for start, row in zip(starts, rows, strict=True)
            if row["completion_s"] is not None
        ]
        begin = max(starts)
        end = min([*ends, max(row["t_end_s"] for row in intervals[run])])
        if end <= begin:
            continue  # the first was through before the last began
        bits = [0.0] * len(rows)
        for row in intervals[run]:
            shared_s = min(row["t_end_s"], end) - max(row["t_start_s"], begin)
            if shared_s > 0:
                bits[row["flow"]] += row["goodput_bps"] * shared_s
        rates = tuple(sent / (end - begin) for sent in bits)
        yield Contest(rows[0], tuple((row["src"], row["dst"]) for row in rows), rates, end - begin)


def _by_run(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["run"], []).append(row)
    return found
