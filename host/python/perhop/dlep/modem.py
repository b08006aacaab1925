# SPDX-License-Identifier: GPL-2.0-or-later
"""The modem's sockets: discovery over UDP, sessions over TCP, and a look at the node now and then.

Whoever is on the router's network can reach these sockets. What comes from farther than one hop, or from an address
that is not on the list of routers, is dropped before anything is kept for it. An address has one session at most, and
a connection that is no session yet gives way to the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import socket
import struct
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from perhop.dlep import wire
from perhop.dlep.log import LimitedLog, Limiter, say
from perhop.dlep.neighbours import Tracker, defaults
from perhop.dlep.session import Destination, Metrics, ModemSession, State
from perhop.errors import PerhopError

# GTSM (RFC 8175, section 14.1; RFC 5082): it is sent with this, and what came over one hop still has it.
HOP_LIMIT = 255
# linux/in.h, linux/in6.h; the module socket has no names for them.
IP_RECVTTL, IP_MINTTL, IPV6_MINHOPCOUNT = 12, 21, 73
MOST_SESSIONS = 16
# Connections that wait to be taken: a second of a flood of them.
BACKLOG = 1024
MOST_CONNECTIONS_AT_ONCE = 64
# Errors of accept() that the next attempt meets, too, and how long none is made.
NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
REST_S = 1.0
# So much of what one router says before the others are heard.
READ_BYTES = 4096
# A router that does not read is not waited for.
MOST_WAITING_BYTES = 1 << 20
MOST_OFFERS_PER_S = 10
MOST_LINES_PER_S = 10
GOODBYE_S = 1.0


@dataclass(frozen=True)
class ModemConfig:
    addresses: tuple[str, ...] = ("127.0.0.1",)  # where sessions are taken
    port: int = wire.PORT
    interface: str | None = None  # where routers may discover the modem; None: nowhere
    interval_s: float = 1.0  # between two looks at the node
    heartbeat_s: float = 1.0
    peer_type: str = "perhop"
    routers: tuple[str, ...] = ()  # addresses and networks of routers; none: any
    one_hop_only: bool = True  # GTSM


def networks(texts: tuple[str, ...]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Of addresses and prefixes. Raises PerhopError."""
    found = []
    for text in texts:
        try:
            found.append(ipaddress.ip_network(text, strict=False))
        except ValueError as error:
            raise PerhopError(
                f"routers: {text!r} is no address or network", "write 192.0.2.2, 192.0.2.0/28 or fe80::2"
            ) from error
    return found


@dataclass(eq=False)
class _Line:
    """A connection that has been taken, and its session."""

    peer: str
    session: ModemSession
    writer: asyncio.StreamWriter | None = None  # not at first
    task: asyncio.Task[None] | None = None

    def give_up(self, why: str) -> None:
        self.session.abandon(why)
        if self.task is not None:
            self.task.cancel()


