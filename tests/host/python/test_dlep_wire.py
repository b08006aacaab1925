# SPDX-License-Identifier: GPL-2.0-or-later
"""DLEP as bytes: there and back, whatever comes from outside, and what Wireshark's own dissector says of ours."""

import shutil
import socket
import struct
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perhop.dlep import wire
from perhop.dlep.session import Metrics
from perhop.dlep.wire import DataItem, Item, Message, Signal, Status, WireError

MAC = bytes.fromhex("020000000003")
METRICS = Metrics(
    max_rate_bps=2_000_000, current_rate_bps=1_492_000, latency_us=8042, link_quality=97, mtu_bytes=1500
).items()
ADDRESSES = [wire.ip_item(bytes([10, 0, 0, 3]), add=True), wire.ip_item(bytes(range(16)), add=False)]

# Every message with every kind of data item that perhop sends.
SENT = {
    Message.SESSION_INITIALIZATION_RESPONSE: [
        wire.status_item(Status.SUCCESS, "welcome"),
        wire.peer_type("perhop"),
        wire.number_item(Item.HEARTBEAT_INTERVAL, 1000),
        *METRICS,
    ],
    Message.SESSION_UPDATE_RESPONSE: [wire.status_item(Status.INCONSISTENT_DATA)],
    Message.SESSION_TERMINATION: [wire.status_item(Status.SHUTTING_DOWN, "the modem is shut down")],
    Message.SESSION_TERMINATION_RESPONSE: [],
    Message.DESTINATION_UP: [wire.mac_item(MAC), *METRICS, *ADDRESSES],
    Message.DESTINATION_ANNOUNCE_RESPONSE: [
        wire.mac_item(MAC),
        wire.status_item(Status.REQUEST_DENIED, "not heard of"),
    ],
    Message.DESTINATION_DOWN: [wire.mac_item(MAC)],
    Message.DESTINATION_DOWN_RESPONSE: [wire.mac_item(MAC), wire.status_item(Status.SUCCESS)],
    Message.DESTINATION_UPDATE: [wire.mac_item(MAC), *METRICS],
    Message.LINK_CHARACTERISTICS_RESPONSE: [
        wire.mac_item(MAC),
        wire.status_item(Status.REQUEST_DENIED, "links cannot be changed"),
        *METRICS,
    ],
    Message.HEARTBEAT: [],
}


def read(data):
    reader = wire.MessageReader()
    reader.feed(data)
    return reader.next()


@pytest.mark.parametrize("kind", SENT)
def test_a_message_comes_back_as_it_was(kind):
    parsed = read(wire.encode_message(kind, SENT[kind]))
    assert parsed.kind == kind and list(parsed.items) == SENT[kind]


def test_signals_come_back_as_they_were():
    items = [wire.peer_type("perhop"), wire.connection_point(bytes([192, 0, 2, 1]), 854)]
    items.append(wire.connection_point(bytes(range(16)), 8540))
    parsed = wire.parse_signal(wire.encode_signal(Signal.PEER_OFFER, items))
    assert parsed.kind == Signal.PEER_OFFER and list(parsed.items) == items


def test_messages_are_cut_out_of_a_stream_wherever_it_is_cut():
    stream = b"".join(wire.encode_message(kind, items) for kind, items in SENT.items())
    for size in (1, 3, 7, 64, len(stream)):
        reader = wire.MessageReader()
        kinds = []
        for at in range(0, len(stream), size):
            reader.feed(stream[at : at + size])
            while (message := reader.next()) is not None:
                kinds.append(message.kind)
        assert kinds == list(SENT)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (wire.HEADER.pack(17, 0), Status.UNKNOWN_MESSAGE),
        (wire.HEADER.pack(16, 1) + b"\0", Status.INVALID_DATA),
        (wire.HEADER.pack(16, 4) + wire.ITEM_HEADER.pack(16, 0), Status.INVALID_DATA),
        (wire.HEADER.pack(11, 4) + wire.ITEM_HEADER.pack(7, 6), Status.INVALID_DATA),
        (wire.HEADER.pack(11, 4) + wire.ITEM_HEADER.pack(99, 0), Status.INVALID_DATA),
        (wire.encode_message(Message.DESTINATION_DOWN, []), Status.INVALID_DATA),
        (wire.encode_message(Message.DESTINATION_DOWN, [wire.mac_item(MAC)] * 2), Status.INVALID_DATA),
        (wire.encode_message(Message.DESTINATION_DOWN, [wire.mac_item(MAC[:5])]), Status.INVALID_DATA),
        (wire.encode_message(Message.SESSION_TERMINATION, [DataItem(Item.STATUS, b"")]), Status.INVALID_DATA),
        (wire.encode_message(Message.SESSION_TERMINATION, [DataItem(Item.STATUS, b"\0\xff")]), Status.INVALID_DATA),
        (wire.encode_message(Message.SESSION_UPDATE, [DataItem(Item.RESOURCES, b"\x65")]), Status.INVALID_DATA),
        (
            wire.encode_message(Message.SESSION_UPDATE, [DataItem(Item.IPV4_ATTACHED_SUBNET, bytes(5) + b"\x21")]),
            Status.INVALID_DATA,
        ),
    ],
)
def test_what_is_wrong_is_refused_with_the_status_of_the_rfc(data, status):
    with pytest.raises(WireError) as refused:
        read(data)
    assert refused.value.status == status and refused.value.problem


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data):
    reader = wire.MessageReader()
    reader.feed(data)
    try:
        while (message := reader.next()) is not None:
            assert read(wire.encode_message(message.kind, message.items)) == message
    except WireError as error:
        assert error.status >= Status.UNKNOWN_MESSAGE
    for datagram in (data, wire.SIGNAL_PREFIX + data):
        try:
            signal = wire.parse_signal(datagram)
            assert wire.parse_signal(wire.encode_signal(signal.kind, signal.items)) == signal
        except WireError:
            pass


