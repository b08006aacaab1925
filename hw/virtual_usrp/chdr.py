# SPDX-License-Identifier: GPL-2.0-or-later
"""CHDR packets of 64-bit words: their bytes, and nothing of what they mean to a device.

Header: destination 0-15, length in bytes without what fills the last word 16-31, sequence 32-47, words of metadata
48-52, kind 53-55, end of vector 56, end of burst 57.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from enum import IntEnum

WORD_BYTES = 8


class Kind(IntEnum):
    """What a packet is for."""

    MANAGEMENT = 0
    STREAM_STATUS = 1
    STREAM_COMMAND = 2
    CONTROL = 4
    DATA = 6
    TIMED_DATA = 7


class Operation(IntEnum):
    """What a management packet asks of a node."""

    NOP = 0
    ADVERTISE = 1
    SELECT_DESTINATION = 2
    RETURN = 3
    INFO_REQUEST = 4
    INFO_RESPONSE = 5
    CONFIG_WRITE = 6
    CONFIG_READ = 7
    CONFIG_READ_RESPONSE = 8


class StreamCommand(IntEnum):
    """What one end of a stream tells the other."""

    INIT = 0
    PING = 1
    RESYNC = 2


class Access(IntEnum):
    """What a control packet does with registers."""

    SLEEP = 0
    WRITE = 1
    READ = 2
    BLOCK_WRITE = 4
    BLOCK_READ = 5


class PacketError(Exception):
    """The bytes are no CHDR packet."""


@dataclass(frozen=True)
class Packet:
    """A packet's header, and the words or bytes behind it."""

    kind: Kind
    destination: int
    sequence: int
    payload: bytes
    end_of_burst: bool = False
    time_ticks: int | None = None

    def encode(self) -> bytes:
        timed = self.time_ticks is not None
        length = WORD_BYTES * (2 if timed else 1) + len(self.payload)
        head = (
            self.end_of_burst << 57 | self.kind << 53 | (self.sequence & 0xFFFF) << 32 | length << 16 | self.destination
        )
        words = [head, self.time_ticks] if timed else [head]
        return struct.pack(f"<{len(words)}Q", *words) + self.payload + bytes(-len(self.payload) % WORD_BYTES)

    @property
    def words(self) -> list[int]:
        return words_of(self.payload)


def words_of(payload: bytes) -> list[int]:
    padded = payload + bytes(-len(payload) % WORD_BYTES)
    return list(struct.unpack(f"<{len(padded) // WORD_BYTES}Q", padded))


def bytes_of(words: list[int]) -> bytes:
    return struct.pack(f"<{len(words)}Q", *words)


def decode(raw: bytes) -> Packet:
    """A datagram's packet; metadata is left out."""
    if len(raw) < WORD_BYTES:
        raise PacketError(f"{len(raw)} bytes are less than a header")
    (head,) = struct.unpack_from("<Q", raw)
    length, metadata_words, number = head >> 16 & 0xFFFF, head >> 48 & 0x1F, head >> 53 & 7
    try:
        kind = Kind(number)
    except ValueError as error:
        raise PacketError(f"there are no packets of kind {number}") from error
    timed = kind == Kind.TIMED_DATA
    at = WORD_BYTES * (1 + timed + metadata_words)
    if not at <= length <= len(raw):
        raise PacketError(f"a length of {length} bytes in a datagram of {len(raw)}")
    time_ticks = struct.unpack_from("<Q", raw, WORD_BYTES)[0] if timed else None
    return Packet(kind, head & 0xFFFF, head >> 32 & 0xFFFF, raw[at:length], bool(head >> 57 & 1), time_ticks)


@dataclass
class Management:
    """Operations, grouped by the hop at which they are done; a node takes the first group off."""

    protocol_version: int
    width_code: int
    source: int
    hops: list[list[tuple[Operation, int]]]

    @classmethod
    def decode(cls, payload: bytes) -> Management:
        words = words_of(payload)
        try:
            head, at, hops = words[0], 1, []
            for _ in range(head >> 16 & 0x3FF):
                hop, remaining = [], 1
                while remaining:
                    word, at = words[at], at + 1
                    remaining = word & 0xFF
                    hop.append((Operation(word >> 8 & 0xFF), word >> 16))
                hops.append(hop)
        except (IndexError, ValueError) as error:
            raise PacketError(f"a management packet that ends early or asks what does not exist: {error}") from error
        return cls(head >> 48, head >> 45 & 7, head & 0xFFFF, hops)

    def encode(self) -> bytes:
        words = [self.protocol_version << 48 | self.width_code << 45 | len(self.hops) << 16 | self.source]
        for hop in self.hops:
            words += [payload << 16 | code << 8 | len(hop) - 1 - at for at, (code, payload) in enumerate(hop)]
        return bytes_of(words)


