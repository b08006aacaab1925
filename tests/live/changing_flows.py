# SPDX-License-Identifier: GPL-2.0-or-later
"""Many small UDP flows that come and go: `changing_flows.py ADDRESS FIRST_PORT FLOWS ALL`.

A packet goes every 20 ms, of each flow in turn. Every 300 ms a flow ends and one to the next port begins, until there
were ALL. Each that begins is told by its number.
"""

import collections
import socket
import sys
import time

PACKET_S, CHANGE_S = 0.02, 0.3
PAYLOAD = bytes(100)


def main() -> None:
    address, port, flows, total = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    open_flows: collections.deque[socket.socket] = collections.deque()
    begun = 0

    def begin() -> None:
        nonlocal begun
        flow = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        flow.connect((address, port + begun))
        open_flows.append(flow)
        begun += 1
        print(begun, flush=True)

    for _ in range(flows):
        begin()
    next_change_s = time.monotonic()
    while begun < total:
        if time.monotonic() >= next_change_s:
            next_change_s += CHANGE_S
            open_flows.popleft().close()
            begin()
        open_flows[0].send(PAYLOAD)
        open_flows.rotate(-1)
        time.sleep(PACKET_S)


if __name__ == "__main__":
    main()
