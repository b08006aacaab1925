# SPDX-License-Identifier: GPL-2.0-or-later
"""A modem's session beside a router that is written here: the right course of things, and every wrong one.

It is one file: all tests share the router.
"""

import asyncio
import contextlib
import dataclasses
import errno
import os
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from perhop.dlep import wire
from perhop.dlep.modem import Modem, ModemConfig
from perhop.dlep.session import Destination, Metrics, ModemSession, Standing, State
from perhop.dlep.wire import Item, Message, Status
from perhop.errors import PerhopError

ONE, OTHER = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
METRICS = Metrics(max_rate_bps=2_000_000, current_rate_bps=1_500_000, latency_us=8000)
DESTINATION = Destination(METRICS, frozenset({bytes([10, 0, 0, 1])}))


def slower(latency_us: int) -> Destination:
    return Destination(dataclasses.replace(METRICS, latency_us=latency_us), DESTINATION.addresses)


def initialization(heartbeat_ms: int = 1000, *more: wire.DataItem) -> bytes:
    items = [wire.number_item(Item.HEARTBEAT_INTERVAL, heartbeat_ms), wire.peer_type("test router"), *more]
    return wire.encode_message(Message.SESSION_INITIALIZATION, items)


def up_response(mac: bytes, status: Status = Status.SUCCESS) -> bytes:
    return wire.encode_message(Message.DESTINATION_UP_RESPONSE, [wire.mac_item(mac), wire.status_item(status)])


def said(session: ModemSession) -> list[wire.Parsed]:
    reader = wire.MessageReader()
    reader.feed(session.take_output())
    messages = []
    while (message := reader.next()) is not None:
        messages.append(message)
    return messages


def kinds(session: ModemSession) -> list[Message]:
    return [message.kind for message in said(session)]


@pytest.fixture
def session() -> ModemSession:
    """In session, with one destination up."""
    session = ModemSession(0, "perhop", METRICS)
    session.set_destinations(0, {ONE: DESTINATION})
    session.receive(0, initialization())
    session.receive(0, up_response(ONE))
    assert session.standing(ONE) is Standing.UP
    session.take_output()
    return session


def ended_with(session: ModemSession) -> int:
    (termination,) = [message for message in said(session) if message.kind == Message.SESSION_TERMINATION]
    assert session.state is State.TERMINATION
    return termination.first(Item.STATUS).status


def test_the_session_begins_with_what_the_rfc_demands():
    session = ModemSession(0, "perhop", METRICS)
    session.set_destinations(0, {ONE: DESTINATION})
    assert session.take_output() == b"", "the router speaks first"
    session.receive(0.1, initialization())
    first, up = said(session)
    assert first.kind == Message.SESSION_INITIALIZATION_RESPONSE and session.router == "test router"
    assert first.first(Item.STATUS).status == Status.SUCCESS
    assert {item.kind for item in first.items} >= {*wire.MANDATORY_METRICS, Item.PEER_TYPE, Item.HEARTBEAT_INTERVAL}
    assert up.kind == Message.DESTINATION_UP and up.first(Item.MAC_ADDRESS).value == ONE
    assert up.first(Item.LATENCY).number == 8000
    assert [item.value for item in up.all(Item.IPV4_ADDRESS)] == [bytes([1, 10, 0, 0, 1])]


def test_what_changes_is_told_and_what_does_not_is_not(session):
    session.set_destinations(1, {ONE: DESTINATION})
    assert said(session) == []
    session.set_destinations(2, {ONE: slower(9000)})
    (update,) = said(session)
    assert update.kind == Message.DESTINATION_UPDATE and update.first(Item.LATENCY).number == 9000
    session.set_destinations(3, {ONE: slower(9000), OTHER: DESTINATION})
    assert kinds(session) == [Message.DESTINATION_UP]
    session.set_destinations(4, {OTHER: slower(7000)})
    (down,) = said(session)
    assert down.kind == Message.DESTINATION_DOWN and down.first(Item.MAC_ADDRESS).value == ONE
    session.receive(5, up_response(OTHER))
    (update,) = said(session)
    assert update.kind == Message.DESTINATION_UPDATE, "what changed while the answer was awaited"
    answer = wire.encode_message(
        Message.DESTINATION_DOWN_RESPONSE, [wire.mac_item(ONE), wire.status_item(Status.SUCCESS)]
    )
    session.receive(5, answer)
    assert session.standing(ONE) is None and session.state is State.IN_SESSION


