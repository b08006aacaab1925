# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals, messages and data items of DLEP (RFC 8175, sections 11 to 13) as bytes. No I/O, no state.

What comes from outside is checked in full before anybody sees it: lengths, values, and which data items a message may
have and how often. The only exception that leaves a parser is WireError, which names the status code to end with.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

PORT = 854
MULTICAST_IPV4 = "224.0.0.117"
MULTICAST_IPV6 = "ff02::1:7"
SIGNAL_PREFIX = b"DLEP"
HEADER = struct.Struct("!HH")
ITEM_HEADER = struct.Struct("!HH")
# Of a text, ours or a peer's: a data item could hold 65,534, which belong neither in a log nor in an answer.
MOST_TEXT_BYTES = 255


class Signal(IntEnum):
    PEER_DISCOVERY = 1
    PEER_OFFER = 2


class Message(IntEnum):
    SESSION_INITIALIZATION = 1
    SESSION_INITIALIZATION_RESPONSE = 2
    SESSION_UPDATE = 3
    SESSION_UPDATE_RESPONSE = 4
    SESSION_TERMINATION = 5
    SESSION_TERMINATION_RESPONSE = 6
    DESTINATION_UP = 7
    DESTINATION_UP_RESPONSE = 8
    DESTINATION_ANNOUNCE = 9
    DESTINATION_ANNOUNCE_RESPONSE = 10
    DESTINATION_DOWN = 11
    DESTINATION_DOWN_RESPONSE = 12
    DESTINATION_UPDATE = 13
    LINK_CHARACTERISTICS_REQUEST = 14
    LINK_CHARACTERISTICS_RESPONSE = 15
    HEARTBEAT = 16


class Item(IntEnum):
    STATUS = 1
    IPV4_CONNECTION_POINT = 2
    IPV6_CONNECTION_POINT = 3
    PEER_TYPE = 4
    HEARTBEAT_INTERVAL = 5
    EXTENSIONS_SUPPORTED = 6
    MAC_ADDRESS = 7
    IPV4_ADDRESS = 8
    IPV6_ADDRESS = 9
    IPV4_ATTACHED_SUBNET = 10
    IPV6_ATTACHED_SUBNET = 11
    MAXIMUM_DATA_RATE_RECEIVE = 12
    MAXIMUM_DATA_RATE_TRANSMIT = 13
    CURRENT_DATA_RATE_RECEIVE = 14
    CURRENT_DATA_RATE_TRANSMIT = 15
    LATENCY = 16
    RESOURCES = 17
    RELATIVE_LINK_QUALITY_RECEIVE = 18
    RELATIVE_LINK_QUALITY_TRANSMIT = 19
    MAXIMUM_TRANSMISSION_UNIT = 20


class Status(IntEnum):
    """Below 128 the session goes on."""

    SUCCESS = 0
    NOT_INTERESTED = 1
    REQUEST_DENIED = 2
    INCONSISTENT_DATA = 3
    UNKNOWN_MESSAGE = 128
    UNEXPECTED_MESSAGE = 129
    INVALID_DATA = 130
    INVALID_DESTINATION = 131
    TIMED_OUT = 132
    SHUTTING_DOWN = 255


class WireError(Exception):
    """Bytes from outside that are no DLEP, and the status to end the session with."""

    def __init__(self, status: Status, problem: str) -> None:
        super().__init__(problem)
        self.status = status
        self.problem = problem


@dataclass(frozen=True)
class DataItem:
    """One data item; `value` has been checked when it came from outside."""

    kind: Item
    value: bytes

    @property
    def number(self) -> int:
        """The value as an unsigned integer; of an item that is one."""
        return int.from_bytes(self.value, "big")

    @property
    def status(self) -> int:
        return self.value[0]

    @property
    def text(self) -> str:
        """The text behind the first byte, cut to MOST_TEXT_BYTES; of Status and Peer Type."""
        return self.value[1 : 1 + MOST_TEXT_BYTES].decode("utf-8", errors="ignore")


