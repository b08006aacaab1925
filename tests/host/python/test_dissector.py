# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop.lua as tshark runs it: what host/core puts on the air is read back field by field."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from perhop import core, wireshark
from perhop.errors import PerhopError

DISSECTOR = wireshark.dissector()
ETHERNET_LINK = 1
# IPv4, UDP from 10.0.0.1 to 10.0.0.2, no payload.
IP_PACKET = bytes.fromhex("4500001c000040004011 26cf 0a000001 0a000002 0400 1389 0008 0000".replace(" ", ""))

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def read(folder: Path, ethertype: int, payload: bytes, fields: list[str], malformed: bool = False) -> dict[str, str]:
    """What tshark says of one frame; a field that comes more than once has commas."""
    frame = bytes(12) + struct.pack(">H", ethertype) + payload
    capture = folder / "frame.pcap"
    capture.write_bytes(
        struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, ETHERNET_LINK)
        + struct.pack("<IIII", 0, 0, len(frame), len(frame))
        + frame
    )
    command = ["tshark", "-n", "-X", f"lua_script:{DISSECTOR}", "-r", capture, "-T", "fields"]
    for name in [*fields, "_ws.malformed", "_ws.lua.error"]:
        command += ["-e", name]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "error" not in ran.stderr.lower(), ran.stderr
    values = ran.stdout.rstrip("\n").split("\t")
    shown = dict(zip([*fields, "malformed", "error"], values, strict=True))
    assert bool(shown.pop("malformed")) == malformed and shown.pop("error") == ""
    return shown


def test_a_data_packet_of_exact_shows_its_header_and_the_ip_packet_behind_it(tmp_path):
    payload = core.encode(core.PathHeader(exact_follows=True, hops=2, total_delay_us=320, max_delay_us=192))
    payload += core.encode_exact_header(core.ExactHeader(sequence=0x12345678, last=True)) + IP_PACKET
    assert read(
        tmp_path,
        0x88B5,
        payload,
        [
            "perhop.exact_follows",
            "perhop_exact.kind",
            "perhop_exact.last",
            "perhop_exact.sequence",
            "ip.dst",
            "udp.dstport",
        ],
    ) == {
        "perhop.exact_follows": "1",
        "perhop_exact.kind": "1",
        "perhop_exact.last": "1",
        "perhop_exact.sequence": str(0x12345678),
        "ip.dst": "10.0.0.2",
        "udp.dstport": "5001",
    }


def test_feedback_of_exact_shows_every_field(tmp_path):
    report = core.ExactReport(
        silent_router_seen=True,
        hops=5,
        explicit_rate_bps=1_000_000,
        current_rate_bps=500_000,
        total_delay_us=40_000,
        max_delay_us=16_000,
        held_us=3_200,
        highest_sequence=70_000,
        received_packets=69_000,
        arrived_bitmap=0x80000001,
    )
    payload = core.encode(core.PathHeader(exact_follows=True)) + core.encode_exact_report(report) + IP_PACKET
    expected = {
        "perhop_exact.kind": 2,
        "perhop_exact.silent_router_seen": 1,
        "perhop_exact.hops": 5,
        "perhop_exact.explicit_rate_bps": core.decode_rate(core.encode_rate(1_000_000)),
        "perhop_exact.current_rate_bps": core.decode_rate(core.encode_rate(500_000)),
        "perhop_exact.total_delay_us": 40_000,
        "perhop_exact.max_delay_us": 16_000,
        "perhop_exact.held_us": 3_200,
        "perhop_exact.highest_sequence": 70_000,
        "perhop_exact.received_packets": 69_000,
        "perhop_exact.arrived_bitmap": "0x80000001",
        "ip.dst": "10.0.0.2",
    }
    assert read(tmp_path, 0x88B5, payload, list(expected)) == {name: str(value) for name, value in expected.items()}


def test_without_the_flag_the_ip_packet_follows_the_path_header(tmp_path):
    payload = core.encode(core.PathHeader()) + IP_PACKET
    fields = ["perhop.exact_follows", "perhop_exact.kind", "ip.dst"]
    assert list(read(tmp_path, 0x88B5, payload, fields).values()) == ["0", "", "10.0.0.2"]


def hello(position: core.NodePosition | None = None) -> bytes:
    """That of a router with two flows to one neighbour."""
    router = core.ExactRouter(
        config=core.ExactRouterConfig(neighbourhood=core.ExactNeighbourhoodConfig(node=0x0A000001, position=position))
    )
    router.set_peer_node(3, 0x0A000002)
    for flow in (0x111, 0x222):
        router.on_packet(
            0,
            core.ExactPacket(
                flow=flow,
                peer=3,
                rate_index=1,
                ip_bytes=1500,
                mpdu_bytes=1554,
                explicit_rate_bps=300_000,
                current_rate_bps=200_000,
                weight=2,
            ),
        )
    # Its first hello goes when its flows are worked out, and when it has its part of the air.
    for _ in range(20):
        due_us = router.deadline_us
        router.on_deadline(due_us)
        if (data := router.take_hello(due_us)) is not None:
            return data
    raise AssertionError("no hello")


