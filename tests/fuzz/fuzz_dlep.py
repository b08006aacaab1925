# SPDX-License-Identifier: GPL-2.0-or-later
"""DLEP against a hostile router: any bytes are refused, or parsed and written back the same; a session never raises.

The first byte of an input chooses: a datagram, or a session that the rest drives, with bytes of the router, neighbours
that come and go, and time. `atheris` (tests/fuzz/requirements.txt) guides it by coverage; one_input() needs none.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "host/python"))

try:
    import atheris
except ModuleNotFoundError:
    atheris = None

with atheris.instrument_imports(include=["perhop.dlep.wire", "perhop.dlep.session"]) if atheris else nullcontext():
    from perhop.dlep import wire
    from perhop.dlep.session import Destination, Metrics, ModemSession, Standing, State
    from perhop.dlep.wire import Item, Message, Status, WireError

MACS = [bytes((2, 0, 0, 0, 0, number)) for number in range(1, 5)]
STEPS_S = (0.0, 0.1, 1.0, 2.5, 6.0, 1000.0)


class InvariantBroken(Exception):
    """What must hold whatever the input."""


def expect(holds: object, what: str) -> None:
    if not holds:
        raise InvariantBroken(f"INVARIANT BROKEN: {what}")


class Input:
    """Bytes as choices; when they run out every further choice is 0."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __bool__(self) -> bool:
        return bool(self.data)

    def choice(self, count: int) -> int:
        byte, self.data = (self.data[0] if self.data else 0), self.data[1:]
        return byte % count

    def take(self, count: int) -> bytes:
        taken, self.data = self.data[:count], self.data[count:]
        return taken


def check_items(parsed: wire.Parsed) -> None:
    """What whoever calls the parser relies on."""
    for item in parsed.items:
        if item.kind in (Item.STATUS, Item.PEER_TYPE):
            expect(item.value, f"{item.kind.name} has a first byte")
            item.text.encode()
        elif item.kind == Item.MAC_ADDRESS:
            expect(len(item.value) in (6, 8), "a MAC address has 6 or 8 bytes")
        elif item.kind in (
            Item.RESOURCES,
            Item.RELATIVE_LINK_QUALITY_RECEIVE,
            Item.RELATIVE_LINK_QUALITY_TRANSMIT,
        ):
            expect(item.number <= 100, "a percentage is at most 100")
        elif item.kind in (Item.IPV4_ATTACHED_SUBNET, Item.IPV6_ATTACHED_SUBNET):
            expect(item.value[-1] <= 8 * (len(item.value) - 2), "a prefix fits its address")


def check_signal(datagram: bytes) -> set[str]:
    try:
        parsed = wire.parse_signal(datagram)
    except WireError as error:
        expect(error.problem and isinstance(error.status, Status), "a refusal says why")
        return set()
    check_items(parsed)
    expect(wire.encode_signal(parsed.kind, parsed.items) == datagram, "a signal comes back the same")
    return {"signal"}


def read_all(data: bytes) -> list[tuple[bytes, wire.Parsed | None]]:
    """Every whole message of a stream, with what the parser made of it; None: it was refused."""
    reader = wire.MessageReader()
    reader.feed(data)
    found: list[tuple[bytes, wire.Parsed | None]] = []
    while len(data) >= wire.HEADER.size:
        _, length = wire.HEADER.unpack_from(data)
        whole, rest = data[: wire.HEADER.size + length], data[wire.HEADER.size + length :]
        try:
            parsed = reader.next()
        except WireError as error:
            expect(error.problem and isinstance(error.status, Status), "a refusal says why")
            found.append((whole, None))
        else:
            if parsed is None:
                expect(len(whole) < wire.HEADER.size + length, "a message that is there is read")
                return found
            expect(len(whole) == wire.HEADER.size + length, "no message is read before it is there")
            found.append((whole, parsed))
        data = rest
    expect(reader.next() is None, "nothing is read out of nothing")
    return found


def check_stream(data: bytes) -> set[str]:
    for whole, parsed in read_all(data):
        if parsed is not None:
            check_items(parsed)
            expect(wire.encode_message(parsed.kind, parsed.items) == whole, "a message comes back the same")
    return {"stream"}