@dataclass(frozen=True)
class Control:
    """An access of registers, or the answer to one."""

    destination_port: int
    source_port: int
    source: int
    sequence: int
    address: int
    access: Access
    words: tuple[int, ...]
    byte_enables: int = 0xF
    status: int = 0
    is_answer: bool = False
    time_ticks: int | None = None

    @classmethod
    def decode(cls, payload: bytes) -> Control:
        found = words_of(payload)
        try:
            head, at = found[0], 1
            timed = head >> 30 & 1
            time_ticks, at = (found[1], 2) if timed else (None, 1)
            operation = found[at]
            access = Access(operation >> 24 & 0xF)
        except (IndexError, ValueError) as error:
            raise PacketError(f"a control packet that ends early or asks what does not exist: {error}") from error
        words = [operation >> 32]
        for each in found[at + 1 :]:
            words += [each & 0xFFFF_FFFF, each >> 32]
        count = head >> 20 & 0xF
        if count > len(words):
            raise PacketError(f"a control packet of {count} words that holds {len(words)}")
        return cls(
            destination_port=head & 0x3FF, source_port=head >> 10 & 0x3FF, source=head >> 32 & 0xFFFF,
            sequence=head >> 24 & 0x3F, address=operation & 0xFFFFF, access=access, words=tuple(words[:count]),
            byte_enables=operation >> 20 & 0xF, status=operation >> 30 & 3, is_answer=bool(head >> 31 & 1),
            time_ticks=time_ticks,
        )  # fmt: skip

    def encode(self) -> bytes:
        timed = self.time_ticks is not None
        head = (
            self.source << 32
            | self.is_answer << 31
            | timed << 30
            | self.sequence << 24
            | len(self.words) << 20
            | self.source_port << 10
            | self.destination_port
        )
        first, rest = (self.words or (0,))[0], list(self.words[1:])
        operation = first << 32 | self.status << 30 | self.access << 24 | self.byte_enables << 20 | self.address
        rest += [0] * (len(rest) % 2)
        pairs = [rest[at] | rest[at + 1] << 32 for at in range(0, len(rest), 2)]
        return bytes_of([head, *([self.time_ticks] if timed else []), operation, *pairs])

    def answer(self, words: tuple[int, ...], status: int, from_endpoint: int) -> Control:
        """What goes back for this access."""
        return replace(
            self, destination_port=self.source_port, source_port=self.destination_port, source=from_endpoint,
            words=words, status=status, is_answer=True, time_ticks=None,
        )  # fmt: skip


@dataclass(frozen=True)
class StreamStatus:
    """What a receiver holds and has got: it gives a sender its credit."""

    source: int
    capacity_bytes: int
    capacity_packets: int
    got_bytes: int
    got_packets: int
    status: int = field(default=0)

    @classmethod
    def decode(cls, payload: bytes) -> StreamStatus:
        words = words_of(payload)
        if len(words) < 3:
            raise PacketError("a stream status that ends early")
        return cls(
            words[0] & 0xFFFF, words[0] >> 24, words[1] & 0xFFFFFF, words[2], words[1] >> 24, words[0] >> 16 & 0xF
        )

    def encode(self) -> bytes:
        return bytes_of(
            [
                self.capacity_bytes << 24 | self.status << 16 | self.source,
                (self.got_packets & (1 << 40) - 1) << 24 | self.capacity_packets,
                self.got_bytes,
                0,
            ]
        )


@dataclass(frozen=True)
class StreamOrder:
    """What a sender tells its receiver: to begin, to say what it has got, or what has been sent."""

    source: int
    command: StreamCommand
    packets: int
    bytes: int

    @classmethod
    def decode(cls, payload: bytes) -> StreamOrder:
        words = words_of(payload)
        if len(words) < 2:
            raise PacketError("a stream command that ends early")
        try:
            command = StreamCommand(words[0] >> 16 & 0xF)
        except ValueError as error:
            raise PacketError(str(error)) from error
        return cls(words[0] & 0xFFFF, command, words[0] >> 24, words[1])

    def encode(self) -> bytes:
        return bytes_of([self.packets << 24 | self.command << 16 | self.source, self.bytes])