@dataclass(frozen=True)
class Parsed:
    """A signal or a message with its data items, in their order."""

    kind: Signal | Message
    items: tuple[DataItem, ...]

    def first(self, kind: Item) -> DataItem | None:
        return next((item for item in self.items if item.kind == kind), None)

    def all(self, kind: Item) -> list[DataItem]:
        return [item for item in self.items if item.kind == kind]


# ---- Data items (section 13)

_LENGTHS: dict[Item, tuple[int, ...]] = {
    Item.IPV4_CONNECTION_POINT: (5, 7),
    Item.IPV6_CONNECTION_POINT: (17, 19),
    Item.HEARTBEAT_INTERVAL: (4,),
    Item.MAC_ADDRESS: (6, 8),
    Item.IPV4_ADDRESS: (5,),
    Item.IPV6_ADDRESS: (17,),
    Item.IPV4_ATTACHED_SUBNET: (6,),
    Item.IPV6_ATTACHED_SUBNET: (18,),
    Item.MAXIMUM_DATA_RATE_RECEIVE: (8,),
    Item.MAXIMUM_DATA_RATE_TRANSMIT: (8,),
    Item.CURRENT_DATA_RATE_RECEIVE: (8,),
    Item.CURRENT_DATA_RATE_TRANSMIT: (8,),
    Item.LATENCY: (8,),
    Item.RESOURCES: (1,),
    Item.RELATIVE_LINK_QUALITY_RECEIVE: (1,),
    Item.RELATIVE_LINK_QUALITY_TRANSMIT: (1,),
    Item.MAXIMUM_TRANSMISSION_UNIT: (2,),
}
_PERCENTAGES = {Item.RESOURCES, Item.RELATIVE_LINK_QUALITY_RECEIVE, Item.RELATIVE_LINK_QUALITY_TRANSMIT}
_MOST_PREFIX_BITS = {Item.IPV4_ATTACHED_SUBNET: 32, Item.IPV6_ATTACHED_SUBNET: 128}


def _check_item(kind: Item, value: bytes) -> None:
    lengths = _LENGTHS.get(kind)
    if lengths is not None and len(value) not in lengths:
        raise WireError(Status.INVALID_DATA, f"{kind.name} has {len(value)} bytes")
    if kind in (Item.STATUS, Item.PEER_TYPE):
        if not value:
            raise WireError(Status.INVALID_DATA, f"{kind.name} is empty")
        try:
            value[1:].decode("utf-8")
        except UnicodeDecodeError:
            raise WireError(Status.INVALID_DATA, f"{kind.name}: its text is not UTF-8") from None
    if kind == Item.EXTENSIONS_SUPPORTED and len(value) % 2:
        raise WireError(Status.INVALID_DATA, "EXTENSIONS_SUPPORTED has an odd number of bytes")
    if kind == Item.HEARTBEAT_INTERVAL and not any(value):
        raise WireError(Status.INVALID_DATA, "HEARTBEAT_INTERVAL is 0")
    if kind in _PERCENTAGES and value[0] > 100:
        raise WireError(Status.INVALID_DATA, f"{kind.name} is {value[0]} of 100")
    if kind in _MOST_PREFIX_BITS and value[-1] > _MOST_PREFIX_BITS[kind]:
        raise WireError(Status.INVALID_DATA, f"{kind.name} has a prefix of {value[-1]} bits")


def status_item(status: Status, text: str = "") -> DataItem:
    return DataItem(Item.STATUS, bytes([status]) + _cut(text))


def peer_type(text: str) -> DataItem:
    return DataItem(Item.PEER_TYPE, b"\0" + _cut(text))


def _cut(text: str) -> bytes:
    """As many whole characters as MOST_TEXT_BYTES hold."""
    return text.encode()[:MOST_TEXT_BYTES].decode(errors="ignore").encode()


def number_item(kind: Item, value: int) -> DataItem:
    (length,) = _LENGTHS[kind]
    return DataItem(kind, min(value, (1 << 8 * length) - 1).to_bytes(length, "big"))


def mac_item(address: bytes) -> DataItem:
    return DataItem(Item.MAC_ADDRESS, address)


