# SPDX-License-Identifier: GPL-2.0-or-later
"""Joins the captures of all nodes into one pcapng file, in the order of time, with an interface for each node.

The time stamps are each host's time of day; they are moved to ours by what the hosts' clocks were measured to differ.
Within the bounds of that a reception may stand before its transmission.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perhop import pcapng


@dataclass(frozen=True)
class Capture:
    """A node's file, what to call the node, and its time of day less ours."""

    name: str
    file: Path
    ahead_us: int


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
