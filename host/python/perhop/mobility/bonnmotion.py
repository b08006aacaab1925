# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces in BonnMotion's own format, NAME.movements or NAME.movements.gz: a line a node, places with their times.

    0.0 121.9 237.3 290.8 343.7 161.9 330.8 343.7 161.9

That node stands at (121.9, 237.3) m at 0 s and goes from there in a straight line, so that it is at (343.7, 161.9) at
290.8 s. A file that begins with `#3D` has heights behind x and y. The file NAME.params beside it is not read.
"""

from __future__ import annotations

from pathlib import Path

from perhop.errors import ExperimentError
from perhop.mobility import trace_file
from perhop.mobility.trace import Trace
from perhop.mobility.trace_file import MOST_M, MOST_NODES, MOST_S, Read

WHAT = "a trace of BonnMotion (NAME.movements.gz)"
MARK_3D = "#3D"


def load(file: Path) -> Read:
    """The trace in a file, zipped or not. Raises ExperimentError."""
    return parse(trace_file.read_text(file, WHAT), str(file))


def parse(text: str, name: str) -> Read:
    """The trace that a text says; messages call it `name`. Raises ExperimentError."""
    values_each, starts, turns = 3, [], []
    for line_number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("#"):
            values_each = 4 if stripped == MARK_3D else values_each
            continue
        if not stripped:
            continue
        node = len(starts)
        if node == MOST_NODES:
            raise ExperimentError(
                f"has more than {MOST_NODES} nodes", "give a trace of fewer nodes", file=name, line=line_number
            )
        way = _way(stripped.split(), values_each, name, line_number)
        starts.append(way[0][1:])
        turns += trace_file.turns_through(node, way)
    if not starts:
        raise ExperimentError("places no node", f"give {WHAT}", file=name, line=1)
    left_out = ("heights: perhop's nodes move in a plane",) if values_each == 4 else ()
    return Read(Trace(tuple(starts), tuple(sorted(turns, key=lambda turn: turn.at_s))), left_out=left_out)


def _way(values: list[str], values_each: int, name: str, line: int) -> list[tuple[float, float, float]]:
    def refused(problem: str, remedy: str) -> ExperimentError:
        return ExperimentError(problem, remedy, file=name, line=line)

    if len(values) % values_each:
        words = "time, x, y" if values_each == 3 else "time, x, y, z (the file is marked #3D)"
        raise refused(
            f"has {len(values)} values, which are no groups of {values_each}",
            f"write {words} for each place; traces with a status (DisasterArea) are not read",
        )
    way: list[tuple[float, float, float]] = []
    for index in range(0, len(values), values_each):
        time_s = trace_file.number(values[index], "a time", 0, MOST_S, refused)
        x_m, y_m = (
            trace_file.number(values[index + axis], "xy"[axis - 1], -MOST_M, MOST_M, refused) for axis in (1, 2)
        )
        if way and time_s < way[-1][0]:
            raise refused(f"goes back in time, from {way[-1][0]:g} to {time_s:g} s", "give times that rise")
        if way and time_s == way[-1][0] and (x_m, y_m) != way[-1][1:]:
            raise refused(f"has two places at {time_s:g} s", "give each place a time of its own")
        way.append((time_s, x_m, y_m))
    return way
