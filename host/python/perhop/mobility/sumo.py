# SPDX-License-Identifier: GPL-2.0-or-later
"""What SUMO writes with --fcd-output: for each time step, where each vehicle and person is.

    <fcd-export>
      <timestep time="1.00"><vehicle id="car.0" x="14.5" y="2.1" speed="9.3" .../></timestep>
    </fcd-export>

Vehicles and persons become nodes in the order in which they appear. Between two steps a node goes in a straight line.
One that is not there yet, or no more, stands where it was first or last seen; `perhop import` adds events that switch
its radio off for that time.
"""

from __future__ import annotations

from pathlib import Path

from perhop.mobility import trace_file
from perhop.mobility.trace import Trace
from perhop.mobility.trace_file import MOST_M, MOST_NODES, MOST_S, Presence, Read
from perhop.xml_events import XmlReader

WHAT = "what SUMO writes with --fcd-output"
ROOT = "fcd-export"
MOVING = ("vehicle", "person", "container")
PLACED = ("id", "x", "y")


def load(file: Path) -> Read:
    """The trace in a file, zipped or not. Raises ExperimentError."""
    return parse(trace_file.read_bytes(file, WHAT), str(file))


def parse(content: bytes, name: str) -> Read:
    """The trace that an XML document says; messages call it `name`. Raises ExperimentError."""
    return _Reader(name).read(content)


class _Reader(XmlReader):
    def __init__(self, name: str) -> None:
        super().__init__(name, ROOT, WHAT)
        self._now_s: float | None = None
        self._steps: list[float] = []
        self._ways: dict[str, list[tuple[float, float, float]]] = {}
        self._absent: set[str] = set()

    def read(self, content: bytes) -> Read:
        self.feed(content)
        if not self._ways:
            raise self.error("has no vehicle", f"give {WHAT}", line=1)
        turns = [turn for node, way in enumerate(self._ways.values()) for turn in trace_file.turns_through(node, way)]
        trace = Trace(
            tuple(way[0][1:] for way in self._ways.values()), tuple(sorted(turns, key=lambda turn: turn.at_s))
        )
        presences = tuple(
            Presence(node, way[0][0], way[-1][0])
            for node, way in enumerate(self._ways.values())
            if way[0][0] > self._steps[0] or way[-1][0] < self._steps[-1]
        )
        left_out = ["speeds, angles, lanes, slopes and types: a node goes straight from place to place"]
        if presences:
            left_out.append(
                f"that {len(presences)} of {len(self._ways)} are not there all the time, in the trace itself"
            )
        return Read(trace, tuple(self._ways), tuple(left_out), presences)

    def start(self, tag: str, fields: dict[str, str]) -> None:
        if tag == "timestep":
            before_s = self._steps[-1] if self._steps else -1.0
            self._now_s = trace_file.number(self.field(tag, fields, "time"), "time", 0, MOST_S, self.refused)
            if self._now_s <= before_s:
                raise self.error(f"a step of {self._now_s:g} s follows one of {before_s:g} s", "give times that rise")
            self._steps.append(self._now_s)
        elif tag in MOVING:
            self._place(tag, fields)

    def _place(self, tag: str, fields: dict[str, str]) -> None:
        if self._now_s is None:
            raise self.error(f"<{tag}> is in no <timestep>", f"give {WHAT}")
        who, x, y = (self.field(tag, fields, each) for each in PLACED)
        place = (
            self._now_s,
            trace_file.number(x, "x", -MOST_M, MOST_M, self.refused),
            trace_file.number(y, "y", -MOST_M, MOST_M, self.refused),
        )
        way = self._ways.get(who)
        if way is None:
            if len(self._ways) == MOST_NODES:
                raise self.error(f"has more than {MOST_NODES} vehicles and persons", "give fewer")
            self._ways[who] = [place]
        elif way[-1][0] == self._now_s:
            raise self.error(f"places {who[:40]!r} twice at {self._now_s:g} s", "remove one of the two")
        else:
            way.append(place)

    def comment(self, text: str) -> None:
        # SUMO puts its configuration in front.
        if '<fcd-output.geo value="true"' in text or '<fcd-output.geo value="t"' in text:
            raise self.error("has longitudes and latitudes", "run SUMO without --fcd-output.geo")
