# SPDX-License-Identifier: GPL-2.0-or-later
"""Joins the captures of all nodes into one pcapng file, in the order of time, with an interface for each node.

The time stamps are each host's time of day; they are moved to ours by what the hosts' clocks were measured to differ.
Within the bounds of that a reception may stand before its transmission.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
IF_NAME, END = 2, 0
BLOCK = struct.Struct("<II")
PACKET_HEAD = struct.Struct("<IIIII")


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
        for kind, body in _blocks(capture.file):
            if kind == INTERFACE and not head:
                head = body[:8]  # link type and snap length
            elif kind == PACKET:
                _, high, low, *_ = PACKET_HEAD.unpack_from(body)
                at_us = from_us + ((high << 32 | low) - capture.ahead_us - from_us) // slow_down
                packets.append((at_us, number, len(packets), body))
        name = capture.name.encode()
        options = _option(IF_NAME, name) + _option(END, b"")
        interfaces.append(_block(INTERFACE, (head or struct.pack("<HHI", 127, 0, 0)) + options))
    packets.sort()
    section = struct.pack("<IHHq", BYTE_ORDER_MAGIC, 1, 0, -1)
    with to.open("wb") as sink:
        sink.write(_block(SECTION, section) + b"".join(interfaces))
        for at_us, number, _, body in packets:
            fields = PACKET_HEAD.unpack_from(body)
            moved = PACKET_HEAD.pack(number, at_us >> 32, at_us & 0xFFFFFFFF, *fields[3:])
            sink.write(_block(PACKET, moved + body[PACKET_HEAD.size :]))
    return len(packets)


def _blocks(file: Path) -> Iterator[tuple[int, bytes]]:
    """Type and body of each whole block; our daemons write little endian, and microseconds."""
    data = file.read_bytes()
    at = 0
    while at + 12 <= len(data):
        kind, size = BLOCK.unpack_from(data, at)
        if size < 12 or at + size > len(data):
            return
        yield kind, data[at + 8 : at + size - 4]
        at += size


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def _block(kind: int, body: bytes) -> bytes:
    size = 12 + len(body)
    return BLOCK.pack(kind, size) + body + struct.pack("<I", size)