def test_addresses_come_and_go(session):
    session.set_destinations(1, {ONE: Destination(METRICS, frozenset({bytes([10, 0, 0, 9])}))})
    (update,) = said(session)
    assert [item.value for item in update.all(Item.IPV4_ADDRESS)] == [bytes([0, 10, 0, 0, 1]), bytes([1, 10, 0, 0, 9])]
    assert update.first(Item.LATENCY) is None, "the metrics are as they were"


def test_a_router_that_is_not_interested_is_left_alone_until_it_asks(session):
    session.set_destinations(1, {ONE: DESTINATION, OTHER: DESTINATION})
    session.receive(1, up_response(OTHER, Status.NOT_INTERESTED))
    session.take_output()
    session.set_destinations(2, {ONE: DESTINATION, OTHER: slower(9000)})
    assert said(session) == []
    session.receive(3, wire.encode_message(Message.DESTINATION_ANNOUNCE, [wire.mac_item(OTHER)]))
    (answer,) = said(session)
    assert answer.first(Item.STATUS).status == Status.SUCCESS and answer.first(Item.LATENCY).number == 9000
    assert session.standing(OTHER) is Standing.UP
    session.receive(4, wire.encode_message(Message.DESTINATION_DOWN, [wire.mac_item(OTHER)]))
    assert kinds(session) == [Message.DESTINATION_DOWN_RESPONSE] and session.standing(OTHER) is Standing.UNWANTED


def test_an_announcement_of_nobody_is_denied_and_the_session_goes_on(session):
    session.receive(1, wire.encode_message(Message.DESTINATION_ANNOUNCE, [wire.mac_item(OTHER)]))
    (answer,) = said(session)
    assert answer.first(Item.STATUS).status == Status.REQUEST_DENIED
    session.set_destinations(2, {ONE: DESTINATION, OTHER: DESTINATION})
    assert kinds(session) == [Message.DESTINATION_UP], "as soon as it is heard of"


def test_links_cannot_be_changed_and_the_answer_says_what_they_are(session):
    session.receive(1, wire.encode_message(Message.LINK_CHARACTERISTICS_REQUEST, [wire.mac_item(ONE)]))
    (answer,) = said(session)
    assert answer.kind == Message.LINK_CHARACTERISTICS_RESPONSE
    assert answer.first(Item.STATUS).status == Status.REQUEST_DENIED and answer.first(Item.LATENCY).number == 8000


def test_the_routers_addresses_must_be_consistent(session):
    def update(address: bytes, add: bool) -> int:
        session.receive(1, wire.encode_message(Message.SESSION_UPDATE, [wire.ip_item(address, add)]))
        (answer,) = said(session)
        return answer.first(Item.STATUS).status

    mine = bytes([192, 0, 2, 2])
    assert update(mine, True) == Status.SUCCESS
    assert update(mine, True) == Status.INCONSISTENT_DATA
    assert update(mine, False) == Status.SUCCESS
    assert update(mine, False) == Status.INCONSISTENT_DATA
    assert session.state is State.IN_SESSION


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (wire.HEADER.pack(99, 0), Status.UNKNOWN_MESSAGE),
        (initialization(), Status.UNEXPECTED_MESSAGE),
        (wire.encode_message(Message.SESSION_TERMINATION_RESPONSE), Status.UNEXPECTED_MESSAGE),
        (wire.encode_message(Message.DESTINATION_UPDATE, [wire.mac_item(ONE)]), Status.UNEXPECTED_MESSAGE),
        (up_response(ONE), Status.UNEXPECTED_MESSAGE),
        (wire.encode_message(Message.DESTINATION_ANNOUNCE, [wire.mac_item(ONE)]), Status.UNEXPECTED_MESSAGE),
        (up_response(OTHER), Status.INVALID_DESTINATION),
        (wire.encode_message(Message.DESTINATION_DOWN, [wire.mac_item(OTHER)]), Status.INVALID_DESTINATION),
        (wire.encode_message(Message.LINK_CHARACTERISTICS_REQUEST, [wire.mac_item(OTHER)]), Status.INVALID_DESTINATION),
        (wire.encode_message(Message.SESSION_UPDATE, METRICS.items()), Status.INVALID_DATA),
        (wire.encode_message(Message.HEARTBEAT, [wire.mac_item(ONE)]), Status.INVALID_DATA),
    ],
)
def test_what_a_router_does_wrong_ends_the_session_with_the_right_status(session, data, status):
    session.receive(1, data + wire.encode_message(Message.HEARTBEAT))
    assert ended_with(session) == status
    assert session.counters[f"refused {status.name}"] == 1
    # Whatever still comes is of the past, until the answer.
    session.receive(2, wire.HEADER.pack(99, 0) + wire.encode_message(Message.HEARTBEAT))
    assert session.state is State.TERMINATION
    session.receive(2, wire.encode_message(Message.SESSION_TERMINATION_RESPONSE))
    assert session.state is State.CLOSED and said(session) == []


