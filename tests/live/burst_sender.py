# SPDX-License-Identifier: GPL-2.0-or-later
"""A TCP connection that sends a burst for each line of standard input: `burst_sender.py ADDRESS PORT BYTES`."""

import socket
import sys


def main() -> None:
    address, port, burst_bytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with socket.create_connection((address, port)) as connection:
        for _ in sys.stdin:
            connection.sendall(bytes(burst_bytes))
            # Each byte of a burst is answered with nothing but TCP ACKs: the peer says when all are there.
            connection.recv(1)
            print("sent", flush=True)


if __name__ == "__main__":
    main()
