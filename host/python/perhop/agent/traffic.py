# SPDX-License-Identifier: GPL-2.0-or-later
"""Flows between nodes: each end is a thread that counts. Times are CLOCK_MONOTONIC of this host, in ns.

A flow's packets and ports are those of the simulator (sim/ns3/flow.h): TCP in bulk, UDP at a constant rate, UDP at the
rate that EXACT allows.
"""

from __future__ import annotations

import array
import contextlib
import select
import socket
import struct
import threading
import time
from typing import Any

from perhop.agent import rates, tcp_info

# TCP_INFO is read so often; a round trip of the kernel's is smoothed over eight of its samples anyway.
LOOK_S = 0.05
# Of a UDP packet: its number, and when it was sent by the sender's clock.
HEAD = struct.Struct("!IQ")
CHUNK = bytes(65536)
SECOND_NS = 1_000_000_000
CONNECT_S = 5.0


def sleep_until(at_ns: int, stop: threading.Event) -> bool:
    """Returns whether that moment came before somebody said stop."""
    while True:
        left_s = (at_ns - time.monotonic_ns()) / SECOND_NS
        if left_s <= 0:
            return True
        if stop.wait(left_s):
            return False


class End(threading.Thread):
    """One end of a flow. `counters` are sums since the start; `problem` says why it ended early."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self.told = told
        self.stopping = threading.Event()
        self.problem = ""
        self.ready = threading.Event()

    def run(self) -> None:
        try:
            self.work()
        except OSError as error:
            if not self.stopping.is_set():
                self.problem = str(error)
        finally:
            self.ready.set()

    def work(self) -> None:
        raise AssertionError("each kind of end has its own")

    def counters(self) -> dict[str, Any]:
        return {}

    def begin_measuring(self) -> None:
        """The warm-up is over."""

    def summary(self) -> dict[str, Any]:
        """What sums do not tell, of the measured time."""
        return {}

    def stop(self) -> None:
        self.stopping.set()

    @property
    def over_ns(self) -> int:
        return int(self.told["stop_ns"])

    def is_over(self) -> bool:
        return self.stopping.is_set() or time.monotonic_ns() >= self.over_ns


def _quantile(values: Any, share: float) -> float | None:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


class TcpSender(End):
    """A bulk transfer: the socket is always full."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told)
        self.sums = {"rtt_us": 0, "window_packets": 0.0, "looks": 0}
        self.last: dict[str, int] = {}
        self.round_trips_us = array.array("L")
        self.socket: socket.socket | None = None
        self.rate: dict[str, Any] | None = None

    def work(self) -> None:
        self.ready.set()
        if not sleep_until(self.told["start_ns"], self.stopping):
            return
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.choose_tcp(sock)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.told["mss_bytes"])
            # What waits in the socket at the end is nobody's: the connection is reset.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.bind((self.told["source"], self.told["source_port"]))
            sock.settimeout(max(CONNECT_S, (self.over_ns - time.monotonic_ns()) / SECOND_NS))
            sock.connect((self.told["destination"], self.told["destination_port"]))
            sock.setblocking(False)
            self.socket = sock
            try:
                with rates.follow(sock, self.told) if self.told["follows_rate"] else contextlib.nullcontext() as told:
                    while not self.is_over():
                        readable, writable, _ = select.select([told] if told else [], [sock], [], LOOK_S)
                        if writable:
                            with contextlib.suppress(BlockingIOError):
                                sock.send(CHUNK)
                        if told and readable:
                            self.hold_rate(sock, rates.hear(told))
            finally:
                self.look()
                self.socket = None

    def hold_rate(self, sock: socket.socket, said: dict[str, Any]) -> None:
        """TCP sends no faster than EXACT allows, once the path has told; as sim/kernel/flow_end holds its own."""
        if not said["reported"]:
            return
        self.rate = rates.of(said)
        payload_bytes = tcp_info.read(sock)["snd_mss_bytes"]
        paced = said["rate_bps"] / 8 * payload_bytes / (payload_bytes + rates.TCP_HEADER_BYTES)
        sock.setsockopt(socket.SOL_SOCKET, rates.SO_MAX_PACING_RATE, struct.pack("Q", int(paced)))

    def choose_tcp(self, sock: socket.socket) -> None:
        name = self.told["congestion_control"]
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError as error:
            raise OSError(f"this kernel has no TCP {name} ({error}); try: modprobe tcp_{name}") from None

    def look(self) -> None:
        """Called every LOOK_S."""
        sock = self.socket
        if sock is None:
            return
        try:
            found = tcp_info.read(sock)
        except OSError:
            return
        if not found["rtt_us"]:
            return
        # TCP sends by the smaller of the two.
        window = float(found["cwnd_packets"])
        if "window_bytes" in found and found["snd_mss_bytes"]:
            window = min(window, found["window_bytes"] / found["snd_mss_bytes"])
        self.last = found
        self.round_trips_us.append(found["rtt_us"])
        self.sums = {
            "rtt_us": self.sums["rtt_us"] + found["rtt_us"],
            "window_packets": self.sums["window_packets"] + window,
            "looks": self.sums["looks"] + 1,
        }

    def counters(self) -> dict[str, Any]:
        self.look()
        known = ("acked_bytes", "retransmissions", "timeouts")
        return {**self.sums, **{name: self.last[name] for name in known if name in self.last}, **(self.rate or {})}

    def begin_measuring(self) -> None:
        self.round_trips_us = array.array("L")

    def summary(self) -> dict[str, Any]:
        tail = _quantile(self.round_trips_us, 0.95)
        return {} if tail is None else {"rtt_p95_ms": tail / 1000}