@pytest.mark.parametrize(
    "data", [wire.encode_message(Message.HEARTBEAT), wire.HEADER.pack(99, 0), initialization(1000, wire.mac_item(ONE))]
)
def test_before_the_session_a_wrong_message_closes_the_connection_without_a_word(data):
    session = ModemSession(0, "perhop", METRICS)
    session.receive(0, data)
    assert session.state is State.CLOSED and session.take_output() == b""


def test_the_router_may_end_it(session):
    end = wire.encode_message(Message.SESSION_TERMINATION, [wire.status_item(Status.SHUTTING_DOWN, "bye")])
    session.receive(1, end)
    assert kinds(session) == [Message.SESSION_TERMINATION_RESPONSE]
    assert session.state is State.CLOSED and "255 bye" in session.ended


def test_heartbeats_are_sent_and_missed(session):
    beats = 0
    for tenth in range(1, 19):
        session.on_time(tenth / 10)
        beats += kinds(session).count(Message.HEARTBEAT)
    assert beats == 1
    session.receive(1.9, wire.encode_message(Message.HEARTBEAT))
    session.on_time(3.8)
    assert session.state is State.IN_SESSION
    assert session.next_deadline() <= 3.9
    session.on_time(3.91)
    assert ended_with(session) == Status.TIMED_OUT


@pytest.mark.parametrize("heartbeat_ms", [0, 60_001, 0xFFFFFFFF])
def test_a_router_that_could_be_silent_for_ever_gets_no_session(heartbeat_ms):
    session = ModemSession(0, "perhop", METRICS)
    session.receive(0, initialization(heartbeat_ms))
    assert session.state is State.CLOSED and session.take_output() == b""
    assert "heartbeat" in session.ended.lower()


def test_the_longest_heartbeat_interval_ends_a_silent_session_after_two_minutes():
    session = ModemSession(0, "perhop", METRICS)
    session.receive(0, initialization(60_000))
    session.on_time(119.9)
    assert session.state is State.IN_SESSION
    session.on_time(120)
    assert ended_with(session) == Status.TIMED_OUT


def test_a_text_as_long_as_a_data_item_is_cut_and_ends_the_session_in_order():
    """65,510 bytes, which together with ours would not fit into a data item."""
    long = wire.DataItem(Item.STATUS, bytes([Status.INVALID_DATA]) + b"x" * 65_510)
    session = ModemSession(0, "perhop", METRICS)
    session.set_destinations(0, {ONE: DESTINATION})
    session.receive(0, initialization())
    session.take_output()
    session.receive(1, wire.encode_message(Message.DESTINATION_UP_RESPONSE, [wire.mac_item(ONE), long]))
    (termination,) = said(session)
    assert session.state is State.TERMINATION
    status = termination.first(Item.STATUS)
    assert status.status == Status.INVALID_DATA and len(status.value) <= 256


def test_a_text_of_a_peer_is_cut_to_255_bytes_between_characters():
    peer = wire.DataItem(Item.PEER_TYPE, b"\0" + "é".encode() * 1000)
    session = ModemSession(0, "perhop", METRICS)
    items = [wire.number_item(Item.HEARTBEAT_INTERVAL, 1000), peer]
    session.receive(0, wire.encode_message(Message.SESSION_INITIALIZATION, items))
    assert session.state is State.IN_SESSION and session.router == "é" * 127
    assert len(wire.status_item(Status.SUCCESS, "é" * 1000).value) == 255


def test_an_answer_is_not_awaited_for_ever(session):
    session.set_destinations(1, {ONE: DESTINATION, OTHER: DESTINATION})
    session.take_output()
    for second in range(2, 8):
        session.receive(second, wire.encode_message(Message.HEARTBEAT))
        session.on_time(second)
    assert ended_with(session) == Status.TIMED_OUT
    session.on_time(20)
    assert session.state is State.CLOSED, "nor is that to the termination"


