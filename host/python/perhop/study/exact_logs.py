# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what runs with EXACT flows record beside the tables: signals.csv, allocations.csv, exact_packets.csv."""

from __future__ import annotations

import csv
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from perhop.study.results import Row


@dataclass(frozen=True)
class Signal:
    """What a flow's source knows and does from a moment on."""

    t_us: int
    signal_bps: int  # rate of the path in the last report
    allowed_bps: int  # what the application may use of it
    app_bps: int  # what it sends at
    hops: int  # of the path in the last report


@dataclass(frozen=True)
class PacketAt:
    """A data packet that is queued at a router, or that arrives at its destination (no allocation there)."""

    t_us: int
    node: int
    flow: int
    sequence: int
    arrived_bps: int
    allocation_bps: int | None
    sent_bps: int


def run_folder(folder: Path, row: Row) -> Path:
    """Where the run of a row of the results left its files; `folder` is the experiment's output folder."""
    return folder / "runs" / str(row["run"])


def signals(run: Path) -> dict[int, list[Signal]]:
    """The signals of each flow, in order of time."""
    found: dict[int, list[Signal]] = {}
    for row in rows(run / "signals.csv"):
        found.setdefault(int(row["flow"]), []).append(
            Signal(
                int(row["t_us"]),
                int(row["signal_bps"]),
                int(row["allowed_bps"]),
                int(row["app_bps"]),
                int(row["hops"]),
            )
        )
    return found


def at(series: list[Signal], t_us: int) -> Signal | None:
    """What held at a moment; None before the first signal."""
    index = bisect_right(series, t_us, key=lambda signal: signal.t_us)
    return series[index - 1] if index else None


def packets(run: Path) -> Iterator[PacketAt]:
    """Every data packet at every router, in order of time; needs `exact.packets: true`."""
    for row in rows(run / "exact_packets.csv"):
        yield PacketAt(
            int(row["t_us"]),
            int(row["node"]),
            int(row["flow"]),
            int(row["sequence"]),
            int(row["arrived_bps"]),
            int(row["allocation_bps"]) if row["allocation_bps"] else None,
            int(row["sent_bps"]),
        )


def rows(file: Path) -> Iterator[dict[str, str]]:
    """The rows of a CSV file of a run."""
    with file.open(newline="", encoding="utf-8") as lines:
        yield from csv.DictReader(lines)
