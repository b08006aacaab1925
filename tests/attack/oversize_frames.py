# SPDX-License-Identifier: GPL-2.0-or-later
"""1,000 frames without room for a path header through a router, then packets of 4,028 bytes: it still forwards.

A frame of IEEE 802.11 holds 2,304 bytes and the path header takes 18: a router cannot pass on more than 2,286.
"""

from __future__ import annotations

import subprocess

from bench import Bench, Outcome, Rogue, udp_packet, wait_until
from perhop.live import network, state_files
from perhop.live.plan import INTERFACE, MTU_BYTES
from perhop.registers import spec_generated as spec

FRAMES = 1000
LEAST_MSDU_BYTES, MOST_MSDU_BYTES = 2279, 2304
PINGS = 20


def run(bench: Bench, outcome: Outcome) -> None:
    bench.up(hops=2)
    router = network.read_state("attack")["nodes"][1]["mac"]
    before = bench.pid("node-1")
    # Node 0 becomes a stranger that knows nothing of path headers.
    state_files.hold(bench.folder, "node-0", True)
    wait_until(lambda: not bench.is_up(0), 10, "the daemon of node 0 is gone")
    rogue = Rogue(bench, 0)
    for number in range(FRAMES):
        family = 6 if number % 4 == 3 else 4
        msdu_bytes = LEAST_MSDU_BYTES + number % (MOST_MSDU_BYTES - LEAST_MSDU_BYTES + 1)
        payload = bytes(msdu_bytes - spec.LLC_SNAP_BYTES - (48 if family == 6 else 28))
        rogue.send(router, udp_packet(bench.address(0, family), bench.address(2, family), 9, payload))
    rogue.finish(FRAMES)
    rogue.close()
    state_files.hold(bench.folder, "node-0", False)
    wait_until(lambda: bench.is_up(0), 15, "node 0 is up again")
    outcome.figures["frames"] = rogue.completed
    _see_traffic(bench, outcome, "after long frames")

    # A host may set any MTU, and then hand over any packet.
    for command in (["link", "set", INTERFACE, "mtu", "9000"],):
        subprocess.run(["ip", "-n", bench.namespace(0), *command], check=True, capture_output=True)
    for size in (4000, 8900):
        bench.run(0, "ping", "-n", "-q", "-c", "5", "-i", "0.2", "-W", "1", "-s", str(size), bench.address(2))
    subprocess.run(
        ["ip", "-n", bench.namespace(0), "link", "set", INTERFACE, "mtu", str(MTU_BYTES)],
        check=True,
        capture_output=True,
    )
    _see_traffic(bench, outcome, "after long packets")
    outcome.check(bench.pid("node-1") == before, "the router's daemon has ended and was started again")


def _see_traffic(bench: Bench, outcome: Outcome, when: str) -> None:
    answered = bench.replies(0, bench.address(2), PINGS)
    outcome.figures[f"replies {when}"] = answered
    outcome.check(answered == PINGS, f"{when}: {answered} of {PINGS} pings are answered")