def test_a_connection_without_a_session_ends():
    session = ModemSession(0, "perhop", METRICS)
    session.on_time(4.9)
    assert session.state is State.INITIALIZATION
    session.on_time(session.next_deadline())
    assert session.state is State.CLOSED


class AnyRouter(RuleBasedStateMachine):
    """A router that says anything at any time. The modem's half of the session stays what the RFC says."""

    @initialize(begin=st.booleans())
    def start(self, begin):
        self.now_s = 0.0
        self.session = ModemSession(0, "perhop", METRICS)
        self.output = wire.MessageReader()
        self.up: dict[bytes, bool] = {}
        if begin:
            self.session.receive(0, initialization())

    @rule(kind=st.sampled_from(list(Message)), mac=st.sampled_from([ONE, OTHER]), status=st.sampled_from(list(Status)))
    def says_something_well_formed(self, kind, mac, status):
        rules = wire.MESSAGE_RULES[kind]
        if kind == Message.SESSION_INITIALIZATION:
            self.session.receive(self.now_s, initialization())
            return
        items = [wire.mac_item(mac)] if Item.MAC_ADDRESS in rules else []
        items += [wire.status_item(status)] if Item.STATUS in rules else []
        self.session.receive(self.now_s, wire.encode_message(kind, items))

    @rule(data=st.binary(min_size=1, max_size=40))
    def says_rubbish(self, data):
        self.session.receive(self.now_s, data)

    @rule(seconds=st.floats(0.01, 4))
    def time_passes(self, seconds):
        self.now_s += seconds
        deadline_s = self.session.next_deadline()
        if deadline_s is not None and deadline_s <= self.now_s:
            self.session.on_time(self.now_s)

    @rule(
        macs=st.sets(st.sampled_from([ONE, OTHER])),
        latency_us=st.sampled_from([8000, 9000]),
    )
    def neighbours_change(self, macs, latency_us):
        self.session.set_destinations(self.now_s, {mac: slower(latency_us) for mac in macs})

    @invariant()
    def what_the_modem_says_is_well_formed_and_in_order(self):
        self.output.feed(self.session.take_output())
        while (message := self.output.next()) is not None:
            mac = message.first(Item.MAC_ADDRESS)
            if message.kind == Message.DESTINATION_UP:
                assert mac.value not in self.up
                self.up[mac.value] = True
            elif message.kind == Message.DESTINATION_UPDATE:
                assert self.up.get(mac.value)
            elif message.kind == Message.DESTINATION_DOWN:
                assert self.up.pop(mac.value)
            elif message.kind == Message.DESTINATION_ANNOUNCE_RESPONSE:
                if message.first(Item.STATUS).status == Status.SUCCESS:
                    self.up[mac.value] = True
            elif message.kind == Message.DESTINATION_DOWN_RESPONSE:
                self.up.pop(mac.value, None)
        for mac in list(self.up):
            if self.session.standing(mac) in (None, Standing.UNWANTED):
                del self.up[mac]

    @invariant()
    def a_session_that_waits_has_a_deadline(self):
        if self.session.state in (State.INITIALIZATION, State.TERMINATION, State.IN_SESSION):
            assert self.session.next_deadline() is not None
        else:
            assert self.session.ended


TestAnyRouter = AnyRouter.TestCase
TestAnyRouter.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)


# ---- Over sockets


def probed(latency_us: int = 8000, packets: int = 5, drops: int = 0) -> dict:
    """As perhop.export.probe tells it."""
    return {
        "mac_up": True,
        "mtu_bytes": 1500,
        "mac": {"profile": "dsss_long", "data_rate": 1, "data_rate_bps": 2_000_000, "rts_threshold_bytes": 0},
        "neighbours": [
            {
                "mac": "02:00:00:00:00:01",
                "addresses": ["10.0.0.1", "fe80::1"],
                "packets": packets,
                "drops": drops,
                "data_rate_bps": 2_000_000,
                "latency_us": latency_us,
                "average": {"data_attempts": 1.25},
            },
            {
                "mac": "ff:ff:ff:ff:ff:ff",
                "addresses": [],
                "packets": 5,
                "drops": 0,
                "latency_us": 12000,
                "average": {"data_attempts": 1.0},
            },
        ],
    }


