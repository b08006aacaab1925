# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends UDP as fast as its EXACT flow has room: `greedy_sender.py ADDRESS PORT SECONDS [PAYLOAD_BYTES]`.

Prints a JSON line whenever its rate changes, with the time of CLOCK_MONOTONIC, and one with all counters at the end.
"""

import dataclasses
import errno
import json
import socket
import sys
import time

from perhop import rates


def taken(rate: rates.Rate) -> int:
    """Packets that the daemon has had from the interface."""
    return rate.sent_packets + rate.waiting_packets + rate.refused_packets


def main() -> None:
    address, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    payload = bytes(int(sys.argv[4]) if len(sys.argv) > 4 else 1400)
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((address, port))
    end_s = time.monotonic() + seconds
    told = None
    with rates.follow(sock) as flow:
        while time.monotonic() < end_s:
            if flow.rate.room_packets and not flow.rate.full:
                try:
                    sock.send(payload)
                except OSError as error:
                    # Between two routes there may be none.
                    if error.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH):
                        raise
                # The daemon takes it out of the interface before the next one comes; without a route it is not there.
                before, patience_s = taken(flow.rate), time.monotonic() + 0.1
                while taken(flow.ask()) == before and time.monotonic() < patience_s:
                    pass
            else:
                flow.wait(0.1)
            rate = flow.rate
            if told is None or (rate.rate_bps, rate.hops) != (told.rate_bps, told.hops):
                print(json.dumps({"at_s": time.monotonic(), **dataclasses.asdict(rate)}), flush=True)
                told = rate
        print(json.dumps({"at_s": time.monotonic(), **dataclasses.asdict(flow.ask())}), flush=True)


if __name__ == "__main__":
    main()