def ip_item(packed: bytes, add: bool) -> DataItem:
    """An IPv4 or IPv6 address that comes or goes."""
    return DataItem(Item.IPV4_ADDRESS if len(packed) == 4 else Item.IPV6_ADDRESS, bytes([add]) + packed)


def connection_point(packed: bytes, port: int) -> DataItem:
    """Where the modem listens, without TLS."""
    kind = Item.IPV4_CONNECTION_POINT if len(packed) == 4 else Item.IPV6_CONNECTION_POINT
    return DataItem(kind, b"\0" + packed + port.to_bytes(2, "big"))


# ---- Which data items may be where, and how often (section 12)

ONE, MAYBE, ANY = (1, 1), (0, 1), (0, 1 << 16)
_ADDRESSES = {Item.IPV4_ADDRESS: ANY, Item.IPV6_ADDRESS: ANY}
_NETWORKS = {**_ADDRESSES, Item.IPV4_ATTACHED_SUBNET: ANY, Item.IPV6_ATTACHED_SUBNET: ANY}
_OPTIONAL_METRICS = {
    Item.RESOURCES: MAYBE,
    Item.RELATIVE_LINK_QUALITY_RECEIVE: MAYBE,
    Item.RELATIVE_LINK_QUALITY_TRANSMIT: MAYBE,
    Item.MAXIMUM_TRANSMISSION_UNIT: MAYBE,
}
MANDATORY_METRICS = (
    Item.MAXIMUM_DATA_RATE_RECEIVE,
    Item.MAXIMUM_DATA_RATE_TRANSMIT,
    Item.CURRENT_DATA_RATE_RECEIVE,
    Item.CURRENT_DATA_RATE_TRANSMIT,
    Item.LATENCY,
)
_METRICS = {**dict.fromkeys(MANDATORY_METRICS, MAYBE), **_OPTIONAL_METRICS}
_MAC = {Item.MAC_ADDRESS: ONE}
_ANSWER = {Item.STATUS: ONE}

SIGNAL_RULES: Mapping[Signal, Mapping[Item, tuple[int, int]]] = {
    Signal.PEER_DISCOVERY: {Item.PEER_TYPE: MAYBE},
    Signal.PEER_OFFER: {Item.PEER_TYPE: MAYBE, Item.IPV4_CONNECTION_POINT: ANY, Item.IPV6_CONNECTION_POINT: ANY},
}
MESSAGE_RULES: Mapping[Message, Mapping[Item, tuple[int, int]]] = {
    Message.SESSION_INITIALIZATION: {
        Item.HEARTBEAT_INTERVAL: ONE,
        Item.PEER_TYPE: ONE,
        Item.EXTENSIONS_SUPPORTED: MAYBE,
        **_NETWORKS,
    },
    Message.SESSION_INITIALIZATION_RESPONSE: {
        **_ANSWER,
        Item.PEER_TYPE: ONE,
        Item.HEARTBEAT_INTERVAL: ONE,
        **dict.fromkeys(MANDATORY_METRICS, ONE),
        **_OPTIONAL_METRICS,
        Item.EXTENSIONS_SUPPORTED: MAYBE,
        **_NETWORKS,
    },
    Message.SESSION_UPDATE: {**_NETWORKS, **_METRICS},
    Message.SESSION_UPDATE_RESPONSE: _ANSWER,
    Message.SESSION_TERMINATION: _ANSWER,
    Message.SESSION_TERMINATION_RESPONSE: {},
    Message.DESTINATION_UP: {**_MAC, **_METRICS, **_NETWORKS},
    Message.DESTINATION_UP_RESPONSE: {**_MAC, **_ANSWER},
    Message.DESTINATION_ANNOUNCE: {**_MAC, **_ADDRESSES},
    Message.DESTINATION_ANNOUNCE_RESPONSE: {**_MAC, **_METRICS, **_NETWORKS, **_ANSWER},
    Message.DESTINATION_DOWN: _MAC,
    Message.DESTINATION_DOWN_RESPONSE: {**_MAC, **_ANSWER},
    Message.DESTINATION_UPDATE: {**_MAC, **_METRICS, **_NETWORKS},
    Message.LINK_CHARACTERISTICS_REQUEST: {
        **_MAC,
        Item.CURRENT_DATA_RATE_RECEIVE: MAYBE,
        Item.CURRENT_DATA_RATE_TRANSMIT: MAYBE,
        Item.LATENCY: MAYBE,
    },
    Message.LINK_CHARACTERISTICS_RESPONSE: {**_MAC, **_METRICS, **_ANSWER},
    Message.HEARTBEAT: {},
}


