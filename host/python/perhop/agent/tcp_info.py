# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel knows of a TCP connection: struct tcp_info (linux/tcp.h), which only ever grows at its end."""

from __future__ import annotations

import socket
import struct

# Field: its offset in bytes and its format.
FIELDS = {
    "snd_mss_bytes": (16, "=I"),
    "rtt_us": (68, "=I"),  # smoothed
    "cwnd_packets": (80, "=I"),
    "retransmissions": (100, "=I"),
    "acked_bytes": (120, "=Q"),
    "window_bytes": (228, "=I"),  # that the peer advertises; Linux 5.4 and newer
    "timeouts": (240, "=H"),  # Linux 6.7 and newer
}
MOST_BYTES = 256


def read(sock: socket.socket) -> dict[str, int]:
    """The fields that this kernel has."""
    data = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, MOST_BYTES)
    return {
        name: struct.unpack_from(form, data, offset)[0]
        for name, (offset, form) in FIELDS.items()
        if offset + struct.calcsize(form) <= len(data)
    }
