# SPDX-License-Identifier: GPL-2.0-or-later
"""An HTTP server for scrapes that cannot be held up: connections are bounded in number and in time."""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

MOST_CONNECTIONS = 32
# From the connection to the end of the answer. A scrape of many nodes that do not answer takes some seconds.
MOST_S = 10.0
# Without a byte.
SILENCE_S = 5.0


@dataclass
class _Visit:
    since_s: float
    asked: bool = False  # the whole request is there


class Server(ThreadingMixIn, WSGIServer):
    """A thread a connection, MOST_CONNECTIONS of them: beyond that the oldest that has not asked yet gives way."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: str, port: int, application: Callable[..., Any]) -> None:
        infos = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        self.address_family, _, _, _, place = infos[0]
        self._visits: dict[socket.socket, _Visit] = {}
        self._lock = threading.Lock()
        super().__init__(place[:2], _Handler)
        self.set_app(application)

    def server_bind(self) -> None:
        """Without WSGIServer's question to a name server for the name of this host."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[:2]
        self.setup_environ()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        with self._lock:
            if len(self._visits) >= MOST_CONNECTIONS:
                waiting = next((each for each, visit in self._visits.items() if not visit.asked), None)
                if waiting is None:
                    return False
                self._end(waiting)
            self._visits[request] = _Visit(time.monotonic())
        return True

    def service_actions(self) -> None:
        """Called by serve_forever() every half a second, and after each connection."""
        with self._lock:
            late_s = time.monotonic() - MOST_S
            for request in [request for request, visit in self._visits.items() if visit.since_s < late_s]:
                self._end(request)

    def has_asked(self, request: socket.socket) -> None:
        with self._lock:
            if request in self._visits:
                self._visits[request].asked = True

    def _end(self, request: socket.socket) -> None:
        """Its thread reads the end of the connection, and ends."""
        del self._visits[request]
        try:
            request.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._visits.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away or took too long is not worth a word."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(WSGIRequestHandler):
    timeout = SILENCE_S

    def parse_request(self) -> bool:
        understood = super().parse_request()
        if understood:
            self.server.has_asked(self.connection)  # type: ignore[attr-defined]
        return understood

    def address_string(self) -> str:
        """Without a question to a name server."""
        return str(self.client_address[0])

    def log_message(self, format: str, *args: Any) -> None:
        """Scrapes are not logged."""


def serve(server: Server, ready: Callable[[], None]) -> None:
    """Until SIGINT or SIGTERM."""
    # Before there are threads, which inherit it.
    signal.pthread_sigmask(signal.SIG_BLOCK, ending := {signal.SIGINT, signal.SIGTERM})
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    ready()
    signal.sigwait(ending)
    server.shutdown()
    server.server_close()
    thread.join()
