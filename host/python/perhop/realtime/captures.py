# SPDX-License-Identifier: GPL-2.0-or-later
"""Joins the captures of all nodes into one pcapng file, in the order of time, with an interface for each node.

The time stamps are each host's time of day; they are moved to ours by what the hosts' clocks were measured to differ.
Within the bounds of that a reception may stand before its transmission. Radios whose time is set by pulses have one
time, in which what they heard is told to the microsecond: they are moved by one number.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perhop import pcapng
from perhop.realtime.session import Clock


@dataclass(frozen=True)
class Capture:
    """A node's file, what to call the node, and its time of day less ours."""

    name: str
    file: Path
    ahead_us: int


def ahead_of_ours_us(clocks: list[Clock], radio_times: list[dict[str, Any] | None]) -> list[int]:
    """By how much the times of each node's capture are ahead of ours; `radio_times` are of the daemons' status."""
    hosts_us = [clock.time_of_day_ns // 1000 for clock in clocks]
    radios_us = {
        node: hosts_us[node] - round(1e6 * time["host_ahead_s"])
        for node, time in enumerate(radio_times)
        if time is not None and time["by_pulses"]
    }
    common_us = statistics.median_low(radios_us.values()) if radios_us else 0
    return [common_us if node in radios_us else host_us for node, host_us in enumerate(hosts_us)]


def join(captures: list[Capture], to: Path, slow_down: int = 1, from_us: int = 0) -> int:
    """Times are told as they are in a network that is slowed down from that time of day on.

    @return the packets written
    """
    packets: list[tuple[int, int, int, bytes]] = []
    interfaces = []
    for number, capture in enumerate(captures):
        head = b""
        for kind, body in pcapng.read_blocks(capture.file):
            if kind == pcapng.INTERFACE and not head:
                head = body[:8]  # link type and snap length
            elif kind == pcapng.PACKET:
                at_us = from_us + (pcapng.time_us(body) - capture.ahead_us - from_us) // slow_down
                packets.append((at_us, number, len(packets), body))
        interfaces.append(pcapng.interface(capture.name, head))
    packets.sort()
    with to.open("wb") as sink:
        sink.write(pcapng.section() + b"".join(interfaces))
        for at_us, number, _, body in packets:
            sink.write(pcapng.moved(body, number, at_us))
    return len(packets)
