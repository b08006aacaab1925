# SPDX-License-Identifier: GPL-2.0-or-later
"""EMANE's Emulation Event Log (EEL), of whose events the locations make a trace.

    -Inf nem:1 location gps 40.025495,-74.315441,3.0
    10.0 nem:1 location gps 40.025495,-74.312501,3.0
    10.0 nem:1 pathloss nem:2,95

Seconds, a NEM, an event and what it needs. NEMs become nodes in the order of their numbers. EMANE's nodes are where the
last event says until the next one; here a node goes from place to place in a straight line, so that it is at each when
its event says. Places are metres east (x) and north (y) of the first one, on a plane that touches the ellipsoid there.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

from perhop.errors import ExperimentError
from perhop.mobility import trace_file
from perhop.mobility.trace import Trace
from perhop.mobility.trace_file import MOST_NODES, MOST_S, Read

WHAT = "an event log of EMANE (EEL)"
# WGS 84, as GPS has it.
EQUATORIAL_RADIUS_M = 6_378_137.0
ECCENTRICITY_2 = 6.694379990141e-3
# So far the plane is off by less than a part in a thousand.
MOST_APART_M = 200_000
# EMANE's own events; all but locations say something else of a node.
KNOWN = (
    "location",
    "velocity",
    "orientation",
    "pathloss",
    "pathlossex",
    "antennaprofile",
    "commeffect",
    "fadingselection",
)

_NEM = re.compile(r"nem:(\d{1,5})", re.ASCII)


def load(file: Path) -> Read:
    """The locations in a file. Raises ExperimentError."""
    return parse(trace_file.read_text(file, WHAT), str(file))


def parse(text: str, name: str) -> Read:
    """The locations that a text tells; messages call it `name`. Raises ExperimentError."""
    return _Reader(name).read(text)


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._line = 0
        self._origin: tuple[float, float] | None = None  # latitude and longitude, degrees
        self._ways: dict[int, list[tuple[float, float, float]]] = {}
        self._others: Counter[str] = Counter()
        self._heights_m: set[float] = set()

    def read(self, text: str) -> Read:
        before_s = -math.inf
        for self._line, line in enumerate(text.split("\n"), 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            if len(words) < 3:
                raise self._error("is no event", "write `SECONDS nem:N EVENT ...`")
            time_s = self._time_s(words[0])
            if time_s < before_s:
                raise self._error(f"goes back in time, to {time_s:g} s", "give events in order of time")
            before_s = time_s
            self._event(max(time_s, 0.0), words)
        self._line = 1
        if not self._ways:
            told = ", ".join(self._others) or "nothing"
            raise self._error(
                f"tells no location (it tells {told})", "add `0.0 nem:1 location gps LATITUDE,LONGITUDE,ALTITUDE`"
            )
        nems = sorted(self._ways)
        turns = [turn for node, nem in enumerate(nems) for turn in trace_file.turns_through(node, self._ways[nem])]
        trace = Trace(tuple(self._ways[nem][0][1:] for nem in nems), tuple(sorted(turns, key=lambda turn: turn.at_s)))
        left_out = ["that nodes jump from place to place: they go there in a straight line"]
        if len(self._heights_m) > 1:
            left_out.append("heights: perhop's nodes move in a plane")
        left_out += [f"{count} events {event}" for event, count in self._others.items()]
        return Read(trace, tuple(f"nem:{nem}" for nem in nems), tuple(left_out))

    def _event(self, time_s: float, words: list[str]) -> None:
        _, who, event, *what = words
        nem = _NEM.fullmatch(who)
        if nem is None:
            raise self._error(f"is of {who[:40]!r}, which is no NEM", "write nem:N")
        if event not in KNOWN:
            raise self._error(f"tells {event[:40]!r}", f"use one of EMANE's events: {', '.join(KNOWN)}")
        if event != "location":
            self._others[event] += 1
            return
        if len(what) != 2 or what[0] != "gps" or len(places := what[1].split(",")) not in (3, 4):
            raise self._error("is no location", "write `location gps LATITUDE,LONGITUDE,ALTITUDE`")
        latitude = self._number(places[0], "the latitude", 89.0)
        longitude = self._number(places[1], "the longitude", 180.0)
        self._heights_m.add(self._number(places[2], "the altitude", 1e5))
        x_m, y_m = self._metres(latitude, longitude)
        number = int(nem[1])
        if number not in self._ways and len(self._ways) == MOST_NODES:
            raise self._error(f"is of more than {MOST_NODES} NEMs", "give fewer")
        way = self._ways.setdefault(number, [])
        if way and way[-1][0] == time_s:
            # Of one time the last counts, as in EMANE.
            way.pop()
        way.append((time_s, x_m, y_m))

    def _metres(self, latitude: float, longitude: float) -> tuple[float, float]:
        if self._origin is None:
            self._origin = (latitude, longitude)
        here = math.radians(self._origin[0])
        shape = 1 - ECCENTRICITY_2 * math.sin(here) ** 2
        east_radius_m = EQUATORIAL_RADIUS_M / math.sqrt(shape) * math.cos(here)
        north_radius_m = EQUATORIAL_RADIUS_M * (1 - ECCENTRICITY_2) / shape**1.5
        apart = (longitude - self._origin[1] + 180) % 360 - 180  # over the date line, too
        x_m, y_m = math.radians(apart) * east_radius_m, math.radians(latitude - self._origin[0]) * north_radius_m
        if math.hypot(x_m, y_m) > MOST_APART_M:
            raise self._error(
                f"is {math.hypot(x_m, y_m) / 1000:.0f} km from the first place",
                f"keep all places within {MOST_APART_M // 1000} km: perhop's nodes are on a plane",
            )
        return x_m, y_m

    def _time_s(self, text: str) -> float:
        if text.lower() in ("-inf", "-infinity"):
            return -math.inf
        return self._number(text, "the time", MOST_S)

    def _number(self, text: str, what: str, most: float) -> float:
        return trace_file.number(text, what, -most, most, self._error)

    def _error(self, problem: str, remedy: str) -> ExperimentError:
        return ExperimentError(problem, remedy, file=self._name, line=self._line)
