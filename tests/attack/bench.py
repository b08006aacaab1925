# SPDX-License-Identifier: GPL-2.0-or-later
"""What the cases of `make attack` share: a live network, programs on its nodes, and an end that leaves nothing.

A case is a file here with `run(bench, outcome)`; its docstring's first line says what is done and what must hold.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perhop.errors import PerhopError
from perhop.live import messages, network
from perhop.live.plan import make_plan
from perhop.registers import spec_generated as spec

sys.path.append(str(Path(__file__).resolve().parents[1]))
import waiting

ROOT = Path(__file__).resolve().parents[2]
CHAIN = ROOT / "sim/experiments/chain"
STATE = Path("/run/perhop-attack")  # sockets want short paths
NAME = "attack"
PROGRAM = "import sys; from perhop.cli import main; sys.argv[0] = 'perhop'; main()"


class NotSo(Exception):
    """A case cannot go on: what it waited for did not happen, or what it needs is not here."""


@dataclass
class Outcome:
    """What a case measured, and what did not hold; nothing: it passed."""

    figures: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def check(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.wrong.append(otherwise)


class Bench:
    """One case's network, processes and undoing; everything is gone when it is left."""

    def __init__(self) -> None:
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> Bench:
        os.environ["PERHOP_LIVE_STATE"] = str(STATE)
        network.down(NAME)
        return self

    def __exit__(self, *_: object) -> None:
        # A second Ctrl-C shall not leave half of it.
        was = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self._undo.close()
        finally:
            for number, handler in was.items():
                signal.signal(number, handler)

    def at_end(self, undo: Callable[..., Any], *words: Any) -> None:
        self._undo.callback(undo, *words)

    # ---- The network

    def up(self, hops: int, policy: str = "none", **more: Any) -> None:
        """A chain of hops + 1 nodes; all have their MAC."""
        self.at_end(network.down, NAME)
        network.up(make_plan(CHAIN, [f"topology.hops={hops}"], policy=policy, name=NAME, **more))

    def down(self) -> None:
        network.down(NAME)

    @property
    def folder(self) -> Path:
        return STATE / NAME

    def namespace(self, node: int) -> str:
        return f"perhop-{NAME}-{node}"

    def address(self, node: int, family: int = 4) -> str:
        found: str = network.read_state(NAME)["nodes"][node][f"ipv{family}"]
        return found

    def daemon(self, node: int) -> dict[str, Any]:
        """Its status. Raises PerhopError."""
        return messages.ask_node(self.folder / f"node-{node}.sock", {"command": "status"}, timeout_s=2)

    def pid(self, process: str) -> int:
        found: int = json.loads((self.folder / "processes.json").read_text())[process]["pid"]
        return found

    def is_up(self, node: int) -> bool:
        try:
            return bool(self.daemon(node)["mac_up"])
        except PerhopError:
            return False

    def reconfigure(self, node: int, **changes: Any) -> None:
        """Gives a daemon another configuration: it is killed, and the supervisor starts it with that."""
        path = self.folder / f"node-{node}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        self.restart(node)

    def restart(self, node: int) -> None:
        old = self.pid(f"node-{node}")
        os.kill(old, signal.SIGKILL)
        wait_until(lambda: self.pid(f"node-{node}") != old and self.is_up(node), 15, f"node {node} is up again")

    # ---- Programs

    def perhop(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def start(self, command: list[str], **more: Any) -> subprocess.Popen[str]:
        process = subprocess.Popen(command, text=True, **more)
        self.at_end(_end, process)
        return process

    def inside(self, node: int, *command: str) -> list[str]:
        return ["ip", "netns", "exec", self.namespace(node), *command]

    def run(self, node: int, *command: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.inside(node, *command), capture_output=True, text=True, timeout=timeout_s, check=False
        )

    def replies(self, node: int, address: str, count: int = 10) -> int:
        """How many of so many pings are answered."""
        said = self.run(node, "ping", "-n", "-q", "-i", "0.2", "-W", "2", "-c", str(count), address).stdout
        return next((int(line.split()[3]) for line in said.splitlines() if "packets transmitted" in line), 0)

    def answers(self, node: int, address: str, wait_s: int = 1) -> bool:
        return self.run(node, "ping", "-n", "-q", "-c", "1", "-W", str(wait_s), address).returncode == 0

    @contextlib.contextmanager
    def in_namespace(self, node: int) -> Iterator[None]:
        """Sockets that are opened within are of that node; this process alone is moved."""
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        clone_newnet = 0x4000_0000
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.namespace(node)}", os.O_RDONLY)
        try:
            if libc.setns(there, clone_newnet) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            yield
        finally:
            libc.setns(home, clone_newnet)
            os.close(home)
            os.close(there)

    def raw_socket(self, node: int, family: int) -> socket.socket:
        """Sends IP packets with any header from a node."""
        with self.in_namespace(node):
            if family == 4:
                opened = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
            else:
                opened = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.at_end(opened.close)
        return opened


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr, process.stdin):
        if stream is not None:
            stream.close()