class TcpReceiver(End):
    """Takes whatever comes."""

    received_bytes = 0

    def work(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.told["mss_bytes"])
            listener.bind((self.told["destination"], self.told["destination_port"]))
            listener.listen(1)
            listener.settimeout(0.2)
            self.ready.set()
            while not self.stopping.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                with connection:
                    connection.settimeout(0.2)
                    self._hold_window(connection)
                    self._take(connection)

    def _hold_window(self, connection: socket.socket) -> None:
        """As sim/kernel/flow_end does, which says why."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, self.told["window_bytes"])

    def _take(self, connection: socket.socket) -> None:
        while not self.stopping.is_set():
            try:
                data = connection.recv(1 << 18)
            except TimeoutError:
                continue
            except ConnectionResetError:
                return
            if not data:
                return
            self.received_bytes += len(data)
            self._hold_window(connection)

    def counters(self) -> dict[str, Any]:
        return {"received_bytes": self.received_bytes}


class UdpSender(End):
    """Packets of one size at a constant rate, some at once."""

    sent = 0
    rate: dict[str, Any] | None = None

    def work(self) -> None:
        self.ready.set()
        if not sleep_until(self.told["start_ns"], self.stopping):
            return
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((self.told["source"], self.told["source_port"]))
            sock.connect((self.told["destination"], self.told["destination_port"]))
            self.send_all(sock)

    def send_all(self, sock: socket.socket) -> None:
        burst = self.told["burst_packets"]
        period_ns = burst * self.told["payload_bytes"] * 8 * SECOND_NS / self.told["rate_bps"]
        number = 0
        while not self.is_over():
            at_ns = self.told["start_ns"] + int(number * period_ns)
            if at_ns >= self.over_ns or not sleep_until(at_ns, self.stopping):
                return
            for _ in range(burst):
                self.send_one(sock)
            number += 1

    def send_one(self, sock: socket.socket) -> None:
        head = HEAD.pack(self.sent & 0xFFFFFFFF, time.monotonic_ns())
        # An ICMP error of an earlier packet, or no room: lost, as on any path.
        with contextlib.suppress(ConnectionRefusedError, BlockingIOError):
            sock.send(head + bytes(self.told["payload_bytes"] - HEAD.size))
        self.sent += 1

    def counters(self) -> dict[str, Any]:
        return {"sent_packets": self.sent, **(self.rate or {})}


class ExactSender(UdpSender):
    """As much as EXACT allows, asked of the node's daemon over its rates socket (host/node/rate_server.hpp).

    The daemon's queue never runs empty, and refuses nothing.
    """

    def send_all(self, sock: socket.socket) -> None:
        with rates.follow(sock, self.told) as told:
            said = self._hear(told)
            before = self._taken(said)
            while not self.is_over():
                if not said["full"]:
                    # What the daemon has not yet taken out of its interface finds its place in the same queue.
                    under_way = self.sent - (self._taken(said) - before)
                    for _ in range(said["room_packets"] - under_way):
                        self.send_one(sock)
                readable, _, _ = select.select([told], [], [], LOOK_S)
                if not readable:
                    told.send(b"{}")
                said = self._hear(told)

    @staticmethod
    def _taken(said: dict[str, Any]) -> int:
        """Packets of the flow that the daemon has seen."""
        return int(said["sent_packets"] + said["waiting_packets"] + said["refused_packets"])

    def _hear(self, told: socket.socket) -> dict[str, Any]:
        said = rates.hear(told)
        self.rate = rates.of(said)
        return said


class UdpReceiver(End):
    """Counts packets, and how long they took: its clock less the sender's is told as `ahead_ns`."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told)
        self.sums = {"delivered_packets": 0, "received_bytes": 0, "delay_us": 0.0}
        self.delays_us = array.array("d")

    def work(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            sock.bind((self.told["destination"], self.told["destination_port"]))
            sock.settimeout(0.2)
            self.ready.set()
            while not self.stopping.is_set():
                try:
                    data = sock.recv(1 << 16)
                except TimeoutError:
                    continue
                if len(data) < HEAD.size:
                    continue
                _, sent_ns = HEAD.unpack_from(data)
                delay_us = (time.monotonic_ns() - self.told["ahead_ns"] - sent_ns) / 1000
                self.delays_us.append(delay_us)
                self.sums = {
                    "delivered_packets": self.sums["delivered_packets"] + 1,
                    "received_bytes": self.sums["received_bytes"] + len(data),
                    "delay_us": self.sums["delay_us"] + delay_us,
                }

    def counters(self) -> dict[str, Any]:
        return dict(self.sums)

    def begin_measuring(self) -> None:
        self.delays_us = array.array("d")

    def summary(self) -> dict[str, Any]:
        tail = _quantile(self.delays_us, 0.95)
        return {} if tail is None else {"delay_p95_ms": tail / 1000}


ENDS = {
    ("tcp", "send"): TcpSender,
    ("tcp", "receive"): TcpReceiver,
    ("cbr", "send"): UdpSender,
    ("cbr", "receive"): UdpReceiver,
    ("exact", "send"): ExactSender,
    ("exact", "receive"): UdpReceiver,
}
