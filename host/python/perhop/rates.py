# SPDX-License-Identifier: GPL-2.0-or-later
"""What an application may send: the rate that EXACT allows a UDP flow, told by the node's daemon.

    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("10.0.0.4", 5004))
    with perhop.rates.follow(sock, wanted_bps=200_000) as flow:
        while flow.wait_for_room():
            sock.send(frame(bits=flow.payload_bps(FRAME_BYTES) * FRAME_S))

The flow is paced from then on, whatever the application does; one that sends more than the rate loses packets when
there is no room. Rates are of IP packets, b/s. The messages are those of host/node/rate_server.hpp.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perhop.errors import PerhopError

UDP_HEADER_BYTES = 8
IP_HEADER_BYTES = {socket.AF_INET: 20, socket.AF_INET6: 40}
MOST_MESSAGE_BYTES = 65536


@dataclass(frozen=True)
class Rate:
    """What the daemon last said of a flow."""

    reported: bool  # the other end has told of the path; before that, two packets go and ask
    rate_bps: int  # what the flow may send now, never more than 1.1 times what it wants
    path_bps: int  # what the path's routers allow it
    hops: int
    silent_router: bool  # a router without EXACT: the rate is an upper bound that is approached from below
    full: bool  # no room until half of the queue has gone
    waiting_packets: int
    room_packets: int
    window_packets: int
    unacknowledged_packets: int
    round_trip_us: int
    sent_packets: int
    refused_packets: int
    reports: int
    unreported_packets: int  # counted as lost, as no report has come of them or later ones
    halvings: int
    reroutes: int  # to another next hop, with a report from the new path
    reroute_us: int  # of the last one: from the first packet on the new path to the first report of it


class NoRates(PerhopError):
    """There is no daemon with EXACT, or it has ended."""


def socket_path() -> Path:
    """Of the daemon on this node: PERHOP_RATES, as `perhop live exec` sets it, or /run/perhop/rates.sock."""
    return Path(os.environ.get("PERHOP_RATES", "/run/perhop/rates.sock"))


def follow(
    sock: socket.socket,
    wanted_bps: float | None = None,
    path: Path | None = None,
    queue_packets: int | None = None,
) -> Flow:
    """Make the flow of a connected UDP socket one of EXACT. Raises NoRates, PerhopError.

    `wanted_bps` is what the application would send at most; without it, as much as there is. A share that is not wanted
    goes to others. The daemon asks for a tenth more, so that packets that were late can catch up.
    `queue_packets` is how many may wait in the daemon, as SO_SNDBUF is for TCP: few where late ones are worth nothing.
    """
    if sock.type != socket.SOCK_DGRAM or sock.family not in IP_HEADER_BYTES:
        raise PerhopError("rates are told of UDP sockets", "give a socket of AF_INET or AF_INET6 and SOCK_DGRAM")
    try:
        destination = sock.getpeername()
    except OSError as error:
        raise PerhopError("the socket is not connected", "call connect() before follow()") from error
    source = sock.getsockname()
    header_bytes = IP_HEADER_BYTES[sock.family]
    return Flow(source[:2], destination[:2], wanted_bps, path or socket_path(), header_bytes, queue_packets)


class Flow:
    """A flow that the daemon tells of until it is closed. Not thread safe."""

    def __init__(
        self,
        source: tuple[str, int],
        destination: tuple[str, int],
        wanted_bps: float | None,
        path: Path,
        ip_header_bytes: int,
        queue_packets: int | None = None,
    ) -> None:
        self._overhead_bytes = ip_header_bytes + UDP_HEADER_BYTES
        self._follow = {
            "source": source[0],
            "source_port": source[1],
            "destination": destination[0],
            "destination_port": destination[1],
        }
        self._wanted_bps = wanted_bps
        self._queue_packets = queue_packets
        self._path = path
        self._connection: socket.socket | None = None
        self._rate = self._connect()

    def __enter__(self) -> Flow:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The flow is an ordinary one again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def fileno(self) -> int:
        """Readable when the rate has changed; then look at `rate`."""
        if self._connection is None:
            raise NoRates("the flow is closed", "follow it again")
        return self._connection.fileno()

    @property
    def rate(self) -> Rate:
        """The newest that the daemon has said. Never blocks."""
        while (rate := self._receive(0)) is not None:
            self._rate = rate
        return self._rate

    def ask(self) -> Rate:
        """The same with all counters as they are now: one message to the daemon and back."""
        return self._exchange({})

    def want(self, wanted_bps: float | None) -> Rate:
        """Change what the application would send at most."""
        self._wanted_bps = wanted_bps
        return self._exchange({"wanted_bps": wanted_bps})

    def wait(self, timeout_s: float | None = None) -> Rate | None:
        """Wait until the daemon says something new; None when it has not within the time."""
        rate = self._receive(timeout_s)
        if rate is None:
            return None
        self._rate = rate
        return self.rate

    def wait_for_room(self, timeout_s: float | None = None) -> bool:
        """Back-pressure: wait until a packet finds room. @return False when there is none after the time"""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while self.rate.full:
            left_s = None if deadline_s is None else deadline_s - time.monotonic()
            if left_s is not None and left_s <= 0:
                return False
            self.wait(left_s)
        return True

    def payload_bps(self, payload_bytes: int) -> float:
        """The rate of UDP payload in packets with so much of it."""
        return self.rate.rate_bps * payload_bytes / (payload_bytes + self._overhead_bytes)

    def _connect(self) -> Rate:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(str(self._path))
        except OSError as error:
            connection.close()
            raise NoRates(
                f"{self._path} does not answer: {error.strerror or error}",
                "start the node's daemon with EXACT (`perhop live up FILE --exact m2`), and set PERHOP_RATES",
            ) from error
        self._connection = connection
        message = {"follow": self._follow, "wanted_bps": self._wanted_bps, "queue_packets": self._queue_packets}
        return self._exchange(message)

    def _exchange(self, message: dict[str, Any]) -> Rate:
        if self._connection is None:
            raise NoRates("the flow is closed", "follow it again")
        while self._receive(0) is not None:
            pass  # what was said before is not the answer
        self._connection.send(json.dumps(message).encode())
        rate = self._receive(5)
        if rate is None:
            raise NoRates(f"{self._path} does not answer", "see `perhop live status`")
        self._rate = rate
        return rate

    def _receive(self, timeout_s: float | None) -> Rate | None:
        if self._connection is None:
            raise NoRates("the flow is closed", "follow it again")
        readable, _, _ = select.select([self._connection], [], [], timeout_s)
        if not readable:
            return None
        text = b""
        with contextlib.suppress(ConnectionError):
            text = self._connection.recv(MOST_MESSAGE_BYTES)
        if not text:
            self.close()
            raise NoRates(f"{self._path} has ended the connection", "follow the flow again when the daemon is back")
        said = json.loads(text)
        if not said.pop("ok"):
            raise PerhopError(f"the daemon refuses: {said.get('error')}", "mend the call")
        return Rate(**{name: said[name] for name in Rate.__dataclass_fields__})