class Router:
    """Reads and writes one connection."""

    def __init__(self, reader, writer):
        self.reader, self.writer, self.messages = reader, writer, wire.MessageReader()

    async def next(self, kind):
        async with asyncio.timeout(5):
            while True:
                while (message := self.messages.next()) is not None:
                    if message.kind == kind:
                        return message
                data = await self.reader.read(4096)
                assert data, f"the connection ended before {kind.name}"
                self.messages.feed(data)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


async def connected(port, source="127.0.0.1", hop_limit=255, modem="127.0.0.1"):
    """A connection as routers make them, with the hop limit of a neighbour; 127.0.0.0/8 is full of routers."""
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    end = socket.socket(family, socket.SOCK_STREAM)
    end.setblocking(False)
    set_hop_limit(end, hop_limit)
    end.bind((source, 0))
    try:
        await asyncio.get_running_loop().sock_connect(end, (modem, port))
        return Router(*await asyncio.open_connection(sock=end))
    except BaseException:
        end.close()
        raise


def set_hop_limit(end, hop_limit):
    if end.family == socket.AF_INET6:
        end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, hop_limit)
    else:
        end.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hop_limit)


async def in_session(port, source="127.0.0.1", **more):
    router = await connected(port, source, **more)
    router.writer.write(initialization(60_000))
    await router.next(Message.SESSION_INITIALIZATION_RESPONSE)
    return router


async def is_closed(router) -> bool:
    """The modem closes it, or resets it, within five seconds."""
    async with asyncio.timeout(5):
        try:
            return await router.reader.read() == b""
        except ConnectionError:
            return True


async def is_refused(port, source="127.0.0.1") -> bool:
    try:
        return await is_closed(await connected(port, source))
    except ConnectionError:
        return True


def with_modem(probe, scenario, port=None, **settings):
    """Runs the scenario beside a modem on a free port of this host."""
    port = port or free_port()

    async def main():
        modem = Modem(ModemConfig(port=port, interval_s=0.05, heartbeat_s=0.2, **settings), probe)
        ready = asyncio.Event()
        running = asyncio.create_task(modem.run(ready.set))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        try:
            await scenario(modem, port, running)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(main())


def test_a_router_sees_a_neighbour_come_change_and_go():
    now = {"told": probed()}

    async def scenario(modem, port, running):
        router = await connected(port)
        router.writer.write(initialization(60_000))
        answer = await router.next(Message.SESSION_INITIALIZATION_RESPONSE)
        # DIFS, RTS, CTS, DATA of 1554 bytes, MAC ACK, three SIFS.
        assert answer.first(Item.LATENCY).number == 50 + 352 + 304 + 6408 + 304 + 30
        up = await router.next(Message.DESTINATION_UP)
        assert up.first(Item.MAC_ADDRESS).value == ONE and up.first(Item.LATENCY).number == 8000
        assert up.first(Item.CURRENT_DATA_RATE_TRANSMIT).number == 1_500_000
        assert up.first(Item.RELATIVE_LINK_QUALITY_TRANSMIT).number == 80
        router.writer.write(up_response(ONE))
        now["told"] = probed(9500)
        assert (await router.next(Message.DESTINATION_UPDATE)).first(Item.LATENCY).number == 9500
        router.writer.write(wire.encode_message(Message.HEARTBEAT))
        await router.next(Message.HEARTBEAT)
        now["told"] = probed(9500, packets=9, drops=4)
        assert (await router.next(Message.DESTINATION_DOWN)).first(Item.MAC_ADDRESS).value == ONE
        down = [wire.mac_item(ONE), wire.status_item(Status.SUCCESS)]
        router.writer.write(wire.encode_message(Message.DESTINATION_DOWN_RESPONSE, down))
        now["told"] = probed(9500, packets=10, drops=4)
        await router.next(Message.DESTINATION_UP)
        running.cancel()
        end = await router.next(Message.SESSION_TERMINATION)
        assert end.first(Item.STATUS).status == Status.SHUTTING_DOWN
        router.writer.write(wire.encode_message(Message.SESSION_TERMINATION_RESPONSE))
        assert await router.reader.read() == b""

    with_modem(lambda: now["told"], scenario)


