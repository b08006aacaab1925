# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends a packet of an EXACT flow, then leaves the flow and sends five more: `leaving_sender.py ADDRESS PORT`.

Each step but the first one waits for a line of standard input.
"""

import socket
import sys

from perhop import rates


def main() -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((sys.argv[1], int(sys.argv[2])))
    with rates.follow(sock):
        sock.send(bytes(100))
        print("following", flush=True)
        sys.stdin.readline()
    sys.stdin.readline()
    for _ in range(5):
        sock.send(bytes(100))


if __name__ == "__main__":
    main()
