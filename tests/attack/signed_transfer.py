# SPDX-License-Identifier: GPL-2.0-or-later
"""A transfer over TCP with MD5 signatures: `signed_transfer.py possible | receive|send SOURCE SINK PORT KILOBYTES`.

Both ends print the SHA-256 of the content that they sent or received.
"""

import hashlib
import random
import socket
import struct
import sys

TCP_MD5SIG = 14  # linux/tcp.h
KEY = b"between these two"


def sign(endpoint, peer):
    """All segments of this socket from and to that address are signed."""
    family = endpoint.family
    if family == socket.AF_INET6:
        address = struct.pack("@HHI16sI", family, 0, 0, socket.inet_pton(family, peer), 0)
    else:
        address = struct.pack("@HH4s", family, 0, socket.inet_pton(family, peer))
    option = address.ljust(128, b"\0") + struct.pack("@BBHi80s", 0, 0, len(KEY), 0, KEY)
    endpoint.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, option)


def main():
    role = sys.argv[1]
    if role == "possible":
        sign(socket.socket(socket.AF_INET), "127.0.0.1")
        return
    source, sink, port, size = sys.argv[2], sys.argv[3], int(sys.argv[4]), 1024 * int(sys.argv[5])
    family = socket.AF_INET6 if ":" in sink else socket.AF_INET
    endpoint = socket.socket(family)
    endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    digest = hashlib.sha256()
    if role == "receive":
        endpoint.bind((sink, port))
        sign(endpoint, source)
        endpoint.listen()
        print("listening", flush=True)
        connection, _ = endpoint.accept()
        while chunk := connection.recv(65536):
            digest.update(chunk)
        connection.close()
    else:
        endpoint.bind((source, 0))
        sign(endpoint, sink)
        endpoint.connect((sink, port))
        content = random.Random(port).randbytes(size)
        digest.update(content)
        endpoint.sendall(content)
        endpoint.shutdown(socket.SHUT_WR)
        if endpoint.recv(1):
            raise SystemExit("the receiver says something")
    print(digest.hexdigest(), flush=True)


if __name__ == "__main__":
    main()
