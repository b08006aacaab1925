# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends SYNs in another host's name, with MSS options of 0 to 65535.

    forged_syns.py SOURCE PORT DESTINATION PORT COUNT INTERVAL_S

From a raw socket: the sequence numbers are guesses, and the first radio on their way knows of no path header.
"""

import ipaddress
import socket
import struct
import sys
import time


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def forged_syn(
    source: str, source_port: int, destination: str, destination_port: int, sequence: int, mss: int
) -> bytes:
    ends = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    tcp = struct.pack("!HHIIBBHHHBBH", source_port, destination_port, sequence, 0, 6 << 4, 0x02, 65535, 0, 0, 2, 4, mss)
    tcp = tcp[:16] + struct.pack("!H", checksum(ends + struct.pack("!IHH", len(tcp), 0, 6) + tcp)) + tcp[18:]
    if len(ends) == 8:
        header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, socket.IPPROTO_TCP, 0)
        return header + ends + tcp
    return struct.pack("!IHBB", 6 << 28, len(tcp), socket.IPPROTO_TCP, 64) + ends + tcp


def main() -> None:
    source, source_port, destination, destination_port, count, interval_s = sys.argv[1:]
    family = socket.AF_INET6 if ":" in destination else socket.AF_INET
    with socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        for number in range(int(count)):
            mss = number * 65535 // max(int(count) - 1, 1)
            syn = forged_syn(
                source, int(source_port), destination, int(destination_port), number * 0x01234567 % 2**32, mss
            )
            raw.sendto(syn, (destination, 0))
            time.sleep(float(interval_s))


if __name__ == "__main__":
    main()