def mutated() -> st.SearchStrategy[bytes]:
    """Messages of ours with a few bytes changed, inserted or cut away."""

    @st.composite
    def draw_one(draw):
        kind = draw(st.sampled_from(list(SENT)))
        data = bytearray(wire.encode_message(kind, SENT[kind]))
        for _ in range(draw(st.integers(1, 4))):
            at = draw(st.integers(0, len(data) - 1))
            data[at] = draw(st.integers(0, 255))
        return bytes(data[: draw(st.integers(1, len(data)))])

    return draw_one()


@settings(max_examples=400, deadline=None)
@given(mutated())
def test_a_damaged_message_is_read_or_refused(data):
    try:
        message = read(data)
    except WireError:
        return
    if message is not None:
        assert read(wire.encode_message(message.kind, message.items)) == message


# ---- Somebody else's reading


def capture_of(payload: bytes, protocol: int) -> bytes:
    """A pcap of one IPv4 packet from and to port 854."""
    if protocol == socket.IPPROTO_UDP:
        transport = struct.pack("!HHHH", 854, 854, 8 + len(payload), 0)
    else:
        transport = struct.pack("!HHIIBBHHH", 854, 854, 1, 1, 0x50, 0x18, 0xFFFF, 0, 0)
    body = transport + payload
    header = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 1, 0, 255, protocol, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
    )
    packet = header + body
    raw_ip_link = 101
    return (
        struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, raw_ip_link)
        + struct.pack("<IIII", 0, 0, len(packet), len(packet))
        + packet
    )


def tshark(folder, payload: bytes, protocol: int, *fields: str) -> list[str]:
    capture = folder / "dlep.pcap"
    capture.write_bytes(capture_of(payload, protocol))
    command = ["tshark", "-n", "-r", str(capture), "-T", "fields"]
    for field in (*fields, "_ws.malformed", "_ws.expert.severity"):
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *values, malformed, severity = done.stdout.rstrip("\n").split("\t")
    assert malformed == "" and severity == "", done.stdout
    return values


needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


@needs_tshark
@pytest.mark.parametrize("kind", SENT)
def test_wireshark_reads_our_messages_without_complaint(tmp_path, kind):
    values = tshark(
        tmp_path,
        wire.encode_message(kind, SENT[kind]),
        socket.IPPROTO_TCP,
        "dlep.message.type",
        "dlep.dataitem.type",
        "dlep.dataitem.latency",
        "dlep.dataitem.cdrt",
        "dlep.dataitem.macaddr_eui48",
    )
    items = SENT[kind]
    assert values[0] == str(int(kind))
    assert values[1].split(",") == [str(int(item.kind)) for item in items] or not items
    has = {item.kind for item in items}
    assert values[2] == ("8042" if Item.LATENCY in has else "")
    assert values[3] == ("1492000" if Item.CURRENT_DATA_RATE_TRANSMIT in has else "")
    assert values[4] == ("02:00:00:00:00:03" if Item.MAC_ADDRESS in has else "")


@needs_tshark
def test_wireshark_reads_our_peer_offer_without_complaint(tmp_path):
    offer = wire.encode_signal(
        Signal.PEER_OFFER, [wire.peer_type("perhop"), wire.connection_point(bytes([192, 0, 2, 1]), 854)]
    )
    values = tshark(tmp_path, offer, socket.IPPROTO_UDP, "dlep.signal.type", "dlep.dataitem.v4conn.addr")
    assert values == ["2", "192.0.2.1"]


@needs_tshark
def test_wireshark_complains_of_what_is_wrong(tmp_path):
    """So that silence about the others means something."""
    broken = wire.encode_message(Message.DESTINATION_DOWN, [wire.mac_item(MAC[:5])])
    with pytest.raises(AssertionError):
        tshark(tmp_path, broken, socket.IPPROTO_TCP)