def wait_until(holds: Callable[[], Any], timeout_s: float, what: str) -> float:
    """How long it took. Raises NotSo."""
    try:
        return waiting.wait_until(holds, timeout_s, what)
    except AssertionError as error:
        raise NotSo(str(error)) from None


# ---- Packets


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data[: len(data) // 2 * 2]))
    total += data[-1] << 8 if len(data) % 2 else 0
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip_packet(source: str, destination: str, protocol: int, payload: bytes, ttl: int = 64) -> bytes:
    """An IPv4 or IPv6 packet; the kernel gives a raw IPv4 one its checksum, the medium does not look at it."""
    here, there = ipaddress.ip_address(source).packed, ipaddress.ip_address(destination).packed
    if len(here) == 16:
        return struct.pack("!IHBB", 6 << 28, len(payload), protocol, ttl) + here + there + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, ttl, protocol, 0) + here + there
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def udp_packet(source: str, destination: str, port: int, payload: bytes) -> bytes:
    # Without a checksum: nobody listens there.
    return ip_packet(source, destination, 17, struct.pack("!HHHH", 4000, port, 8 + len(payload), 0) + payload)


def with_tcp_checksum(source: str, destination: str, segment: bytes) -> bytes:
    here, there = ipaddress.ip_address(source).packed, ipaddress.ip_address(destination).packed
    pseudo = here + there + struct.pack("!II", len(segment), 6)
    return segment[:16] + struct.pack("!H", checksum(pseudo + segment)) + segment[18:]


class Rogue:
    """Speaks to the medium as a node's daemon does, in its stead, and sends whatever it likes."""

    def __init__(self, bench: Bench, node: int) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        bench.at_end(self._socket.close)
        self._socket.settimeout(10)
        self._socket.connect(str(bench.folder / "air/air.sock"))
        self._socket.send(spec.AirHello(node=node).encode())
        welcome = spec.AirWelcome.decode(self._socket.recv(65536))
        if welcome.status != 0:
            raise NotSo(f"the medium refuses a rogue node: status {welcome.status}")
        self._credits = welcome.send_credits
        self._rate = welcome.data_rate
        self.completed = 0

    def send(self, receiver_mac: str, ip: bytes) -> None:
        """One packet as an MSDU without path header; waits for room."""
        while self._credits == 0:
            self._hear()
        head = spec.AirSend(rate=self._rate, receiver_address=int(receiver_mac.replace(":", ""), 16)).encode()
        ethertype = 0x86DD if ip[0] >> 4 == 6 else 0x0800
        self._socket.send(head + spec.LlcSnap(ethertype=ethertype).encode() + ip)
        self._credits -= 1

    def finish(self, sent: int) -> None:
        while self.completed < sent:
            self._hear()

    def close(self) -> None:
        self._socket.close()

    def _hear(self) -> None:
        message = self._socket.recv(65536)
        if not message:
            raise NotSo("the medium has ended the connection of the rogue node")
        if message[0] == spec.AirCompletion().kind:
            self._credits += 1
            self.completed += 1
