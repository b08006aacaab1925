# SPDX-License-Identifier: GPL-2.0-or-later
"""A stream endpoint: its registers, and the credit with which both ends of a stream keep from overflow.

A sender sends no more than its receiver said that it can hold, less what it has not yet been told to be taken. Bytes
count with header and with what fills the last word.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, IntFlag

from . import chdr
from .chdr import Kind, Packet, StreamCommand, StreamOrder, StreamStatus
from .image_core import Endpoint
from .sample_source import Taken

MOST_PACKETS = 0xFFFFFF
ORDERLY = 1 << 14  # of the information word: this endpoint reports errors of a stream


class Register(IntEnum):
    """Of an endpoint, by management packets."""

    EPID = 0x00
    RESET = 0x04
    OUT_CONTROL = 0x08
    OUT_DESTINATION = 0x0C
    OUT_EVERY_BYTES_LOW = 0x10
    OUT_EVERY_BYTES_HIGH = 0x14
    OUT_EVERY_PACKETS = 0x18
    OUT_CAPACITY_LOW = 0x20
    OUT_CAPACITY_HIGH = 0x24
    OUT_CAPACITY_PACKETS = 0x28
    IN_CONTROL = 0x38


class OutStatus(IntFlag):
    """What OUT_CONTROL reads."""

    PENDING = 1 << 29
    ERROR = 1 << 30
    FLOW_CONTROL = 1 << 31


@dataclass
class Outgoing:
    """A stream from here to a host."""

    status: int = 0
    sequence: int = 0
    capacity_bytes: int = 0
    capacity_packets: int = 0
    sent_bytes: int = 0
    sent_packets: int = 0
    taken_bytes: int = 0
    taken_packets: int = 0
    waited: int = 0
    """How often a packet had to wait for credit."""


@dataclass
class Incoming:
    """A stream from a host to here: what has come, and after how much the host wants to hear of it.

    UHD's own sums, which RESYNC tells, count such commands too: `data_packets` does not.
    """

    source: int | None = None
    every_bytes: int = 0
    every_packets: int = 0
    got_bytes: int = 0
    got_packets: int = 0
    untold_bytes: int = 0
    untold_packets: int = 0
    next_sequence: int = 0
    data_packets: int = 0
    lost_packets: int = 0


class StreamEndpoint:
    """One endpoint. `send` takes raw packets and the EPID to which they go.

    `deliver` takes payload that has come, whether a burst ends with it, and what is called when it has been taken: it
    is in the buffer until then.
    """

    def __init__(
        self, of: Endpoint, send: Callable[[int, bytes], None], deliver: Callable[[bytes, bool, Taken], None]
    ) -> None:
        self.of, self._send, self._deliver = of, send, deliver
        self.epid = 0
        self.to_lose = 0
        """Of the packets to the host, as a bad cable loses them."""
        self.outgoing, self.incoming = Outgoing(), Incoming()
        self._registers: dict[int, int] = {}
        self._waiting: deque[tuple[Packet, Taken]] = deque()
        self._held = False

    @property
    def information(self) -> int:
        return self.of.has_control | self.of.has_data << 1 | self.of.inputs << 2 | self.of.outputs << 8 | ORDERLY

    def read(self, address: int) -> int:
        out = self.outgoing
        live = {
            Register.EPID: self.epid,
            Register.OUT_CONTROL: int(out.status),
            Register.OUT_CAPACITY_LOW: out.capacity_bytes & 0xFFFF_FFFF,
            Register.OUT_CAPACITY_HIGH: out.capacity_bytes >> 32,
            Register.OUT_CAPACITY_PACKETS: out.capacity_packets,
        }
        return live.get(address, self._registers.get(address, 0))

    def write(self, address: int, word: int) -> None:
        self._registers[address] = word
        if address == Register.EPID:
            self.epid = word
        elif address == Register.RESET and word & 1:
            self.outgoing = Outgoing()
            dropped, self._waiting = self._waiting, deque()
            for _, taken in dropped:
                taken()
        elif address == Register.OUT_CONTROL and word & 1:
            # The other end answers by a status, which ends the set-up.
            self.outgoing = Outgoing(status=OutStatus.PENDING)
            every_bytes = self._registers.get(Register.OUT_EVERY_BYTES_LOW, 0)
            every_bytes |= self._registers.get(Register.OUT_EVERY_BYTES_HIGH, 0) << 32
            every_packets = self._registers.get(Register.OUT_EVERY_PACKETS, 0)
            order = StreamOrder(self.epid, StreamCommand.INIT, every_packets, every_bytes)
            self._tell(self._destination, Kind.STREAM_COMMAND, order.encode())

    def receive(self, packet: Packet) -> None:
        """A packet of a stream that has come for this endpoint."""
        if packet.kind == Kind.STREAM_STATUS:
            self._on_status(StreamStatus.decode(packet.payload))
        elif packet.kind == Kind.STREAM_COMMAND:
            self._on_order(StreamOrder.decode(packet.payload))
        else:
            self._on_data(packet)

    def send(
        self,
        payload: bytes,
        end_of_burst: bool = True,
        time_ticks: int | None = None,
        taken: Taken = lambda: None,
    ) -> None:
        """Payload for the host; it waits while the host has no room, and is taken when it has gone."""
        kind = Kind.DATA if time_ticks is None else Kind.TIMED_DATA
        self._waiting.append((Packet(kind, 0, 0, payload, end_of_burst, time_ticks), taken))
        self._drain()

    def hold(self, held: bool) -> None:
        """As if the host had no room."""
        self._held = held
        self._drain()

    @property
    def _destination(self) -> int:
        return self._registers.get(Register.OUT_DESTINATION, 0)

    def _tell(self, destination: int, kind: Kind, payload: bytes) -> None:
        self._send(destination, Packet(kind, destination, 0, payload).encode())

    def _on_status(self, told: StreamStatus) -> None:
        out = self.outgoing
        if out.status & OutStatus.PENDING:
            out.status = OutStatus.FLOW_CONTROL
            out.capacity_bytes, out.capacity_packets = told.capacity_bytes, told.capacity_packets
        else:
            out.taken_bytes, out.taken_packets = told.got_bytes, told.got_packets
        self._drain()

    def _on_order(self, order: StreamOrder) -> None:
        if order.command == StreamCommand.INIT:
            self.incoming = Incoming(order.source, order.bytes, order.packets)
        elif order.command == StreamCommand.RESYNC:
            self.incoming.got_bytes, self.incoming.got_packets = order.bytes, order.packets
        self._tell_status()

    def _tell_status(self) -> None:
        got = self.incoming
        got.untold_bytes = got.untold_packets = 0
        if got.source is not None:
            told = StreamStatus(self.epid, self.of.buffer_bytes, MOST_PACKETS, got.got_bytes, got.got_packets)
            self._tell(got.source, Kind.STREAM_STATUS, told.encode())

    def _on_data(self, packet: Packet) -> None:
        got, length = self.incoming, _length_bytes(packet)
        got.lost_packets += (packet.sequence - got.next_sequence) & 0xFFFF
        got.next_sequence = (packet.sequence + 1) & 0xFFFF
        got.data_packets += 1
        self._deliver(packet.payload, packet.end_of_burst, lambda: self._on_taken(got, length))

    def _on_taken(self, got: Incoming, length: int) -> None:
        if got is not self.incoming:
            return  # a stream began since
        got.got_bytes, got.got_packets = got.got_bytes + length, got.got_packets + 1
        got.untold_bytes, got.untold_packets = got.untold_bytes + length, got.untold_packets + 1
        if 0 < got.every_bytes <= got.untold_bytes or 0 < got.every_packets <= got.untold_packets:
            self._tell_status()

    def _drain(self) -> None:
        out = self.outgoing
        while self._waiting and not self._held and out.status & OutStatus.FLOW_CONTROL:
            first, taken = self._waiting[0]
            length = _length_bytes(first)
            if (
                out.sent_bytes + length - out.taken_bytes > out.capacity_bytes
                or out.sent_packets + 1 - out.taken_packets > out.capacity_packets
            ):
                out.waited += 1
                return
            self._waiting.popleft()
            packet = Packet(
                first.kind, self._destination, out.sequence, first.payload, first.end_of_burst, first.time_ticks
            )
            if self.to_lose:
                self.to_lose -= 1
            else:
                self._send(self._destination, packet.encode())
            out.sequence = (out.sequence + 1) & 0xFFFF
            out.sent_bytes, out.sent_packets = out.sent_bytes + length, out.sent_packets + 1
            taken()


def _length_bytes(packet: Packet) -> int:
    """What a packet takes of a buffer, were there no metadata."""
    words = (len(packet.payload) + chdr.WORD_BYTES - 1) // chdr.WORD_BYTES
    return chdr.WORD_BYTES * (words + 1 + (packet.kind == Kind.TIMED_DATA))
