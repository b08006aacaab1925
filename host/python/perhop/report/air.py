# SPDX-License-Identifier: GPL-2.0-or-later
"""What each node's MAC waited for, reconstructed from the frames on the air: NAV, inter-frame space and back-off.

A capture has frames, and no state of a MAC. Of a node that stands, the rest follows from the standard: it senses what
is sent within medium.cs_range_m, and reads what is sent within medium.tx_range_m while nothing else is sensed there.
What it reads for somebody else sets its NAV for the frame's Duration (IEEE 802.11-2012, 9.3.2.4). Its own access begins
when medium and NAV are idle. It waits a DIFS, an EIFS after what it could not read (9.3.7), or the response timeout
after a frame of its own that nobody answered, and then its back-off slots. Capture, by which a node may read one of two
frames that overlap, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from perhop.registers import spec_generated as spec
from perhop.report.capture import CTS, DATA, NOBODY, RTS, Column, Frames

# A frame and the answer to it are a SIFS apart, and some microseconds on the way.
ANSWER_SLACK_US = 8
NO_ACCESS = -1
LIGHT_M_PER_US = 299.792458

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Reservations:
    """When a node's NAV was set, merged where one extends another."""

    node: Column
    start_us: Column
    end_us: Column


@dataclass(frozen=True)
class Waits:
    """Of each frame: when the medium became idle for its sender, and the inter-frame space from then on.

    NO_ACCESS where the frame answers another one, where the medium was idle for longer than any back-off, and where
    nothing is known.
    """

    idle_from_us: Column
    ifs_us: Column


@dataclass(frozen=True)
class _Sensed:
    """The frames that a node senses, by index, and when they begin and end there."""

    frame: Column
    start_us: Column
    end_us: Column