def test_a_hello_shows_nodes_neighbours_and_flows(tmp_path):
    shown = read(
        tmp_path,
        0x88B6,
        hello(core.NodePosition(x_m=-250, y_m=40)),
        [
            f"perhop_hello.{name}"
            for name in (
                "version",
                "node_count",
                "node",
                "hops",
                "neighbour.node",
                "flow.flow",
                "flow.weight",
                "x_m",
                "y_m",
            )
        ],
    )
    assert shown == {
        "perhop_hello.version": "1",
        "perhop_hello.node_count": "1",
        "perhop_hello.node": "0x0a000001",
        "perhop_hello.hops": "0",
        "perhop_hello.neighbour.node": "0x0a000002",
        "perhop_hello.flow.flow": "0x00000111,0x00000222",
        "perhop_hello.flow.weight": "2,2",
        "perhop_hello.x_m": "-250",
        "perhop_hello.y_m": "40",
    }
    costs = read(
        tmp_path, 0x88B6, hello(), ["perhop_hello.flow.cost_ps", "perhop_hello.flow.rate_limit_bps", "perhop_hello.x_m"]
    )
    # 1500 bytes at 2 Mb/s take about 7 ms with all overhead, and a quarter of a report: 0.6 us a bit and more.
    assert all(550_000 < float(cost) < 800_000 for cost in costs["perhop_hello.flow.cost_ps"].split(","))
    assert costs["perhop_hello.flow.rate_limit_bps"] == ",".join(2 * [str(core.decode_rate(core.encode_rate(300_000)))])
    assert costs["perhop_hello.x_m"] == "", "it does not know where it stands"


def test_a_hello_that_is_cut_says_so(tmp_path):
    fields = ["perhop_hello.too_short", "perhop_hello.node"]
    whole = hello()
    assert read(tmp_path, 0x88B6, whole, fields)["perhop_hello.too_short"] == ""
    cut = read(tmp_path, 0x88B6, whole[:-1], fields, malformed=True)
    assert cut["perhop_hello.too_short"] != "" and cut["perhop_hello.node"] == ""


def test_a_path_header_that_is_cut_or_of_another_version_says_so(tmp_path):
    fields = ["perhop.too_short", "perhop.unknown", "ip.dst"]
    whole = core.encode(core.PathHeader())
    cut = read(tmp_path, 0x88B5, whole[:-1], fields, malformed=True)
    assert cut["perhop.too_short"] != ""
    other = bytes([whole[0] & 0x0F | 0x20]) + whole[1:] + IP_PACKET
    shown = read(tmp_path, 0x88B5, other, fields)
    assert shown["perhop.unknown"] != "" and shown["ip.dst"] == "", "what follows is not guessed at"
    odd_rider = core.encode(core.PathHeader(exact_follows=True)) + bytes([0x70]) + IP_PACKET
    assert read(tmp_path, 0x88B5, odd_rider, fields)["perhop.unknown"] != ""


def test_every_field_of_the_path_header_is_shown_as_the_codec_means_it(tmp_path):
    header = core.PathHeader(
        wired_hop_seen=True,
        hops=3,
        total_delay_us=48_000,
        max_delay_us=16_160,
        packets_in_flight=7,
        echo=core.PathEcho(total_delay_us=6_400, max_delay_us=3_200, hops=2),
    )
    expected = {
        "perhop.version": 1,
        "perhop.wired_hop_seen": 1,
        "perhop.silent_router_seen": 0,
        "perhop.echo_valid": 1,
        "perhop.hops": 3,
        "perhop.total_delay_us": 48_000,
        "perhop.max_delay_us": 16_160,
        "perhop.packets_in_flight": 7,
        "perhop.echo_total_delay_us": 6_400,
        "perhop.echo_max_delay_us": 3_200,
        "perhop.echo_hops": 2,
        "ip.dst": "10.0.0.2",
    }
    payload = core.encode(header) + IP_PACKET
    assert read(tmp_path, 0x88B5, payload, list(expected)) == {name: str(value) for name, value in expected.items()}


def test_installed_it_is_found_without_being_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert wireshark.install() == tmp_path / ".local/lib/wireshark/plugins/perhop.lua"
    told = subprocess.run(["tshark", "-G", "plugins"], capture_output=True, text=True, check=True).stdout
    assert "perhop.lua" in told
    (tmp_path / "file").write_text("")
    with pytest.raises(PerhopError, match="cannot be written"):
        wireshark.install(tmp_path / "file")