class Machine:
    """A session, the neighbours behind it and a router that says what the input wants."""

    def __init__(self, given: Input) -> None:
        self.given = given
        self.now_s = 100.0
        defaults = Metrics(11_000_000, 2_000_000, 5_000, mtu_bytes=1500)
        self.session = ModemSession(self.now_s, "fuzzed modem", defaults, heartbeat_s=float(1 + given.choice(2)))
        self.wanted: dict[bytes, Destination] = {}
        self.terminations = 0
        self.reached = {"session"}

    def item(self) -> wire.DataItem:
        """A data item as it should be, or with any value."""
        given = self.given
        kinds = list(Item)
        kind = kinds[given.choice(len(kinds))]
        match given.choice(6):
            case 0:
                return wire.DataItem(kind, given.take(given.choice(20)))
            case 1:
                return wire.mac_item(MACS[given.choice(len(MACS))])
            case 2:
                return wire.ip_item(bytes((10, 0, 0, given.choice(4))), add=bool(given.choice(2)))
            case 3:
                return wire.DataItem(Item.STATUS, bytes((given.choice(256),)) + given.take(given.choice(4)))
            case 4:
                return wire.DataItem(Item.HEARTBEAT_INTERVAL, given.take(4).rjust(4, b"\0"))
            case _:
                return wire.peer_type("a router")

    def message(self) -> bytes:
        """A message of the router: one that a session waits for, one of any items, or any bytes."""
        given = self.given
        mac = wire.mac_item(MACS[given.choice(len(MACS))])
        status = wire.DataItem(Item.STATUS, bytes((given.choice(256) if given.choice(4) == 0 else 0,)))
        kinds = list(Message)
        match given.choice(8):
            case 0:
                heartbeat = wire.number_item(Item.HEARTBEAT_INTERVAL, (60_000, 1, 0xFFFF_FFFF)[given.choice(3)])
                return wire.encode_message(Message.SESSION_INITIALIZATION, [heartbeat, wire.peer_type("a router")])
            case 1:
                return wire.encode_message(Message.DESTINATION_UP_RESPONSE, [mac, status])
            case 2:
                return wire.encode_message(Message.DESTINATION_DOWN_RESPONSE, [mac, status])
            case 3:
                about = (Message.DESTINATION_DOWN, Message.DESTINATION_ANNOUNCE, Message.LINK_CHARACTERISTICS_REQUEST)
                return wire.encode_message(about[given.choice(3)], [mac])
            case 4:
                kind = kinds[given.choice(len(kinds))]
                return wire.encode_message(kind, [self.item() for _ in range(given.choice(5))])
            case 5:
                return wire.encode_message(Message.HEARTBEAT)
            case 6:
                return wire.encode_message(
                    (Message.SESSION_TERMINATION, Message.SESSION_TERMINATION_RESPONSE)[given.choice(2)],
                    [status] if given.choice(2) else [],
                )
            case _:
                return given.take(given.choice(64))

    def neighbours(self) -> dict[bytes, Destination]:
        """Those that a bit field names, with rates and addresses that change."""
        bits, level = self.given.choice(16), 1 + self.given.choice(3)
        metrics = Metrics(11_000_000, level * 1_000_000, level * 1000, link_quality=level)
        addresses = frozenset(bytes((10, 0, 0, host)) for host in range(1, 4) if level >> (host - 1) & 1)
        return {mac: Destination(metrics, addresses) for bit, mac in enumerate(MACS) if bits >> bit & 1}

    def step(self) -> None:
        session, given = self.session, self.given
        before = session.state
        match given.choice(8):
            case 0:
                self.wanted = self.neighbours()
                session.set_destinations(self.now_s, self.wanted)
            case 1:
                self.now_s += STEPS_S[given.choice(len(STEPS_S))]
                session.on_time(self.now_s)
            case 2:
                if given.choice(4) == 0:
                    session.terminate(self.now_s, Status.SHUTTING_DOWN, "the modem ends")
            case 3:
                # In two pieces.
                message = self.message()
                cut = given.choice(len(message) + 1)
                for piece in (message[:cut], message[cut:]):
                    if piece and session.state is not State.CLOSED:
                        session.receive(self.now_s, piece)
            case _:
                message = self.message()
                if message and session.state is not State.CLOSED:
                    session.receive(self.now_s, message)
        self.check(before)

    def check(self, before: State) -> None:
        """What the owner of a session relies on."""
        session = self.session
        for whole, parsed in read_all(session.take_output()):
            expect(parsed is not None, f"what a modem says is DLEP: {whole[:32].hex()}")
            self.terminations += parsed.kind == Message.SESSION_TERMINATION
        expect(self.terminations <= 1, "a session is ended once")
        order = list(State)
        expect(order.index(session.state) >= order.index(before), "a session goes forward only")
        expect(
            (session.ended is not None) == (session.state in (State.TERMINATION, State.CLOSED)), "an end has a reason"
        )
        due_s = session.next_deadline()
        expect((due_s is None) or session.state is not State.CLOSED, "what is closed waits for nothing")
        if due_s is not None and due_s <= self.now_s:
            session.on_time(self.now_s)
            later_s = session.next_deadline()
            expect(later_s is None or later_s > self.now_s, "what was due has been done")
        standings = [session.standing(mac) for mac in MACS]
        if session.state is State.IN_SESSION:
            self.reached.add("in session")
            expect(all(session.standing(mac) for mac in self.wanted), "a router is told of every neighbour")
        if self.terminations:
            self.reached.add("terminated")
        if Standing.UP in standings:
            self.reached.add("destination answered")


def one_input(data: bytes) -> set[str]:
    """Takes an input; raises what it breaks. Returns what it reached."""
    given = Input(data)
    match given.choice(4):
        case 0:
            return check_signal(wire.SIGNAL_PREFIX + given.data if given.choice(4) else given.data)
        case 1:
            return check_stream(given.data)
        case _:
            machine = Machine(given)
            while given and machine.session.state is not State.CLOSED:
                machine.step()
            return machine.reached


def main() -> None:
    """With the arguments of libFuzzer."""
    if atheris is None:
        sys.exit("there is no atheris: `make fuzz` installs it (tests/fuzz/requirements.txt)")

    def guided(data: bytes) -> None:
        one_input(data)

    atheris.Setup(sys.argv, guided)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
