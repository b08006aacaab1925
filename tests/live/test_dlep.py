# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop dlep` on a live node, attached to a router by a cable (a pair of veth).

The router is one written here; Wireshark, which reads along; and OONF's dlep_router where it is there.

OONF's router is found as dlep_router on the PATH or by PERHOP_OONF_DLEP_ROUTER. It is built from github.com/OLSR/OONF:

    cmake .. && make dlep_router_static     # with gcc 12 or later: without -Werror in cmake/cc_flags.cmake
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from waiting import wait_until

from .conftest import Live, namespaces_of

MODEM, ROUTER = "192.0.2.1", "192.0.2.2"
PROGRAM = "import sys; from perhop.cli import main; sys.argv[0] = 'perhop'; main()"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@dataclass
class Cable:
    """A router's namespace, joined to node 1."""

    live: Live
    namespace: str
    modem_end: str
    router_end: str

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        inside = ["ip", "netns", "exec", self.namespace, *command]
        return subprocess.run(inside, capture_output=True, text=True, timeout=30, check=False)

    def router(
        self, family: str = "4", hop_limit: int = 255, discovery_hop_limit: int = 255
    ) -> subprocess.CompletedProcess[str]:
        """ROUTER_PROGRAM: a session from discovery to end."""
        limits = (str(hop_limit), str(discovery_hop_limit))
        return self.run(sys.executable, "-c", ROUTER_PROGRAM, self.router_end, family, ROUTER, *limits)

    def start(self, *command: str) -> subprocess.Popen[str]:
        inside = ["ip", "netns", "exec", self.namespace, *command]
        process = subprocess.Popen(inside, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.live.started.append(process)
        return process

    @contextlib.contextmanager
    def modem(self, *more: str) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", PROGRAM, "dlep", "1", "--name", self.live.name),
                *("--listen", MODEM, "--interface", self.modem_end, "--interval", "0.3", *more),
            ],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PERHOP_LIVE_STATE": str(self.live.state)},
        )
        self.live.started.append(process)
        assert "DLEP modem of node 1" in process.stderr.readline()
        try:
            yield process
        finally:
            process.terminate()
            assert process.wait(5) == 0


@pytest.fixture(scope="module")
def cable(start_network) -> Iterator[Cable]:
    live = start_network(hops=2)
    assert live.ping(0, "10.0.0.3", 10).returncode == 0
    namespace = f"perhop-test-router-{os.getpid()}"
    here, there = f"pd{os.getpid()}a"[:15], f"pd{os.getpid()}b"[:15]
    node = namespaces_of(live.name, 1)
    ip("netns", "add", namespace)
    try:
        ip("link", "add", here, "netns", node, "type", "veth", "peer", "name", there, "netns", namespace)
        for where, end, address in ((node, here, MODEM), (namespace, there, ROUTER)):
            ip("-n", where, "addr", "add", f"{address}/24", "dev", end)
            ip("-n", where, "link", "set", end, "up")
        ip("-n", namespace, "link", "set", "lo", "up")
        yield Cable(live, namespace, here, there)
    finally:
        ip("netns", "del", namespace)


def latencies(live: Live) -> dict[str, int]:
    """What `perhop probe` shows, by MAC address."""
    done = live.perhop("probe", "1", "--name", live.name, "--json")
    told = json.loads(done.stdout)
    return {neighbour["mac"]: neighbour["latency_us"] for neighbour in told["neighbours"] if neighbour["addresses"]}


