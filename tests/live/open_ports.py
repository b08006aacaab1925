# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes UDP packets to many ports and reads none: `open_ports.py ADDRESS FIRST_PORT PORTS`. Says when it listens."""

import signal
import socket
import sys


def main() -> None:
    address, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    taken = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for index, each in enumerate(taken):
        each.bind((address, first + index))
    print("listening", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
