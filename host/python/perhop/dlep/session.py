# SPDX-License-Identifier: GPL-2.0-or-later
"""One DLEP session as the modem sees it: bytes and time in, bytes out (RFC 8175, section 7). No I/O, no clock.

    session = ModemSession(now_s, ...)
    session.receive(now_s, data); session.set_destinations(now_s, {...}); session.on_time(now_s)
    send(session.take_output())

What a router does wrong ends the session with the status that the RFC names, and is counted. Before the router's
Session Initialization a wrong message closes the connection without a word (7.2). Any message of the router shows that
it lives. Core profile only: no extension is offered, and what a router offers is not used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from perhop.dlep import wire
from perhop.dlep.wire import DataItem, Item, Message, Parsed, Status, WireError

# For the router's first message, and for an answer to ours, at least.
PATIENCE_S = 5.0
MISSED_HEARTBEATS = 2
# A router that may be silent for longer would keep a place that nobody else gets.
MOST_HEARTBEAT_S = 60.0
MOST_ROUTER_ADDRESSES = 4096


@dataclass(frozen=True)
class Metrics:
    """What a modem tells of a destination, or of all for which it knows nothing yet."""

    max_rate_bps: int
    current_rate_bps: int
    latency_us: int
    link_quality: int | None = None  # 0 to 100, transmit
    mtu_bytes: int | None = None

    def items(self) -> list[DataItem]:
        """The receive direction is the neighbour's to measure: its rate is told as the one that the PHY has."""
        found = [
            wire.number_item(Item.MAXIMUM_DATA_RATE_RECEIVE, self.max_rate_bps),
            wire.number_item(Item.MAXIMUM_DATA_RATE_TRANSMIT, self.max_rate_bps),
            wire.number_item(Item.CURRENT_DATA_RATE_RECEIVE, self.max_rate_bps),
            wire.number_item(Item.CURRENT_DATA_RATE_TRANSMIT, self.current_rate_bps),
            wire.number_item(Item.LATENCY, self.latency_us),
        ]
        if self.link_quality is not None:
            found.append(wire.number_item(Item.RELATIVE_LINK_QUALITY_TRANSMIT, self.link_quality))
        if self.mtu_bytes is not None:
            found.append(wire.number_item(Item.MAXIMUM_TRANSMISSION_UNIT, self.mtu_bytes))
        return found


@dataclass(frozen=True)
class Destination:
    """A neighbour on the radio."""

    metrics: Metrics
    addresses: frozenset[bytes] = frozenset()  # packed, IPv4 and IPv6


class State(Enum):
    INITIALIZATION = "initialization"  # waiting for the router's Session Initialization
    IN_SESSION = "in session"
    TERMINATION = "termination"  # waiting for the answer to ours
    CLOSED = "closed"


class Standing(Enum):
    """Of a destination, between modem and router."""

    COMING = "coming"  # Destination Up has been sent
    UP = "up"
    UNWANTED = "unwanted"  # the router is not interested
    GOING = "going"  # Destination Down has been sent


@dataclass
class _Told:
    """What the router has been told of a destination."""

    standing: Standing
    told: Destination
    answer_due_s: float | None = None