@dataclass
class Modem:
    config: ModemConfig
    probe: Callable[[], dict[str, Any]]  # blocks; raises PerhopError
    counters: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._tracker = Tracker()
        self._destinations: dict[bytes, Destination] = {}
        self._defaults = Metrics(0, 0, 0)
        self._silent = False
        self._routers = networks(self.config.routers)
        self._listeners: list[socket.socket] = []
        self._discovery: list[socket.socket] = []
        self._lines: dict[_Line, None] = {}  # the oldest first
        self._offers = Limiter(MOST_OFFERS_PER_S)
        self._log = LimitedLog(MOST_LINES_PER_S)

    def open(self) -> None:
        """Opens the sockets: what of it needs privileges is done then. Raises PerhopError."""
        try:
            for address in self.config.addresses:
                self._listeners.append(self._listen(address))
            self._open_discovery()
        except OSError as error:
            self._close_sockets()
            raise PerhopError(
                f"port {self.config.port} cannot be opened: {error.strerror or error}",
                "ports below 1024 need CAP_NET_BIND_SERVICE: run as root, or use --port; see also --listen",
            ) from error

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Until it is cancelled; then the sessions are ended in good order. Raises PerhopError."""
        if not self._listeners:
            self.open()
        await self._look()
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            loop.add_reader(listener, self._take_connections, listener)
        for receiver in self._discovery:
            loop.add_reader(receiver, self._on_signal, receiver)
        ready()
        try:
            while True:
                await asyncio.sleep(self.config.interval_s)
                await self._look()
        finally:
            for endpoint in (*self._listeners, *self._discovery):
                loop.remove_reader(endpoint)
            self._close_sockets()
            await self._say_goodbye()

    def _close_sockets(self) -> None:
        for endpoint in (*self._listeners, *self._discovery):
            endpoint.close()
        self._listeners, self._discovery = [], []

    def _say(self, text: str) -> None:
        """A line about somebody who may make many."""
        self._log.say(_now_s(), text)

    # ---- The node

    async def _look(self) -> None:
        try:
            told = await asyncio.to_thread(self.probe)
        except PerhopError as error:
            if not self._silent:
                say(f"the node does not answer, and has no neighbours until it does: {error.problem}")
            self._silent = True
            self._destinations = {}
        else:
            self._silent = False
            self._destinations = self._tracker.destinations(told)
            self._defaults = defaults(told)
        for line in list(self._lines):
            line.session.set_destinations(_now_s(), self._destinations)
            self._flush(line)

    # ---- Sessions

    def _listen(self, address: str) -> socket.socket:
        family, scope = _family(address)
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setblocking(False)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _set_hop_limit(listener, family)
            if self.config.one_hop_only:
                # The kernel drops what has come farther, the first SYN included; connections inherit it.
                level, option = _BY_FAMILY[family].least_hop_limit
                listener.setsockopt(level, option, HOP_LIMIT)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind((address.partition("%")[0], self.config.port, 0, scope))
            else:
                listener.bind((address, self.config.port))
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
        return listener

    def _is_router(self, peer: str) -> bool:
        address = ipaddress.ip_address(peer.partition("%")[0])
        return not self._routers or any(address in network for network in self._routers)

    def _take_connections(self, listener: socket.socket) -> None:
        for _ in range(MOST_CONNECTIONS_AT_ONCE):
            try:
                connection, address = listener.accept()
            except OSError as error:
                if error.errno in NO_ROOM:
                    self._rest(listener)
                return
            refusal = self._refusal(address[0])
            if refusal is not None:
                self.counters[f"connections refused: {refusal}"] += 1
                # With a reset: nothing of it stays, neither here nor in the kernel.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
                self._say(f"{address[0]} is refused: {refusal}")
                continue
            self.counters["sessions"] += 1
            session = ModemSession(_now_s(), self.config.peer_type, self._defaults, self.config.heartbeat_s)
            session.set_destinations(_now_s(), self._destinations)
            line = _Line(address[0], session)
            self._lines[line] = None
            line.task = asyncio.create_task(self._serve(line, connection))
            # A task may be given up before its first step, and then nobody else closes it.
            line.task.add_done_callback(lambda _, line=line, left=connection: None if line.writer else left.close())

    def _rest(self, listener: socket.socket) -> None:
        """A listener that cannot accept stays readable: it is left alone for a moment, or the loop would spin."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(listener)
        self._say("accepts nobody: no descriptor is left")

        def resume() -> None:
            if listener.fileno() >= 0:
                loop.add_reader(listener, self._take_connections, listener)

        loop.call_later(REST_S, resume)

    def _refusal(self, peer: str) -> str | None:
        """Why nobody can come from there now; None: there is room, made where it must be."""
        if not self._is_router(peer):
            return "no router of ours"
        for line in list(self._lines):
            if line.peer == peer:
                if line.session.state is State.IN_SESSION:
                    return "it has a session"
                self._drop(line, "the router began anew")
        if len(self._lines) >= MOST_SESSIONS:
            half_open = [line for line in self._lines if line.session.state is not State.IN_SESSION]
            if not half_open:
                return f"there are {MOST_SESSIONS} sessions"
            self._drop(half_open[0], "others are waiting")
        return None

    def _drop(self, line: _Line, why: str) -> None:
        self.counters["half-open connections dropped"] += 1
        del self._lines[line]
        line.give_up(why)

    async def _serve(self, line: _Line, connection: socket.socket) -> None:
        session, known = line.session, False
        try:
            reader, writer = await asyncio.open_connection(sock=connection)
            line.writer = writer
            while session.state is not State.CLOSED:
                deadline_s = session.next_deadline()
                wait_s = None if deadline_s is None else max(0.0, deadline_s - _now_s())
                try:
                    data = await asyncio.wait_for(reader.read(READ_BYTES), wait_s)
                except TimeoutError:
                    session.on_time(_now_s())
                else:
                    session.receive(_now_s(), data)
                if session.router and not known:
                    known = True
                    say(f"router {line.peer} ({session.router}): session")
                self._flush(line)
        except OSError as error:
            session.ended = session.ended or str(error)
        finally:
            self._lines.pop(line, None)
            self.counters.update(session.counters)
            (say if known else self._say)(f"router {line.peer}: {session.ended}")
            if line.writer is not None:
                line.writer.close()
                try:
                    await asyncio.wait_for(line.writer.wait_closed(), GOODBYE_S)
                except (OSError, TimeoutError):
                    line.writer.transport.abort()

    def _flush(self, line: _Line) -> None:
        if line.writer is None:
            return
        output = line.session.take_output()
        if output:
            line.writer.write(output)
        if line.writer.transport.get_write_buffer_size() > MOST_WAITING_BYTES:
            self.counters["routers that do not read"] += 1
            line.session.abandon("the router does not read")
            line.writer.transport.abort()

    async def _say_goodbye(self) -> None:
        for line in list(self._lines):
            if line.session.state is State.INITIALIZATION:
                line.give_up("the modem is shut down")
            line.session.terminate(_now_s(), wire.Status.SHUTTING_DOWN, "the modem is shut down")
            self._flush(line)
        deadline_s = _now_s() + GOODBYE_S
        while self._lines and _now_s() < deadline_s:
            await asyncio.sleep(0.01)

    # ---- Discovery

    def _open_discovery(self) -> None:
        """Sockets that hear routers' Peer Discovery on the interface; none without one."""
        if self.config.interface is None:
            return
        index = socket.if_nametoindex(self.config.interface)
        for family in {_family(address)[0] for address in self.config.addresses}:
            receiver = socket.socket(family, socket.SOCK_DGRAM)
            self._discovery.append(receiver)
            receiver.setblocking(False)
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self.config.interface.encode())
            _set_hop_limit(receiver, family)
            receiver.setsockopt(*_BY_FAMILY[family].tell_hop_limit, 1)
            if family == socket.AF_INET6:
                receiver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                receiver.bind(("::", wire.PORT))
                group = socket.inet_pton(family, wire.MULTICAST_IPV6) + struct.pack("@I", index)
                receiver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
            else:
                receiver.bind(("", wire.PORT))
                group = struct.pack("=4s4si", socket.inet_aton(wire.MULTICAST_IPV4), b"\0" * 4, index)
                receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)

    def _on_signal(self, receiver: socket.socket) -> None:
        try:
            datagram, told, _, sender = receiver.recvmsg(65535, socket.CMSG_SPACE(4))
        except OSError:
            return
        answer = self._answer_to(receiver.family, datagram, _told_hop_limit(receiver.family, told), sender[0])
        if answer is not None:
            # To the port that asked: a router need not listen at the well-known one.
            with contextlib.suppress(OSError):
                receiver.sendto(answer, sender)

    def _answer_to(self, family: int, datagram: bytes, hop_limit: int | None, peer: str) -> bytes | None:
        """The Peer Offer for a Peer Discovery that may have one."""
        if self.config.one_hop_only and hop_limit != HOP_LIMIT:
            self.counters["signals from afar"] += 1
            return None
        if not self._is_router(peer):
            self.counters["signals of strangers"] += 1
            return None
        try:
            signal = wire.parse_signal(datagram)
        except wire.WireError:
            self.counters["signals ignored"] += 1
            return None
        if signal.kind != wire.Signal.PEER_DISCOVERY:
            self.counters["signals ignored"] += 1
            return None
        self.counters["discoveries"] += 1
        if not self._offers.allows(_now_s()):
            self.counters["offers withheld"] += 1
            return None
        points = [
            wire.connection_point(ipaddress.ip_address(address.partition("%")[0]).packed, self.config.port)
            for address in self.config.addresses
            if _family(address)[0] == family and not ipaddress.ip_address(address.partition("%")[0]).is_unspecified
        ]
        return wire.encode_signal(wire.Signal.PEER_OFFER, [wire.peer_type(self.config.peer_type), *points])


