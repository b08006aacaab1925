# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks daemons in a process of its own, for those that strangers can talk to.

Control sockets are for those who own them, so whoever asks must be their owner; and whoever answers the network should
own nothing. So there are two: the one that asks has no socket of the network, the one that has them can only say "ask".
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from perhop import privileges
from perhop.errors import PerhopError
from perhop.export import probe as library
from perhop.export.nodes import NodeSocket

MOST_AT_ONCE = 16
LENGTH = struct.Struct("!I")
ASK = b"?"


def ask_all(nodes: Sequence[NodeSocket]) -> list[dict[str, Any] | PerhopError]:
    """What `perhop probe` tells of each node, or why nothing."""

    def ask(node: NodeSocket) -> dict[str, Any] | PerhopError:
        try:
            return library.probe(node)
        except PerhopError as error:
            return error

    with ThreadPoolExecutor(max_workers=min(MOST_AT_ONCE, len(nodes))) as pool:
        return list(pool.map(ask, nodes))


class Asker:
    """ask_all() of some nodes, by a process that has the rights of their owner and no others. Start it before threads.

    Raises PerhopError.
    """

    def __init__(self, nodes: Sequence[NodeSocket]) -> None:
        become = privileges.owner(nodes[0].path)
        self._one_at_a_time = threading.Lock()
        self._there, there = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                self._there.close()
                # Ctrl-C is for the one that answers: its end is the end of this one.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                privileges.drop(become)
                _serve(there, nodes)
                status = 0
            finally:
                os._exit(status)
        there.close()

    def __call__(self) -> list[dict[str, Any] | PerhopError]:
        """Raises PerhopError when there is nobody who asks any more; this process is told to end then."""
        try:
            with self._one_at_a_time:
                self._there.sendall(ASK)
                told = json.loads(_receive(self._there))
        except OSError as error:
            os.kill(os.getpid(), signal.SIGTERM)
            raise PerhopError(
                f"the process that asks the daemons has ended: {error}", "start the command anew"
            ) from error
        return [PerhopError(**each["error"]) if "error" in each else each["told"] for each in told]


def _serve(there: socket.socket, nodes: Sequence[NodeSocket]) -> None:
    with contextlib.suppress(ConnectionError):
        while there.recv(1):
            told = [
                {"error": each.as_dict()} if isinstance(each, PerhopError) else {"told": each}
                for each in ask_all(nodes)
            ]
            text = json.dumps(told).encode()
            there.sendall(LENGTH.pack(len(text)) + text)


def _receive(there: socket.socket) -> bytes:
    (size,) = LENGTH.unpack(_exactly(there, LENGTH.size))
    return _exactly(there, size)


def _exactly(there: socket.socket, size: int) -> bytes:
    got = there.recv(size, socket.MSG_WAITALL)
    if len(got) < size:
        raise ConnectionResetError("it closed the connection")
    return got