def test_a_node_that_does_not_answer_has_no_neighbours_until_it_does():
    now = {"told": probed()}

    def probe():
        if now["told"] is None:
            raise PerhopError("no answer", "wait")
        return now["told"]

    async def scenario(modem, port, running):
        router = await connected(port)
        router.writer.write(initialization(60_000))
        await router.next(Message.DESTINATION_UP)
        router.writer.write(up_response(ONE))
        now["told"] = None
        await router.next(Message.DESTINATION_DOWN)
        down = [wire.mac_item(ONE), wire.status_item(Status.SUCCESS)]
        router.writer.write(wire.encode_message(Message.DESTINATION_DOWN_RESPONSE, down))
        now["told"] = probed()
        await router.next(Message.DESTINATION_UP)

    with_modem(probe, scenario)


def test_rubbish_from_one_router_does_not_disturb_another():
    async def scenario(modem, port, running):
        good = await connected(port)
        good.writer.write(initialization(60_000))
        await good.next(Message.DESTINATION_UP)
        good.writer.write(up_response(ONE))
        for rubbish in (b"\xff" * 3000, b"GET / HTTP/1.1\r\n\r\n", b"\0"):
            bad = await connected(port, "127.0.0.2")
            bad.writer.write(rubbish)
            if rubbish != b"\0":
                async with asyncio.timeout(8):
                    await bad.reader.read()
            bad.writer.close()
        assert modem.counters["sessions"] == 4 and not running.done()
        await good.next(Message.HEARTBEAT)

    with_modem(probed, scenario)