@dataclass(frozen=True)
class _HopLimitOptions:
    """Socket options (level, name) about the hop limit, which IPv4 calls time to live."""

    send: tuple[int, int]
    least_hop_limit: tuple[int, int]  # of a connection
    tell_hop_limit: tuple[int, int]  # of a datagram
    told_as: tuple[int, int]


_BY_FAMILY: dict[int, _HopLimitOptions] = {
    socket.AF_INET: _HopLimitOptions(
        send=(socket.IPPROTO_IP, socket.IP_TTL),
        least_hop_limit=(socket.IPPROTO_IP, IP_MINTTL),
        tell_hop_limit=(socket.IPPROTO_IP, IP_RECVTTL),
        told_as=(socket.IPPROTO_IP, socket.IP_TTL),
    ),
    socket.AF_INET6: _HopLimitOptions(
        send=(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS),
        least_hop_limit=(socket.IPPROTO_IPV6, IPV6_MINHOPCOUNT),
        tell_hop_limit=(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT),
        told_as=(socket.IPPROTO_IPV6, socket.IPV6_HOPLIMIT),
    ),
}


def _told_hop_limit(family: int, told: list[tuple[int, int, bytes]]) -> int | None:
    """The hop limit that a datagram came with."""
    wanted = _BY_FAMILY[family].told_as
    return next((int.from_bytes(data, sys.byteorder) for *kind, data in told if tuple(kind) == wanted), None)


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _family(address: str) -> tuple[int, int]:
    """The family of an address and its scope: fe80::1%eth0. Raises PerhopError."""
    text, _, interface = address.partition("%")
    try:
        version = ipaddress.ip_address(text).version
        scope = socket.if_nametoindex(interface) if interface else 0
    except (ValueError, OSError) as error:
        raise PerhopError(
            f"{address!r} is no address of this host", "write 192.0.2.1, 2001:db8::1 or fe80::1%eth0"
        ) from error
    return (socket.AF_INET6 if version == 6 else socket.AF_INET), scope


def _set_hop_limit(endpoint: socket.socket, family: int) -> None:
    endpoint.setsockopt(*_BY_FAMILY[family].send, HOP_LIMIT)
