# SPDX-License-Identifier: GPL-2.0-or-later
"""The other end of burst_sender.py: `burst_receiver.py PORT BYTES`. Answers a byte to each burst."""

import socket
import sys


def main() -> None:
    port, burst_bytes = int(sys.argv[1]), int(sys.argv[2])
    with socket.create_server(("", port)) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
        left = burst_bytes
        while data := connection.recv(left):
            left -= len(data)
            if left == 0:
                connection.sendall(b"+")
                left = burst_bytes


if __name__ == "__main__":
    main()