@pytest.mark.parametrize(("modem", "source"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1")])
def test_a_connection_from_farther_than_one_hop_is_not_taken(modem, source):
    async def scenario(it, port, running):
        for hop_limit in (64, 254):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(connected(port, source, hop_limit, modem), 0.4)
        assert not it.counters["sessions"]
        router = await in_session(port, source, modem=modem)
        # Nor is a segment that says it is of a connection.
        end = router.writer.get_extra_info("socket")
        await router.next(Message.HEARTBEAT)
        set_hop_limit(end, 64)
        router.writer.write(wire.encode_message(Message.SESSION_TERMINATION, [wire.status_item(Status.SUCCESS)]))
        await router.next(Message.HEARTBEAT)
        set_hop_limit(end, 255)
        await router.next(Message.SESSION_TERMINATION_RESPONSE)

    with_modem(probed, scenario, addresses=(modem,))


def test_gtsm_can_be_switched_off_for_routers_that_do_not_know_it():
    async def scenario(modem, port, running):
        await in_session(port, hop_limit=64)

    with_modem(probed, scenario, one_hop_only=False)


def test_an_address_has_one_session():
    async def scenario(modem, port, running):
        first = await in_session(port)
        assert await is_refused(port)
        assert modem.counters["connections refused: it has a session"] == 1
        await first.next(Message.HEARTBEAT)
        first.writer.close()
        # A router that begins anew while its connection is half open replaces that.
        half_open = await connected(port, "127.0.0.2")
        await in_session(port, "127.0.0.2")
        assert await is_closed(half_open)

    with_modem(probed, scenario)


def test_half_open_connections_give_way_and_sessions_do_not():
    async def scenario(modem, port, running):
        half_open = [await connected(port, f"127.0.1.{at}") for at in range(1, 17)]
        routers = []
        for at in range(1, 17):
            async with asyncio.timeout(1):
                routers.append(await in_session(port, f"127.0.2.{at}"))
        assert all([await is_closed(one) for one in half_open])
        assert await is_refused(port, "127.0.3.1")
        assert modem.counters["connections refused: there are 16 sessions"] == 1
        await routers[0].next(Message.HEARTBEAT)

    with_modem(probed, scenario)


def test_only_routers_of_the_list_are_answered():
    async def scenario(modem, port, running):
        for stranger in ("127.0.0.1", "127.0.0.3", "127.0.1.16"):
            assert await is_refused(port, stranger)
        for router in ("127.0.0.2", "127.0.1.15"):
            await in_session(port, router)
        assert modem.counters["sessions"] == 2

    with_modem(probed, scenario, routers=("127.0.0.2", "127.0.1.0/28"))


@pytest.mark.parametrize("text", ["router", "192.0.2.0/33", ""])
def test_what_is_no_router_is_refused_by_name(text):
    with pytest.raises(PerhopError, match="is no address or network"):
        Modem(ModemConfig(routers=(text,)), probed)


async def offers(port, count, source="127.0.0.1", hop_limit=255) -> int:
    """How many Peer Offers come for so many Peer Discoveries."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.setblocking(False)
        set_hop_limit(asker, hop_limit)
        asker.bind((source, 0))
        for _ in range(count):
            asker.sendto(
                wire.encode_signal(wire.Signal.PEER_DISCOVERY, [wire.peer_type("router")]), ("127.0.0.1", port)
            )
            await asyncio.sleep(0)
        found = 0
        with contextlib.suppress(TimeoutError):
            while True:
                datagram = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(asker, 2000), 0.3)
                assert wire.parse_signal(datagram).kind == wire.Signal.PEER_OFFER
                found += 1
        return found


def test_discovery_answers_neighbours_of_the_list_and_few_of_them_a_second(monkeypatch):
    port = free_port()
    monkeypatch.setattr(wire, "PORT", port)

    async def scenario(modem, _, running):
        assert await offers(port, 1) == 1
        assert await offers(port, 3, hop_limit=64) == 0 and modem.counters["signals from afar"] == 3
        assert await offers(port, 3, source="127.0.0.2") == 0 and modem.counters["signals of strangers"] == 3
        began_s = asyncio.get_running_loop().time()
        found = await offers(port, 200)
        took_s = asyncio.get_running_loop().time() - began_s
        assert 0 < found <= 10 * (1 + took_s) and modem.counters["offers withheld"] >= 200 - found

    with_modem(probed, scenario, port=port, interface="lo", routers=("127.0.0.1",))


def test_what_a_peer_says_stays_one_line_of_the_log(capsys):
    async def scenario(modem, port, running):
        router = await connected(port)
        evil = wire.peer_type("x\nrouter 192.0.2.9 (fine): session\x1b[2J\u202e")
        items = [wire.number_item(Item.HEARTBEAT_INTERVAL, 1000), evil]
        router.writer.write(wire.encode_message(Message.SESSION_INITIALIZATION, items))
        await router.next(Message.SESSION_INITIALIZATION_RESPONSE)

    with_modem(probed, scenario)
    line = capsys.readouterr().err.splitlines()[0]
    assert line == r"router 127.0.0.1 (x\nrouter 192.0.2.9 (fine): session\x1b[2J\u202e): session"


def test_a_flood_of_connections_does_not_flood_the_log(capsys):
    async def scenario(modem, port, running):
        for _ in range(200):
            assert await is_refused(port, "127.0.0.9")
        assert modem.counters["connections refused: no router of ours"] == 200

    with_modem(probed, scenario, routers=("127.0.0.1",))
    assert len(capsys.readouterr().err.splitlines()) < 60


class FullProcess(socket.socket):
    """The listener of a process without a free descriptor while `full`: it stays readable as long as somebody waits."""

    full = True
    tried = 0

    def accept(self):
        if self.full:
            FullProcess.tried += 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().accept()


def test_without_a_descriptor_it_does_not_spin_and_takes_routers_when_there_is_one_again():
    async def scenario(modem, port, running):
        loop = asyncio.get_running_loop()
        (listener,) = modem._listeners
        loop.remove_reader(listener)
        modem._listeners[:] = [full] = [FullProcess(fileno=os.dup(listener.fileno()))]
        listener.close()
        loop.add_reader(full, modem._take_connections, full)
        router = asyncio.create_task(in_session(port))
        async with asyncio.timeout(5):
            while not full.tried:
                await asyncio.sleep(0)
        # The socket is readable all the while: a loop that spins comes by in each of its rounds.
        for _ in range(100):
            await asyncio.sleep(0)
        assert full.tried == 1, "it looks once, and then rests"
        full.full = False
        await asyncio.wait_for(router, 5)
        assert modem.counters["sessions"] == 1

    with_modem(probed, scenario)


def test_a_port_that_is_taken_is_one_clear_message():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        modem = Modem(ModemConfig(port=taken.getsockname()[1]), probed)
        with pytest.raises(PerhopError, match="cannot be opened"):
            asyncio.run(modem.run())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_a_neighbour_is_a_destination_from_a_delivery_until_three_losses(steps):
    from perhop.dlep.neighbours import Tracker

    tracker, packets, drops, row, reachable = Tracker(), 0, 0, 0, False
    for delivered, lost in steps:
        packets, drops = packets + delivered + lost, drops + lost
        row = 0 if delivered else row + lost
        reachable = True if delivered else reachable and row < 3
        assert set(tracker.destinations(probed(8000, packets, drops))) == ({ONE} if reachable else set())
