# SPDX-License-Identifier: GPL-2.0-or-later
"""What the node's daemon says that EXACT allows a flow, over its rates socket (host/node/rate_server.hpp)."""

from __future__ import annotations

import json
import socket
from typing import Any

# Linux' number for it on most machines; Python has no name for it.
SO_MAX_PACING_RATE = 47
# Of IP, of TCP, time stamps: EXACT counts whole packets, Linux the payload of TCP.
TCP_HEADER_BYTES = 20 + 20 + 12
ANSWER_S = 5


def follow(sock: socket.socket, told: dict[str, Any]) -> socket.socket:
    """Ask for the rates of a connected socket's flow; the first answer is on its way. Raises OSError."""
    source, destination = sock.getsockname(), sock.getpeername()
    flow = {
        "source": source[0],
        "source_port": source[1],
        "destination": destination[0],
        "destination_port": destination[1],
        "protocol": "tcp" if sock.type == socket.SOCK_STREAM else "udp",
    }
    asks = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        asks.settimeout(ANSWER_S)
        asks.connect(told["rates_socket"])
        message = {"follow": flow, "wanted_bps": told.get("demand_bps") or None, "queue_packets": None}
        asks.send(json.dumps(message).encode())
    except OSError:
        asks.close()
        raise
    return asks


def hear(asks: socket.socket) -> dict[str, Any]:
    """The next word of the daemon. Raises OSError."""
    text = asks.recv(1 << 16)
    said = json.loads(text) if text else {"ok": False, "error": "the daemon has ended the connection"}
    if not said["ok"]:
        raise OSError(f"rates of EXACT: {said.get('error')}")
    return dict(said)


def of(said: dict[str, Any]) -> dict[str, Any]:
    """As results name them."""
    return {"allowed_rate_bps": said["rate_bps"], "rate_signal_bps": said["path_bps"]}
