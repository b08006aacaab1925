# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets that are as long as a frame allows, or longer: they arrive, or their sender is told, and no router stops."""

import contextlib
import ipaddress
import os
import re
import signal
import socket
import struct

import pytest
from perhop.live.namespaces import INTERFACE
from perhop.registers import spec_generated as spec
from waiting import wait_until

from .conftest import kill_hard

MOST_IP_BYTES = spec.MOST_MSDU_BYTES - spec.LLC_SNAP_BYTES - spec.PATH_HEADER_BYTES
UDP, DISCARD_PORT = 17, 9
# Of each length; `make soak` is the place for more.
FRAMES = int(os.environ.get("PERHOP_LONG_FRAMES", "40"))


@pytest.fixture(scope="module")
def live(start_network):
    return start_network()


def udp_packet(source, destination, ip_bytes):
    """A UDP packet of this length without checksum (IPv4), or with its own (IPv6, RFC 8200, 8.1)."""
    source, destination = ipaddress.ip_address(source), ipaddress.ip_address(destination)
    header_bytes = 20 if source.version == 4 else 40
    udp_bytes = ip_bytes - header_bytes
    udp = struct.pack("!HHHH", 5004, DISCARD_PORT, udp_bytes, 0) + bytes(udp_bytes - 8)
    if source.version == 4:
        header = struct.pack("!BBHHHBBH", 0x45, 0, ip_bytes, 1, 0, 64, UDP, 0) + source.packed + destination.packed
        return header[:10] + struct.pack("!H", internet_checksum(header)) + header[12:] + udp
    pseudo = source.packed + destination.packed + struct.pack("!II", udp_bytes, UDP)
    checksum = internet_checksum(pseudo + udp) or 0xFFFF
    header = struct.pack("!IHBB", 6 << 28, udp_bytes, UDP, 64) + source.packed + destination.packed
    return header + udp[:6] + struct.pack("!H", checksum) + udp[8:]


def internet_checksum(content):
    content += bytes(len(content) % 2)
    total = sum(struct.unpack(f"!{len(content) // 2}H", content))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@contextlib.contextmanager
def in_place_of_node(live, node):
    """The socket of the MAC of a node whose daemon is away: a station without perhop."""
    supervisor = live.status()["supervisor"]
    os.kill(supervisor, signal.SIGSTOP)
    try:
        kill_hard(live.pid(f"node-{node}"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as station:
            station.connect(str(live.state / live.name / "air/air.sock"))
            station.settimeout(5)
            station.send(spec.AirHello(node=node).encode())
            yield station, spec.AirWelcome.decode(station.recv(100)).address
    finally:
        os.kill(supervisor, signal.SIGCONT)
    wait_until(lambda: (live.daemon(node) or {}).get("mac_up"), 10)


def send_frame(station, receiver, ethertype, packet):
    """One DATA frame; back when the MAC is done with it."""
    head = spec.AirSend(peer=0, rate=1, flags=spec.AirSend.FLAGS_USE_RTS, cookie=1, receiver_address=receiver)
    station.send(head.encode() + bytes.fromhex("aaaa03000000") + struct.pack("!H", ethertype) + packet)
    while station.recv(4096)[0] != spec.AirCompletion().kind:
        pass


@pytest.mark.parametrize("version", ["ipv4", "ipv6"])
def test_plain_packets_that_leave_no_room_for_a_path_header_pass_and_stop_no_router(live, version):
    """A station without perhop may fill a frame: 2,296 bytes of IP and LLC/SNAP leave none for a path header."""
    nodes = live.status()["nodes"]
    source, destination = nodes[0][version], nodes[3][version]
    before = live.daemon(1)["packets"]
    passed_before = before["forwarded"]
    lengths = (MOST_IP_BYTES - 7, MOST_IP_BYTES, MOST_IP_BYTES + 1, MOST_IP_BYTES + spec.PATH_HEADER_BYTES)
    with in_place_of_node(live, 0) as (station, address):
        for _ in range(FRAMES):
            for length in lengths:
                ethertype = spec.IPV4_ETHERTYPE if version == "ipv4" else spec.IPV6_ETHERTYPE
                send_frame(station, address + 1, ethertype, udp_packet(source, destination, length))
    arrived = live.ping(0, destination, 10)
    assert " 0% packet loss" in arrived.stdout, arrived.stdout
    router = live.daemon(1)
    assert router["mac_up"] and router["mac_problem"] == ""
    # Nothing but pings and these: the frames that the MACs lost on the air were never handed to the router.
    assert router["packets"]["forwarded"] - passed_before > 0.9 * len(lengths) * FRAMES
    assert router["packets"]["plain"] - before["plain"] > 0.9 * 2 * FRAMES
    assert router["packets"]["mac_refused"] == before["mac_refused"]


@pytest.mark.parametrize("version", ["ipv4", "ipv6"])
def test_an_interface_with_a_larger_mtu_than_a_frame_holds_learns_the_right_one(live, version):
    """The kernel believes what `ip link` says of the interface; the daemon tells it what a frame holds."""
    destination = live.status()["nodes"][3][version]
    assert live.run(0, "ip", "link", "set", INTERFACE, "mtu", "9000").returncode == 0
    try:
        said = live.run(
            0, "ping", "-n", "-i", "0.2", "-W", "3", "-c", "4", "-s", "4000", "-M", "do", destination
        ).stdout
        told = re.search(r"mtu ?[=:] ?(\d+)", said)
        assert told is not None and int(told[1]) == MOST_IP_BYTES, said
        # From now on the kernel makes fragments that fit.
        done = live.run(0, "ping", "-n", "-i", "0.5", "-W", "3", "-c", "5", "-s", "4000", destination)
        assert " 0% packet loss" in done.stdout, done.stdout
        # Whoever does not look for the path's MTU has its packets cut for it (IPv4), or is told (IPv6).
        done = live.run(0, "ping", "-n", "-i", "0.5", "-W", "3", "-c", "5", "-s", "4000", "-M", "dont", destination)
        assert " 0% packet loss" in done.stdout, done.stdout
    finally:
        live.run(0, "ip", "link", "set", INTERFACE, "mtu", "1500")
    assert " 0% packet loss" in live.ping(0, destination, 5).stdout
    assert live.daemon(0)["packets"]["mac_refused"] == 0


def test_tcp_finds_the_mtu_of_the_path_behind_an_interface_that_says_too_much(live):
    for node in (0, 3):
        assert live.run(node, "ip", "link", "set", INTERFACE, "mtu", "9000").returncode == 0
    try:
        live.transfer(300)
    finally:
        for node in (0, 3):
            live.run(node, "ip", "link", "set", INTERFACE, "mtu", "1500")
