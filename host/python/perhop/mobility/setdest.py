# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces in the format of ns-2's `setdest`, which ns-2 sources as Tcl.

    $node_(0) set X_ 83.36
    $node_(0) set Y_ 239.43
    $node_(0) set Z_ 0.0
    $ns_ at 2.5 "$node_(0) setdest 90.44 44.89 1.37"

Its last line means: from 2.5 s on node 0 goes to (90.44, 44.89) at 1.37 m/s. Comments, blank lines, heights (Z_) and
what setdest tells ns-2's god, the shortest paths, are passed over. Nothing is run: what else Tcl
may say is an error. ns-2 itself takes places strictly within its topography only.
"""

from __future__ import annotations

import re
from pathlib import Path

from perhop.errors import ExperimentError
from perhop.mobility import trace_file
from perhop.mobility.trace import Trace, Turn
from perhop.mobility.trace_file import LEAST_MPS, MOST_M, MOST_MPS, MOST_NODES, MOST_S

LEFT_OUT = "heights (Z_) and shortest paths (god), where it tells any"

_NODE = r"\$node_\((\d{1,9})\)"
_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
_START = re.compile(rf"{_NODE}\s+set\s+([XYZ])_\s+{_NUMBER}", re.ASCII)
_TURN = re.compile(rf'\$ns_\s+at\s+{_NUMBER}\s+"\s*{_NODE}\s+setdest\s+{_NUMBER}\s+{_NUMBER}\s+{_NUMBER}\s*"', re.ASCII)
_PASSED_OVER = re.compile(r'#.*|\$god_\s.*|\$ns_\s+at\s+\S+\s+"\s*\$god_\s.*"|set\s+god_\s.*', re.ASCII)


def load(file: Path) -> Trace:
    """The trace in a file. Raises ExperimentError."""
    return parse(trace_file.read_text(file, "a trace in setdest's format"), str(file))


def parse(text: str, name: str) -> Trace:
    """The trace that a text says; messages call it `name`. Raises ExperimentError."""
    return _Reader(name).read(text)


def write(trace: Trace, comment: str = "") -> str:
    """The text of a trace without jumps. Reading it gives the same trace, to the last bit."""
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    for node, (x_m, y_m) in enumerate(trace.starts):
        lines += [f"$node_({node}) set X_ {x_m!r}", f"$node_({node}) set Y_ {y_m!r}", f"$node_({node}) set Z_ 0.0"]
    for turn in trace.turns:
        where = f"{turn.x_m!r} {turn.y_m!r} {turn.speed_mps!r}"
        lines.append(f'$ns_ at {turn.at_s!r} "$node_({turn.node}) setdest {where}"')
    return "\n".join(lines) + "\n"


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._starts: dict[int, dict[str, float]] = {}
        self._turns: list[tuple[Turn, int]] = []

    def read(self, text: str) -> Trace:
        # Not splitlines(), which breaks lines where no editor does.
        for number, line in enumerate(text.split("\n"), 1):
            stripped = line.strip()
            if not stripped or _PASSED_OVER.fullmatch(stripped):
                continue
            if start := _START.fullmatch(stripped):
                self._start(number, *start.groups())
            elif turn := _TURN.fullmatch(stripped):
                self._turn(number, *turn.groups())
            else:
                shown = stripped if len(stripped) <= 60 else stripped[:57] + "..."
                raise self._error(
                    number,
                    f"is no line of setdest's format: {shown!r}",
                    'write `$node_(I) set X_ METRES` or `$ns_ at SECONDS "$node_(I) setdest X Y SPEED"`',
                )
        return self._trace()

    def _start(self, line: int, node_text: str, axis: str, value: str) -> None:
        node = self._node(line, node_text)
        place = self._starts.setdefault(node, {})
        if axis in place:
            raise self._error(line, f"gives {axis}_ of node {node} a second time", "remove one of the two")
        place[axis] = self._number(line, value, f"{axis}_", -MOST_M, MOST_M)

    def _turn(self, line: int, at: str, node_text: str, x: str, y: str, speed: str) -> None:
        turn = Turn(
            self._number(line, at, "the time", 0, MOST_S),
            self._node(line, node_text),
            self._number(line, x, "x", -MOST_M, MOST_M),
            self._number(line, y, "y", -MOST_M, MOST_M),
            self._number(line, speed, "the speed", 0, MOST_MPS),
        )
        if 0 < turn.speed_mps < LEAST_MPS:
            raise self._error(line, f"has a speed of {turn.speed_mps:g} m/s", f"give 0, or at least {LEAST_MPS:g}")
        self._turns.append((turn, line))

    def _node(self, line: int, text: str) -> int:
        node = int(text)
        if node >= MOST_NODES:
            raise self._error(line, f"names node {node}", f"number nodes from 0 to at most {MOST_NODES - 1}")
        return node

    def _number(self, line: int, text: str, what: str, least: float, most: float) -> float:
        return trace_file.number(text, what, least, most, lambda problem, remedy: self._error(line, problem, remedy))

    def _trace(self) -> Trace:
        if not self._starts:
            raise self._error(1, "places no node", "write `$node_(0) set X_ METRES` and so on")
        for node in range(max(self._starts) + 1):
            missing = [axis for axis in "XY" if axis not in self._starts.get(node, {})]
            if missing:
                raise self._error(
                    1,
                    f"does not say {missing[0]}_ of node {node}, and names nodes up to {max(self._starts)}",
                    f"add `$node_({node}) set {missing[0]}_ METRES`",
                )
        for turn, line in self._turns:
            if turn.node not in self._starts:
                raise self._error(line, f"moves node {turn.node}, which has no place", "place it, or remove this")
        # As ns-2's scheduler does: of one time, in the order written.
        turns = sorted((turn for turn, _ in self._turns), key=lambda turn: turn.at_s)
        starts = tuple((self._starts[node]["X"], self._starts[node]["Y"]) for node in range(len(self._starts)))
        return Trace(starts, tuple(turns))

    def _error(self, line: int, problem: str, remedy: str) -> ExperimentError:
        return ExperimentError(problem, remedy, file=self._name, line=line)
