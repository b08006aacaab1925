# SPDX-License-Identifier: GPL-2.0-or-later
"""Receives UDP until nothing has come for a while, or SIGTERM: `udp_sink.py ADDRESS PORT [IDLE_S]`.

Prints what came as JSON, with the times of CLOCK_MONOTONIC.
"""

import json
import signal
import socket
import sys
import time


def stop(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    address, port = sys.argv[1], int(sys.argv[2])
    idle_s = float(sys.argv[3]) if len(sys.argv) > 3 else 2
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((address, port))
    print("listening", flush=True)
    sock.settimeout(20)
    arrived = []
    signal.signal(signal.SIGTERM, stop)
    while True:
        try:
            size = len(sock.recv(65536))
        except TimeoutError:
            break
        arrived.append((time.monotonic(), size))
        sock.settimeout(idle_s)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    seconds = arrived[-1][0] - arrived[0][0] if len(arrived) > 1 else 0
    payload_bytes = sum(size for _, size in arrived[1:])
    print(
        json.dumps(
            {
                "packets": len(arrived),
                "seconds": seconds,
                "payload_bps": 8 * payload_bytes / max(seconds, 1e-9),
                "arrived_s": [at_s for at_s, _ in arrived],
            }
        )
    )


if __name__ == "__main__":
    main()
