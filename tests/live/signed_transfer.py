# SPDX-License-Identifier: GPL-2.0-or-later
"""signed_transfer.py receive ADDRESS | send ADDRESS BYTES: bytes over a connection whose segments TCP signs (RFC 2385).

Both print the SHA-256 of what they sent or got. ADDRESS is the other end's. `send` with 0 bytes tells by its exit
status whether this kernel signs at all.
"""

import contextlib
import hashlib
import random
import socket
import struct
import sys

PORT = 5300
TCP_MD5SIG = 14
KEY = b"a key of both ends"
CHUNK_BYTES = 65536
NO_MD5_STATUS = 77


def sign(connection: socket.socket, other: str) -> None:
    """struct tcp_md5sig of linux/tcp.h: the other end's address, and the key."""
    address = struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton(other))
    told = address + struct.pack("=BBHi80s", 0, 0, len(KEY), 0, KEY)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, TCP_MD5SIG, told)
    except OSError as error:
        print(f"this kernel does not sign segments: {error}")
        sys.exit(NO_MD5_STATUS)


def main() -> None:
    role, other, *count = sys.argv[1:]
    digest = hashlib.sha256()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sign(connection, other)
        if role == "receive":
            connection.bind(("", PORT))
            connection.listen(1)
            taken, _ = connection.accept()
            with taken:
                while chunk := taken.recv(CHUNK_BYTES):
                    digest.update(chunk)
        elif int(count[0]):
            # Bytes in which a segment that is lost, doubled or out of place shows.
            source, left = random.Random(1), int(count[0])
            connection.connect((other, PORT))
            while left:
                chunk = source.randbytes(min(left, CHUNK_BYTES))
                connection.sendall(chunk)
                digest.update(chunk)
                left -= len(chunk)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                connection.recv(1)  # until the other end has it all
    print(digest.hexdigest())


if __name__ == "__main__":
    main()