@dataclass(eq=False)
class ModemSession:
    now_s: float
    peer_type: str
    defaults: Metrics
    heartbeat_s: float = 1.0
    counters: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.state = State.INITIALIZATION
        self.ended: str | None = None  # why, once it is over
        self.router = ""
        self._reader = wire.MessageReader()
        self._out = bytearray()
        self._give_up_s = self.now_s + PATIENCE_S
        self._router_heartbeat_s = 0.0  # 0: not known yet
        self._heard_s = self.now_s
        self._next_heartbeat_s = 0.0
        self._wanted: dict[bytes, Destination] = {}
        self._told: dict[bytes, _Told] = {}
        self._router_addresses: set[bytes] = set()

    # ---- For the owner

    def take_output(self) -> bytes:
        output = bytes(self._out)
        self._out.clear()
        return output

    def standing(self, mac: bytes) -> Standing | None:
        told = self._told.get(mac)
        return told.standing if told else None

    def receive(self, now_s: float, data: bytes) -> None:
        """Bytes of the router; empty when it has closed the connection."""
        if not data:
            self.abandon("the router closed the connection")
            return
        self._reader.feed(data)
        while self.state is not State.CLOSED:
            # A message that cannot be taken has a length all the same: what follows it can be read.
            try:
                message = self._reader.next()
                if message is None:
                    return
                self._heard_s = now_s
                self._take(now_s, message)
            except WireError as error:
                self._refuse(now_s, error.status, error.problem)

    def set_destinations(self, now_s: float, destinations: Mapping[bytes, Destination]) -> None:
        """The neighbours as they are now: what differs from what the router knows is told."""
        self._wanted = dict(destinations)
        if self.state is State.IN_SESSION:
            self._tell(now_s)

    def next_deadline(self) -> float | None:
        """When on_time() wants to be called."""
        if self.state is State.CLOSED:
            return None
        if self.state is not State.IN_SESSION:
            return self._give_up_s
        due = [self._heard_s + MISSED_HEARTBEATS * self._router_heartbeat_s]
        due += [self._next_heartbeat_s] if self.heartbeat_s else []
        due += [told.answer_due_s for told in self._told.values() if told.answer_due_s is not None]
        return min(due)

    def on_time(self, now_s: float) -> None:
        """Heartbeats, and an end to waiting."""
        if self.state in (State.INITIALIZATION, State.TERMINATION):
            if now_s >= self._give_up_s:
                self.abandon("the router said nothing")
            return
        if self.state is State.CLOSED:
            return
        silence_s = now_s - self._heard_s
        if silence_s >= MISSED_HEARTBEATS * self._router_heartbeat_s:
            self.counters["timed_out"] += 1
            self.terminate(now_s, Status.TIMED_OUT, "no heartbeat")
            return
        if any(told.answer_due_s is not None and now_s >= told.answer_due_s for told in self._told.values()):
            self.counters["timed_out"] += 1
            self.terminate(now_s, Status.TIMED_OUT, "no answer about a destination")
            return
        if self.heartbeat_s and now_s >= self._next_heartbeat_s:
            self._next_heartbeat_s = now_s + self.heartbeat_s
            self._send(Message.HEARTBEAT)

    def terminate(self, now_s: float, status: Status, text: str = "") -> None:
        """Ends the session, after the router's answer."""
        if self.state is State.IN_SESSION:
            self._send(Message.SESSION_TERMINATION, wire.status_item(status, text))
            self.state = State.TERMINATION
            self.ended = text or status.name
            self._give_up_s = now_s + max(PATIENCE_S, MISSED_HEARTBEATS * self._router_heartbeat_s)
            self._told.clear()
        elif self.state is State.INITIALIZATION:
            self.abandon(text or status.name)

    # ---- What the router says

    def _take(self, now_s: float, message: Parsed) -> None:
        kind = message.kind
        self.counters[f"received {kind.name}"] += 1
        if self.state is State.INITIALIZATION:
            if kind != Message.SESSION_INITIALIZATION:
                raise WireError(Status.UNEXPECTED_MESSAGE, f"{kind.name} before the session")
            self._begin(now_s, message)
        elif self.state is State.TERMINATION:
            # The router may not know yet: all but its answer is of the past (7.4).
            if kind in (Message.SESSION_TERMINATION_RESPONSE, Message.SESSION_TERMINATION):
                self.abandon(self.ended or "terminated")
        elif kind == Message.HEARTBEAT:
            pass
        elif kind == Message.SESSION_TERMINATION:
            status = message.first(Item.STATUS)
            assert status is not None
            self._send(Message.SESSION_TERMINATION_RESPONSE)
            self.abandon(f"the router ended it: {status.status} {status.text}".rstrip())
        elif kind == Message.SESSION_UPDATE:
            if any(item.kind in wire.MANDATORY_METRICS for item in message.items):
                raise WireError(Status.INVALID_DATA, "metrics from a router")
            self._send(Message.SESSION_UPDATE_RESPONSE, wire.status_item(self._note_addresses(message)))
        elif kind in _ABOUT_DESTINATIONS:
            mac = message.first(Item.MAC_ADDRESS)
            assert mac is not None
            _ABOUT_DESTINATIONS[Message(kind)](self, now_s, mac.value, message)
        else:
            raise WireError(Status.UNEXPECTED_MESSAGE, f"{kind.name} is not for a modem in session")

    def _begin(self, now_s: float, message: Parsed) -> None:
        interval = message.first(Item.HEARTBEAT_INTERVAL)
        peer = message.first(Item.PEER_TYPE)
        assert interval is not None and peer is not None
        heartbeat_s = interval.number / 1000
        if heartbeat_s > MOST_HEARTBEAT_S:
            raise WireError(
                Status.INVALID_DATA, f"a heartbeat every {heartbeat_s:g} s; the most here are {MOST_HEARTBEAT_S:g} s"
            )
        self.router = peer.text
        self._router_heartbeat_s = heartbeat_s
        status = self._note_addresses(message)
        self._send(
            Message.SESSION_INITIALIZATION_RESPONSE,
            wire.status_item(status),
            wire.peer_type(self.peer_type),
            wire.number_item(Item.HEARTBEAT_INTERVAL, round(self.heartbeat_s * 1000)),
            *self.defaults.items(),
        )
        self.state = State.IN_SESSION
        self._next_heartbeat_s = now_s + self.heartbeat_s
        self._tell(now_s)

    def _note_addresses(self, message: Parsed) -> Status:
        """The router's own addresses and networks come and go; one twice, or one not there, is inconsistent."""
        status = Status.SUCCESS
        for item in message.items:
            if item.kind not in _NETWORK_ITEMS:
                continue
            what, comes = bytes([item.kind]) + item.value[1:], bool(item.value[0] & 1)
            if comes == (what in self._router_addresses) or (
                comes and len(self._router_addresses) >= MOST_ROUTER_ADDRESSES
            ):
                status = Status.INCONSISTENT_DATA
            elif comes:
                self._router_addresses.add(what)
            else:
                self._router_addresses.discard(what)
        return status

    def _answered(self, mac: bytes, message: Parsed, standing: Standing) -> _Told:
        """The destination that this answer is about. Raises WireError if none waits for it."""
        told = self._told.get(mac)
        if told is None:
            raise WireError(Status.INVALID_DESTINATION, f"{message.kind.name} about {mac.hex(':')}")
        if told.standing is not standing:
            raise WireError(
                Status.UNEXPECTED_MESSAGE, f"{message.kind.name} about {mac.hex(':')}, which is {told.standing.value}"
            )
        status = message.first(Item.STATUS)
        assert status is not None
        if status.status >= Status.UNKNOWN_MESSAGE:
            raise WireError(_known(status.status), f"the router could not take {mac.hex(':')}: {status.text}")
        told.answer_due_s = None
        return told

    def _on_up_response(self, now_s: float, mac: bytes, message: Parsed) -> None:
        told = self._answered(mac, message, Standing.COMING)
        status = message.first(Item.STATUS)
        assert status is not None
        told.standing = Standing.UP if status.status == Status.SUCCESS else Standing.UNWANTED
        self._tell(now_s)

    def _on_down_response(self, now_s: float, mac: bytes, message: Parsed) -> None:
        self._answered(mac, message, Standing.GOING)
        del self._told[mac]
        self._tell(now_s)  # it may have come back

    def _on_down(self, now_s: float, mac: bytes, _: Parsed) -> None:
        """The router wants to hear no more of it."""
        told = self._told.get(mac)
        if told is None:
            raise WireError(Status.INVALID_DESTINATION, f"DESTINATION_DOWN of {mac.hex(':')}")
        if told.standing is not Standing.GOING:
            told.standing = Standing.UNWANTED
            told.answer_due_s = None
        self._send(Message.DESTINATION_DOWN_RESPONSE, wire.mac_item(mac), wire.status_item(Status.SUCCESS))
        self._tell(now_s)

    def _on_announce(self, now_s: float, mac: bytes, _: Parsed) -> None:
        wanted = self._wanted.get(mac)
        told = self._told.get(mac)
        if told is not None and told.standing in (Standing.UP, Standing.COMING, Standing.GOING):
            raise WireError(
                Status.UNEXPECTED_MESSAGE, f"DESTINATION_ANNOUNCE of {mac.hex(':')}, which is {told.standing.value}"
            )
        if wanted is None:
            denied = wire.status_item(Status.REQUEST_DENIED, "not heard of")
            self._send(Message.DESTINATION_ANNOUNCE_RESPONSE, wire.mac_item(mac), denied)
            return
        self._told[mac] = _Told(Standing.UP, wanted)
        items = [*wanted.metrics.items(), *_address_items(frozenset(), wanted.addresses)]
        success = wire.status_item(Status.SUCCESS)
        self._send(Message.DESTINATION_ANNOUNCE_RESPONSE, wire.mac_item(mac), success, *items)

    def _on_link_request(self, _: float, mac: bytes, __: Parsed) -> None:
        """The MAC has no links that could be asked for another rate: denied, with what they are."""
        told = self._told.get(mac)
        if told is None:
            raise WireError(Status.INVALID_DESTINATION, f"LINK_CHARACTERISTICS_REQUEST of {mac.hex(':')}")
        denied = wire.status_item(Status.REQUEST_DENIED, "links cannot be changed")
        self._send(Message.LINK_CHARACTERISTICS_RESPONSE, wire.mac_item(mac), denied, *told.told.metrics.items())

    # ---- What the router is told

    def _tell(self, now_s: float) -> None:
        patience_s = max(PATIENCE_S, MISSED_HEARTBEATS * self._router_heartbeat_s)
        for mac, wanted in self._wanted.items():
            told = self._told.get(mac)
            if told is None:
                items = [*wanted.metrics.items(), *_address_items(frozenset(), wanted.addresses)]
                self._send(Message.DESTINATION_UP, wire.mac_item(mac), *items)
                self._told[mac] = _Told(Standing.COMING, wanted, now_s + patience_s)
            elif told.standing is Standing.UP and told.told != wanted:
                items = wanted.metrics.items() if told.told.metrics != wanted.metrics else []
                items += _address_items(told.told.addresses, wanted.addresses)
                self._send(Message.DESTINATION_UPDATE, wire.mac_item(mac), *items)
                told.told = wanted
        for mac, told in list(self._told.items()):
            if mac in self._wanted:
                continue
            if told.standing is Standing.UNWANTED:
                del self._told[mac]
            elif told.standing is Standing.UP:
                self._send(Message.DESTINATION_DOWN, wire.mac_item(mac))
                told.standing, told.answer_due_s = Standing.GOING, now_s + patience_s

    def _send(self, kind: Message, *items: DataItem) -> None:
        self.counters[f"sent {kind.name}"] += 1
        self._out += wire.encode_message(kind, items)

    def _refuse(self, now_s: float, status: Status, problem: str) -> None:
        """What the router said cannot be taken."""
        self.counters[f"refused {status.name}"] += 1
        if self.state is State.IN_SESSION:
            self.terminate(now_s, status, problem)
        elif self.state is State.INITIALIZATION:
            self.abandon(problem)

    def abandon(self, why: str) -> None:
        """Ends it at once, without a word to the router."""
        self.state = State.CLOSED
        self.ended = self.ended or why


_NETWORK_ITEMS = (
    Item.IPV4_ADDRESS,
    Item.IPV6_ADDRESS,
    Item.IPV4_ATTACHED_SUBNET,
    Item.IPV6_ATTACHED_SUBNET,
)
_ABOUT_DESTINATIONS = {
    Message.DESTINATION_UP_RESPONSE: ModemSession._on_up_response,
    Message.DESTINATION_DOWN_RESPONSE: ModemSession._on_down_response,
    Message.DESTINATION_DOWN: ModemSession._on_down,
    Message.DESTINATION_ANNOUNCE: ModemSession._on_announce,
    Message.LINK_CHARACTERISTICS_REQUEST: ModemSession._on_link_request,
}


def _known(status: int) -> Status:
    try:
        return Status(status)
    except ValueError:
        return Status.INVALID_DATA


def _address_items(before: frozenset[bytes], now: frozenset[bytes]) -> list[DataItem]:
    """What makes `now` of `before`."""
    gone = [wire.ip_item(address, add=False) for address in sorted(before - now)]
    return gone + [wire.ip_item(address, add=True) for address in sorted(now - before)]
