# SPDX-License-Identifier: GPL-2.0-or-later
"""MPM's discovery: UHD asks who is there, and how long a packet of the path may be."""

from __future__ import annotations

PORT = 49600
REQUEST, ECHO = b"MPM-DISC", b"MPM-ECHO"
TOLD = ("type", "product", "serial", "name", "fpga", "rpc_version", "claimed")
"""Those of which there is something to tell."""
LONGEST_ECHO_BYTES = 1472
"""Of a datagram in an Ethernet frame of 1500 bytes. UHD takes the longest that comes back for the path's."""


def answer(request: bytes, info: dict[str, str]) -> bytes | None:
    """What goes back; None: nothing."""
    if request.rstrip(b"\0") == REQUEST:
        return ";".join(["USRP-MPM", *(f"{key}={info[key]}" for key in TOLD if key in info)]).encode()
    if request.startswith(ECHO) and len(request) <= LONGEST_ECHO_BYTES:
        return request
    return None