def _parse_items(body: bytes, rules: Mapping[Item, tuple[int, int]], where: str) -> tuple[DataItem, ...]:
    items: list[DataItem] = []
    counts: dict[Item, int] = {}
    at = 0
    while at < len(body):
        if len(body) - at < ITEM_HEADER.size:
            raise WireError(Status.INVALID_DATA, f"{where}: a data item is cut short")
        number, length = ITEM_HEADER.unpack_from(body, at)
        value = body[at + ITEM_HEADER.size : at + ITEM_HEADER.size + length]
        if len(value) < length:
            raise WireError(Status.INVALID_DATA, f"{where}: data item {number} is cut short")
        try:
            kind = Item(number)
        except ValueError:
            raise WireError(Status.INVALID_DATA, f"{where}: there is no data item {number}") from None
        if kind not in rules:
            raise WireError(Status.INVALID_DATA, f"{where} has no {kind.name}")
        _check_item(kind, value)
        counts[kind] = counts.get(kind, 0) + 1
        items.append(DataItem(kind, value))
        at += ITEM_HEADER.size + length
    for kind, (least, most) in rules.items():
        if not least <= counts.get(kind, 0) <= most:
            raise WireError(Status.INVALID_DATA, f"{where} has {counts.get(kind, 0)} {kind.name}")
    return tuple(items)


def _items(items: Iterable[DataItem]) -> bytes:
    return b"".join(ITEM_HEADER.pack(item.kind, len(item.value)) + item.value for item in items)


def encode_signal(kind: Signal, items: Sequence[DataItem] = ()) -> bytes:
    body = _items(items)
    return SIGNAL_PREFIX + HEADER.pack(kind, len(body)) + body


def encode_message(kind: Message, items: Sequence[DataItem] = ()) -> bytes:
    body = _items(items)
    return HEADER.pack(kind, len(body)) + body


def parse_signal(datagram: bytes) -> Parsed:
    """A whole UDP datagram. Raises WireError; a signal that is none is ignored by whoever calls (section 11)."""
    if not datagram.startswith(SIGNAL_PREFIX) or len(datagram) < len(SIGNAL_PREFIX) + HEADER.size:
        raise WireError(Status.INVALID_DATA, "no DLEP signal")
    number, length = HEADER.unpack_from(datagram, len(SIGNAL_PREFIX))
    body = datagram[len(SIGNAL_PREFIX) + HEADER.size :]
    if len(body) != length:
        raise WireError(Status.INVALID_DATA, f"a signal of {len(body)} bytes says that it has {length}")
    try:
        kind = Signal(number)
    except ValueError:
        raise WireError(Status.UNKNOWN_MESSAGE, f"there is no signal {number}") from None
    return Parsed(kind, _parse_items(body, SIGNAL_RULES[kind], kind.name))


class MessageReader:
    """Cuts the bytes of a TCP connection into messages. After a WireError no more can be read."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> Parsed | None:
        """The next message; None: more bytes are needed. Raises WireError."""
        if len(self._buffer) < HEADER.size:
            return None
        number, length = HEADER.unpack_from(self._buffer)
        if len(self._buffer) < HEADER.size + length:
            return None
        body = bytes(self._buffer[HEADER.size : HEADER.size + length])
        del self._buffer[: HEADER.size + length]
        try:
            kind = Message(number)
        except ValueError:
            raise WireError(Status.UNKNOWN_MESSAGE, f"there is no message {number}") from None
        return Parsed(kind, _parse_items(body, MESSAGE_RULES[kind], kind.name))
