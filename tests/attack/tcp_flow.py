# SPDX-License-Identifier: GPL-2.0-or-later
"""One TCP connection: `tcp_flow.py sink ADDRESS PORT` or `send ADDRESS PORT SECONDS`.

The sender prints JSON lines: its port, and then ten times a second what is acknowledged and what is in flight.
"""

import json
import select
import socket
import struct
import sys
import time


def tcp_info(connection):
    """(segments in flight, bytes acknowledged): linux/tcp.h, struct tcp_info."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
    return struct.unpack_from("@I", info, 24)[0], struct.unpack_from("@Q", info, 120)[0]


def main():
    role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    if role == "sink":
        with socket.create_server((address, port), family=family) as server:
            print("listening", flush=True)
            connection, _ = server.accept()
            while connection.recv(65536):
                pass
        return
    connection = socket.socket(family)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
    connection.connect((address, port))
    print(json.dumps({"port": connection.getsockname()[1]}), flush=True)
    connection.setblocking(False)
    begun_s = said_s = time.monotonic()
    while (now_s := time.monotonic()) < begun_s + float(sys.argv[4]):
        if now_s - said_s >= 0.1:
            said_s = now_s
            unacked, acknowledged = tcp_info(connection)
            told = {"at_s": round(now_s - begun_s, 3), "unacked": unacked, "acknowledged_bytes": acknowledged}
            print(json.dumps(told), flush=True)
        if select.select([], [connection], [], 0.05)[1]:
            connection.send(bytes(1448))


if __name__ == "__main__":
    main()
