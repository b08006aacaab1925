# SPDX-License-Identifier: GPL-2.0-or-later
"""The modem's sockets: discovery over UDP, sessions over TCP, and a look at the node now and then."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import struct
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from perhop.dlep import wire
from perhop.dlep.neighbours import Tracker, defaults
from perhop.dlep.session import Destination, Metrics, ModemSession, State
from perhop.errors import PerhopError

# RFC 8175, section 14.1 (GTSM): what comes over one hop still has it.
HOP_LIMIT = 255
MOST_SESSIONS = 16
# A router that does not read is not waited for.
MOST_WAITING_BYTES = 1 << 20
GOODBYE_S = 1.0


@dataclass(frozen=True)
class ModemConfig:
    addresses: tuple[str, ...] = ("127.0.0.1",)  # where sessions are taken
    port: int = wire.PORT
    interface: str | None = None  # where routers may discover the modem; None: nowhere
    interval_s: float = 1.0  # between two looks at the node
    heartbeat_s: float = 1.0
    peer_type: str = "perhop"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


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
        self._sessions: dict[ModemSession, asyncio.StreamWriter] = {}

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Until it is cancelled; then the sessions are ended in good order. Raises PerhopError."""
        await self._look()
        servers = []
        try:
            for address in self.config.addresses:
                servers.append(await self._listen(address))
            discovery = self._open_discovery()
        except OSError as error:
            for server in servers:
                server.close()
            raise PerhopError(
                f"port {self.config.port} cannot be opened: {error.strerror or error}",
                "ports below 1024 need CAP_NET_BIND_SERVICE: run as root, or use --port; see also --listen",
            ) from error
        ready()
        try:
            while True:
                await asyncio.sleep(self.config.interval_s)
                await self._look()
        finally:
            loop = asyncio.get_running_loop()
            for receiver in discovery:
                loop.remove_reader(receiver)
                receiver.close()
            for server in servers:
                server.close()
            await self._say_goodbye()

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
        for session, writer in list(self._sessions.items()):
            session.set_destinations(_now_s(), self._destinations)
            self._flush(session, writer)

    # ---- Sessions

    async def _listen(self, address: str) -> asyncio.Server:
        family, scope = _family(address)
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _set_hop_limit(listener, family)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind((address.partition("%")[0], self.config.port, 0, scope))
        else:
            listener.bind((address, self.config.port))
        return await asyncio.start_server(self._serve, sock=listener)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")[0]
        if len(self._sessions) >= MOST_SESSIONS:
            self.counters["sessions refused"] += 1
            writer.close()
            return
        self.counters["sessions"] += 1
        session = ModemSession(_now_s(), self.config.peer_type, self._defaults, self.config.heartbeat_s)
        session.set_destinations(_now_s(), self._destinations)
        self._sessions[session] = writer
        known = False
        try:
            while session.state is not State.CLOSED:
                deadline_s = session.next_deadline()
                wait_s = None if deadline_s is None else max(0.0, deadline_s - _now_s())
                try:
                    data = await asyncio.wait_for(reader.read(65536), wait_s)
                except TimeoutError:
                    session.on_time(_now_s())
                else:
                    session.receive(_now_s(), data)
                if session.router and not known:
                    known = True
                    say(f"router {peer} ({session.router}): session")
                self._flush(session, writer)
        except (ConnectionError, OSError) as error:
            session.ended = session.ended or str(error)
        finally:
            del self._sessions[session]
            self.counters.update(session.counters)
            say(f"router {peer}: {session.ended}")
            with contextlib.suppress(ConnectionError, OSError):
                writer.close()
                await asyncio.wait_for(writer.wait_closed(), GOODBYE_S)

    def _flush(self, session: ModemSession, writer: asyncio.StreamWriter) -> None:
        output = session.take_output()
        if output:
            writer.write(output)
        if writer.transport.get_write_buffer_size() > MOST_WAITING_BYTES:
            self.counters["routers that do not read"] += 1
            session.state = State.CLOSED
            session.ended = "the router does not read"
            writer.transport.abort()

    async def _say_goodbye(self) -> None:
        for session, writer in list(self._sessions.items()):
            session.terminate(_now_s(), wire.Status.SHUTTING_DOWN, "the modem is shut down")
            self._flush(session, writer)
        deadline_s = _now_s() + GOODBYE_S
        while self._sessions and _now_s() < deadline_s:
            await asyncio.sleep(0.01)

    # ---- Discovery

    def _open_discovery(self) -> list[socket.socket]:
        """Sockets that hear routers' Peer Discovery on the interface; none without one."""
        if self.config.interface is None:
            return []
        index = socket.if_nametoindex(self.config.interface)
        receivers = []
        for family in {_family(address)[0] for address in self.config.addresses}:
            receiver = socket.socket(family, socket.SOCK_DGRAM)
            receivers.append(receiver)
            receiver.setblocking(False)
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self.config.interface.encode())
            _set_hop_limit(receiver, family)
            if family == socket.AF_INET6:
                receiver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                receiver.bind(("::", wire.PORT))
                group = socket.inet_pton(family, wire.MULTICAST_IPV6) + struct.pack("@I", index)
                receiver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
            else:
                receiver.bind(("", wire.PORT))
                group = struct.pack("=4s4si", socket.inet_aton(wire.MULTICAST_IPV4), b"\0" * 4, index)
                receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
            asyncio.get_running_loop().add_reader(receiver, self._on_signal, receiver, family)
        return receivers

    def _on_signal(self, receiver: socket.socket, family: int) -> None:
        try:
            datagram, sender = receiver.recvfrom(65535)
        except OSError:
            return
        try:
            signal = wire.parse_signal(datagram)
        except wire.WireError:
            self.counters["signals ignored"] += 1
            return
        if signal.kind != wire.Signal.PEER_DISCOVERY:
            self.counters["signals ignored"] += 1
            return
        self.counters["discoveries"] += 1
        points = [
            wire.connection_point(ipaddress.ip_address(address.partition("%")[0]).packed, self.config.port)
            for address in self.config.addresses
            if _family(address)[0] == family and not ipaddress.ip_address(address.partition("%")[0]).is_unspecified
        ]
        # To the port that asked: a router need not listen at the well-known one.
        offer = wire.encode_signal(wire.Signal.PEER_OFFER, [wire.peer_type(self.config.peer_type), *points])
        with contextlib.suppress(OSError):
            receiver.sendto(offer, sender)


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
    if family == socket.AF_INET6:
        endpoint.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, HOP_LIMIT)
    else:
        endpoint.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, HOP_LIMIT)