class Blocked:
    """Which pairs of nodes do not hear each other at which time, by the events of a run."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self._spans: list[tuple[int, int | None, float, float]] = []  # node, other (None: all), from, to
        began: dict[tuple[int, int | None], float] = {}
        for event in sorted(events, key=lambda event: float(event["at_s"])):
            kind, at_us = event["kind"], 1e6 * event["at_s"]
            if kind not in ("node_down", "node_up", "link_down", "link_up"):
                continue
            pair = (
                (event["node"], None) if "node" in event else (min(event["a"], event["b"]), max(event["a"], event["b"]))
            )
            if kind.endswith("down"):
                began.setdefault(pair, at_us)
            elif pair in began:
                self._spans.append((*pair, began.pop(pair), at_us))
        self._spans += [(*pair, at_us, np.inf) for pair, at_us in began.items()]

    def hears(self, node: int, frames: Frames) -> Mask:
        """Of each frame, whether events let it reach the node."""
        heard = np.ones(len(frames.start_us), dtype=bool)
        for one, other, from_us, to_us in self._spans:
            while_blocked = (frames.start_us >= from_us) & (frames.start_us < to_us)
            if other is None:
                heard &= ~(while_blocked & ((frames.node == one) | (node == one)))
            elif node in (one, other):
                heard &= ~(while_blocked & (frames.node == (other if node == one else one)))
        return heard


def reconstruct(
    frames: Frames, run: dict[str, Any], profile: spec.TimingProfile, nodes: list[int]
) -> tuple[Reservations, Waits]:
    """NAVs and waits of `nodes`. @param run run.json of the capture, whose nodes stand"""
    positions = np.array([(node["x_m"], node["y_m"]) for node in run["nodes"]])
    count = len(frames.start_us)
    idle_from_us, ifs_us = np.full(count, NO_ACCESS), np.full(count, NO_ACCESS)
    blocked = Blocked(run.get("events", []))
    begins = _begins_exchange(frames, profile)
    standard = run["mac"]["compat"] == "standard"
    # ns-2's timeout is counted from the frame's end to that of the answer, too.
    timeout_us = profile.response_timeout_us if standard else profile.ns2_response_timeout_us
    reserved = []
    for node in nodes:
        if node >= len(positions):
            continue  # a server, which has no radio
        distance_m = np.hypot(*(positions - positions[node]).T)
        reach = frames.node < len(positions)
        from_m = distance_m[np.where(reach, frames.node, 0)]
        other = reach & (frames.node != node) & blocked.hears(node, frames)
        there = np.flatnonzero(other & (from_m <= run["medium"]["cs_range_m"]))
        sensed = _Sensed(there, *_arrivals(frames, there, from_m[there], run["medium"]["propagation_us"]))
        own = np.flatnonzero(frames.node == node)
        read = _read(frames, sensed, own) & (from_m[there] <= run["medium"]["tx_range_m"])
        nav = _nav(frames, sensed, read, node, profile)
        reserved.append((np.full(len(nav[0]), node), *nav))
        _waits(frames, sensed, read, own, nav, begins, profile, timeout_us, idle_from_us, ifs_us)
    columns = (
        [np.concatenate(column) for column in zip(*reserved, strict=True)] if reserved else [np.zeros(0, np.int64)] * 3
    )
    return Reservations(*columns), Waits(idle_from_us, ifs_us)


def _begins_exchange(frames: Frames, profile: spec.TimingProfile) -> Mask:
    """Whether a frame is one that a node contended for: an RTS, or DATA that no CTS called for."""
    begins = frames.kind == RTS
    for node in np.unique(frames.node):
        data = np.flatnonzero((frames.node == node) & (frames.kind == DATA))
        called = np.sort(frames.end_us[(frames.kind == CTS) & (frames.receiver == node)])
        last = np.searchsorted(called, frames.start_us[data], side="right") - 1
        gap_us = frames.start_us[data] - called[last] if len(called) else np.full(len(data), np.inf)
        begins[data] = (last < 0) | (gap_us > profile.sifs_us + ANSWER_SLACK_US)
    return begins


def _arrivals(
    frames: Frames, sensed: Column, from_m: npt.NDArray[np.float64], propagation_us: int | str
) -> tuple[Column, Column]:
    """When frames begin and end at a node that is `from_m` away from their senders."""
    if propagation_us == "auto":
        delay_us = np.maximum(1, np.rint(from_m / LIGHT_M_PER_US)).astype(np.int64)
    else:
        delay_us = np.full(len(sensed), int(propagation_us))
    start_us = frames.start_us[sensed] + delay_us
    return start_us, start_us + frames.air_us[sensed]


def _read(frames: Frames, sensed: _Sensed, own: Column) -> Mask:
    """Of the frames that a node senses, those that no other one overlaps there, and none of its own."""
    start_us, end_us = sensed.start_us, sensed.end_us
    if not len(start_us):
        return np.zeros(0, dtype=bool)
    alone = np.ones(len(start_us), dtype=bool)
    alone[1:] &= np.maximum.accumulate(end_us)[:-1] <= start_us[1:]
    alone[:-1] &= start_us[1:] >= end_us[:-1]
    if len(own):
        own_start_us, own_end_us = frames.start_us[own], frames.end_us[own]
        following = np.searchsorted(own_start_us, start_us)
        alone &= np.where(following < len(own), own_start_us[np.minimum(following, len(own) - 1)] >= end_us, True)
        alone &= np.where(following > 0, own_end_us[np.maximum(following - 1, 0)] <= start_us, True)
    return alone


def _nav(frames: Frames, sensed: _Sensed, read: Mask, node: int, profile: spec.TimingProfile) -> tuple[Column, Column]:
    """Starts and ends of the times for which others have reserved the medium."""
    sets = read & (frames.receiver[sensed.frame] != node) & (frames.duration_us[sensed.frame] > 0)
    setting = sensed.frame[sets]
    start_us = sensed.end_us[sets]
    end_us = start_us + frames.duration_us[setting]
    # An RTS that nobody answers reserves no longer than it takes to notice (9.3.2.4).
    heard_us = np.append(np.sort(sensed.start_us), np.iinfo(np.int64).max)
    next_us = heard_us[np.searchsorted(heard_us, start_us)]
    reset_us = start_us + profile.nav_reset_us
    end_us = np.where((frames.kind[setting] == RTS) & (next_us > reset_us), reset_us, end_us)
    return _merged(start_us, end_us)


def _merged(start_us: Column, end_us: Column) -> tuple[Column, Column]:
    """A NAV extends a running one and never shortens it."""
    if not len(start_us):
        return start_us, end_us
    order = np.argsort(start_us, kind="stable")
    start_us, latest_us = start_us[order], np.maximum.accumulate(end_us[order])
    first = np.concatenate(([True], start_us[1:] > latest_us[:-1]))
    last = np.concatenate((first[1:], [True]))
    return start_us[first], latest_us[last]


def _waits(
    frames: Frames,
    sensed: _Sensed,
    read: Mask,
    own: Column,
    nav: tuple[Column, Column],
    begins: Mask,
    profile: spec.TimingProfile,
    timeout_us: int,
    idle_from_us: Column,
    ifs_us: Column,
) -> None:
    """Fill in the waits of a node's own frames."""
    accesses = own[begins[own]]
    if not len(accesses):
        return
    # What made the node wait, and the space that follows it.
    start_us = np.concatenate((sensed.start_us, frames.start_us[own], nav[0]))
    end_us = np.concatenate((sensed.end_us, frames.end_us[own], nav[1]))
    asks = (frames.kind[own] == RTS) | ((frames.kind[own] == DATA) & (frames.receiver[own] != NOBODY))
    space_us = np.concatenate(
        (
            np.where(read, profile.difs_us, profile.eifs_us),
            np.where(asks, timeout_us, profile.difs_us),
            np.full(len(nav[0]), profile.difs_us),
        )
    )
    order = np.argsort(start_us, kind="stable")
    start_us, end_us, space_us = start_us[order], end_us[order], space_us[order]
    before = np.searchsorted(start_us, frames.start_us[accesses]) - 1
    # The last to end of all that had begun.
    latest = np.maximum.accumulate(end_us)
    holder = np.maximum.accumulate(np.where(end_us >= latest, np.arange(len(end_us)), 0))
    known = before >= 0
    known &= latest[np.maximum(before, 0)] <= frames.start_us[accesses]
    # A medium that was idle for longer than the longest back-off waited for a packet.
    longest = np.where(_again(frames, own, accesses), profile.cw_max, profile.cw_min) * profile.slot_us
    slots_us = frames.start_us[accesses] - latest[np.maximum(before, 0)] - space_us[holder[np.maximum(before, 0)]]
    known &= slots_us <= longest
    chosen, at = accesses[known], before[known]
    idle_from_us[chosen] = latest[at]
    ifs_us[chosen] = space_us[holder[at]]


def _again(frames: Frames, own: Column, accesses: Column) -> Mask:
    """Whether an access repeats one: the node's last frame but answers was an RTS, or DATA that is now a retry."""
    asked = own[(frames.kind[own] == RTS) | (frames.kind[own] == DATA)]
    last = np.searchsorted(asked, accesses) - 1
    after_rts = (last >= 0) & (frames.kind[asked[np.maximum(last, 0)]] == RTS)
    return after_rts | (frames.retry[accesses] > 0)