ROUTER_PROGRAM = """
import json, socket, sys
from perhop.dlep import wire
from perhop.dlep.wire import Item, Message, Signal, Status

def until(kind):
    while True:
        message = reader.next()
        if message is None:
            data = tcp.recv(4096)
            assert data, "the modem closed the connection"
            reader.feed(data)
        elif message.kind == kind:
            return message

index = socket.if_nametoindex(sys.argv[1])
hop_limit = int(sys.argv[4])
if sys.argv[2] == "6":
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)  # from any port: not the well-known one
    udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, int(sys.argv[5]))
    group = (wire.MULTICAST_IPV6, wire.PORT, 0, index)
else:
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(sys.argv[3]))
    udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, int(sys.argv[5]))
    group = (wire.MULTICAST_IPV4, wire.PORT)
udp.settimeout(3)
udp.sendto(b"rubbish", group)
udp.sendto(wire.encode_signal(Signal.PEER_DISCOVERY, [wire.peer_type("test")]), group)
offer = wire.parse_signal(udp.recv(2000))
print("offered", file=sys.stderr)
if sys.argv[2] == "6":
    point = offer.first(Item.IPV6_CONNECTION_POINT).value
    address, port = socket.inet_ntop(socket.AF_INET6, point[1:17]), int.from_bytes(point[17:19], "big")
    tcp = socket.socket(socket.AF_INET6)
    tcp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, hop_limit)
    tcp.settimeout(3)
    tcp.connect((address, port, 0, index))
else:
    point = offer.first(Item.IPV4_CONNECTION_POINT).value
    address, port = socket.inet_ntoa(point[1:5]), int.from_bytes(point[5:7], "big")
    tcp = socket.socket(socket.AF_INET)
    tcp.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hop_limit)
    tcp.settimeout(3)
    tcp.connect((address, port))
print("connected", file=sys.stderr)
reader = wire.MessageReader()
tcp.sendall(wire.encode_message(Message.SESSION_INITIALIZATION,
    [wire.number_item(Item.HEARTBEAT_INTERVAL, 60_000), wire.peer_type("test")]))
answer = until(Message.SESSION_INITIALIZATION_RESPONSE)
found = {}
for _ in range(2):
    up = until(Message.DESTINATION_UP)
    mac = up.first(Item.MAC_ADDRESS)
    found[mac.value.hex(":")] = up.first(Item.LATENCY).number
    tcp.sendall(wire.encode_message(Message.DESTINATION_UP_RESPONSE, [mac, wire.status_item(Status.SUCCESS)]))
until(Message.HEARTBEAT)
tcp.sendall(wire.encode_message(Message.SESSION_TERMINATION, [wire.status_item(Status.SUCCESS, "done")]))
until(Message.SESSION_TERMINATION_RESPONSE)
print(json.dumps({"offer": [address, port], "peer": answer.first(Item.PEER_TYPE).text, "latency_us": found}))
"""


def test_a_router_discovers_the_modem_and_learns_the_latency_that_probe_shows(cable):
    with cable.modem():
        done = cable.router()
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said["offer"] == [MODEM, 854] and said["peer"] == "perhop"
        assert said["latency_us"] == latencies(cable.live)
        assert len(said["latency_us"]) == 2


def test_a_router_may_speak_ipv6_and_link_local_addresses(cable):
    link_local = "fe80::7:1"
    ip("-n", namespaces_of(cable.live.name, 1), "addr", "replace", f"{link_local}/64", "dev", cable.modem_end, "nodad")
    ip("-n", cable.namespace, "addr", "replace", "fe80::7:2/64", "dev", cable.router_end, "nodad")
    with cable.modem("--listen", f"{link_local}%{cable.modem_end}", "--port", "8540"):
        done = cable.router("6")
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said["offer"] == [link_local, 8540]
        assert said["latency_us"] == latencies(cable.live)


@pytest.mark.parametrize("family", ["4", "6"])
def test_a_router_that_is_farther_than_one_hop_is_not_answered(cable, family):
    here = namespaces_of(cable.live.name, 1)
    if family == "6":
        ip("-n", here, "addr", "replace", "fe80::7:1/64", "dev", cable.modem_end, "nodad")
        ip("-n", cable.namespace, "addr", "replace", "fe80::7:2/64", "dev", cable.router_end, "nodad")
    more = ["--listen", f"fe80::7:1%{cable.modem_end}", "--port", "8540"] if family == "6" else []
    with cable.modem(*more):
        undiscovered = cable.router(family, discovery_hop_limit=254)
        assert undiscovered.returncode != 0 and "offered" not in undiscovered.stderr, undiscovered.stderr
        unconnected = cable.router(family, hop_limit=254)
        assert unconnected.returncode != 0 and "offered" in unconnected.stderr, unconnected.stderr
        assert "connected" not in unconnected.stderr
        done = cable.router(family)
        assert done.returncode == 0, done.stderr


def test_a_router_that_the_configuration_file_does_not_name_is_not_answered(cable, tmp_path):
    config = tmp_path / "modem.yaml"
    config.write_text(f"interface: {cable.modem_end}\nrouters: [192.0.2.3, 192.0.2.8/29]\n")
    with cable.modem("--config", str(config)):
        done = cable.router()
        assert done.returncode != 0 and "offered" not in done.stderr
    # Options go before the file.
    with cable.modem("--config", str(config), "--router", ROUTER):
        done = cable.router()
        assert done.returncode == 0, done.stderr


