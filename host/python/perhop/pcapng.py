# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks of pcapng files as perhop's programs write them: little endian, times in microseconds.

The standard library only: Wireshark starts who uses this (perhop.wireshark.extcap), and waits for it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
LINKTYPE_RADIOTAP = 127
IF_NAME, END = 2, 0
BLOCK = struct.Struct("<II")
# Interface, time (high, low), captured bytes, bytes on the air.
PACKET_HEAD = struct.Struct("<IIIII")
# No frame and no section of ours is nearly so large.
MOST_BLOCK_BYTES = 1 << 20


class Follower:
    """Whole blocks of a file that grows."""

    def __init__(self, file: Path) -> None:
        """Raises OSError."""
        self._file = file.open("rb")
        self._left = b""
        self.damaged = False

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Type and body of those that are there and were not told yet. Ends at what is no block for good."""
        while not self.damaged and (more := self._file.read(1 << 16)):
            data = self._left + more
            at = 0
            while at + BLOCK.size <= len(data):
                kind, size = BLOCK.unpack_from(data, at)
                if size < 12 or size > MOST_BLOCK_BYTES or size % 4:
                    self.damaged = True
                    return
                if at + size > len(data):
                    break
                yield kind, data[at + BLOCK.size : at + size - 4]
                at += size
            self._left = data[at:]

    def close(self) -> None:
        self._file.close()


def read_blocks(file: Path) -> Iterator[tuple[int, bytes]]:
    """Type and body of each whole block of a file, up to the first that is none. Raises OSError."""
    follower = Follower(file)
    try:
        yield from follower.blocks()
    finally:
        follower.close()


def section() -> bytes:
    """What a file begins with."""
    return block(SECTION, struct.pack("<IHHq", BYTE_ORDER_MAGIC, 1, 0, -1))


def interface(name: str, head: bytes = b"") -> bytes:
    """An interface; `head` is link type and snap length, else those of radiotap."""
    options = option(IF_NAME, name.encode()) + option(END, b"")
    return block(INTERFACE, (head or struct.pack("<HHI", LINKTYPE_RADIOTAP, 0, 0)) + options)


def moved(body: bytes, number: int, at_us: int | None = None) -> bytes:
    """A packet, of its block's body, at another interface and, where it is given, another time."""
    _, high, low, *sizes = PACKET_HEAD.unpack_from(body)
    if at_us is not None:
        high, low = at_us >> 32, at_us & 0xFFFFFFFF
    return block(PACKET, PACKET_HEAD.pack(number, high, low, *sizes) + body[PACKET_HEAD.size :])


def time_us(body: bytes) -> int:
    """When the packet of that body was."""
    _, high, low, *_ = PACKET_HEAD.unpack_from(body)
    return int(high) << 32 | int(low)


def option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def block(kind: int, body: bytes) -> bytes:
    size = 12 + len(body)
    return BLOCK.pack(kind, size) + body + struct.pack("<I", size)