def test_a_wrong_configuration_file_is_one_message_with_line_and_field(cable, tmp_path):
    config = tmp_path / "modem.yaml"
    config.write_text("port: 854\nrouters: [192.0.2.300]\n")
    done = cable.live.perhop("dlep", "1", "--name", cable.live.name, "--config", str(config))
    assert done.returncode == 2 and f"{config}:2: routers.0: is '192.0.2.300'" in done.stderr.replace("\n", "")


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_reads_a_whole_session_without_complaint(cable, tmp_path):
    capture = tmp_path / "dlep.pcap"
    with (
        cable.live.captured("port 854", capture, cable.namespace, cable.router_end, MODEM),
        cable.modem(),
    ):
        assert cable.router().returncode == 0
    fields = ["dlep.signal.type", "dlep.message.type", "dlep.dataitem.latency", "_ws.malformed", "_ws.expert.severity"]
    command = ["tshark", "-n", "-r", str(capture), "-Y", "ip.src == " + MODEM + " && dlep", "-T", "fields"]
    done = subprocess.run(
        [*command, *(word for field in fields for word in ("-e", field))], capture_output=True, text=True, check=True
    )
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    signals, messages, told, malformed, severities = (
        {value for value in column if value} for column in zip(*rows, strict=True)
    )
    assert signals == {"2"} and not malformed
    assert {"2", "7", "16", "6"} <= {kind for some in messages for kind in some.split(",")}
    assert {str(latency) for latency in latencies(cable.live).values()} <= {
        one for some in told for one in some.split(",")
    }
    # 0x600000 and more: warnings and errors.
    assert all(int(severity) < 0x600000 for some in severities for severity in some.split(","))


def oonf_router() -> str | None:
    return (
        os.environ.get("PERHOP_OONF_DLEP_ROUTER") or shutil.which("dlep_router") or shutil.which("dlep_router_static")
    )


OONF_CONFIG = """[log]
  info dlep
[telnet]
  bindto 127.0.0.1
  port 2009
[dlep_router={interface}]
  discovery_bindto 0.0.0.0/0
  discovery_bindto ::/0
  peer_type oonf
"""

# Asks over the router's telnet port.
TELNET = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", 2009), 3)
connection.sendall((sys.argv[1] + chr(10) + "quit" + chr(10)).encode())
answer = b""
while data := connection.recv(65536):
    answer += data
sys.stdout.buffer.write(answer)
"""


def in_us(text: str) -> int:
    """OONF writes 7.678ms, 912us or 1.2s."""
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return round(float(number) * {"us": 1, "ms": 1_000, "s": 1_000_000}[unit])


def oonf_neighbours(cable: Cable) -> dict[str, list[str]]:
    """Lines of layer2info by the neighbour's MAC address."""
    done = subprocess.run(
        ["ip", "netns", "exec", cable.namespace, sys.executable, "-c", TELNET, "layer2info neighbor"],
        capture_output=True,
        timeout=10,
        check=False,
    )
    rows = [line.split("\t") for line in done.stdout.decode(errors="replace").splitlines()]
    return {row[3]: row for row in rows if len(row) > 4 and row[0] == cable.router_end}


@pytest.mark.other_router
@pytest.mark.skipif(
    oonf_router() is None,
    reason="NOT CHECKED against an independent router: there is no dlep_router of OONF (set PERHOP_OONF_DLEP_ROUTER)",
)
def test_oonfs_router_shows_the_latency_that_probe_shows(cable, tmp_path):
    config = tmp_path / "oonf.conf"
    config.write_text(OONF_CONFIG.format(interface=cable.router_end))
    with cable.modem() as modem:
        router = cable.start(str(oonf_router()), "-l", str(config))
        try:
            assert "session" in modem.stderr.readline()
            wait_until(lambda: len(oonf_neighbours(cable)) == 2, 10)
            assert oonf_latencies(cable) == latencies(cable.live)
            # The link gets slower: a flow goes through it. Then it is quiet again, and both show the same once more.
            before = latencies(cable.live)
            assert cable.live.ping(0, "10.0.0.3", 30, "-s", "1400").returncode == 0
            after = latencies(cable.live)
            assert after != before
            wait_until(lambda: oonf_latencies(cable) == after, 5)
        finally:
            router.terminate()
            said = router.communicate(timeout=10)[0]
        assert "Could not parse" not in said


def oonf_latencies(cable: Cable) -> dict[str, int]:
    found = {}
    for mac, row in oonf_neighbours(cable).items():
        # The one time in the line that is not 0 is the latency.
        times = [field for field in row if re.fullmatch(r"[\d.]+(us|ms)", field)]
        assert len(times) == 1, row
        found[mac] = in_us(times[0])
    return found


def test_the_modem_without_a_node_says_so_in_one_line(cable):
    done = cable.live.perhop("dlep", "7", "--name", cable.live.name)
    assert done.returncode == 2 and "there is no node '7'" in done.stderr
    done = cable.live.perhop("dlep", "1", "--name", cable.live.name, "--listen", "203.0.113.9")
    assert done.returncode == 2 and "cannot be opened" in done.stderr and "Traceback" not in done.stderr
