# SPDX-License-Identifier: GPL-2.0-or-later
"""What EXACT's routers tell each other takes at most 2 % of a station's channel time, however often flows change."""

import time
from pathlib import Path

from waiting import wait_until

HERE = Path(__file__).parent
LAST = "10.0.0.4"
BROADCAST = "ff:ff:ff:ff:ff:ff"
MOST_SHARE = 0.02
FLOWS = 30  # at a time
# A flow begins each 0.3 s. Before, nobody knows with how many routers it shares the budget; and each may spend at once
# what 10 s gave it.
SETTLED_FLOW = FLOWS + 40
LAST_FLOW = SETTLED_FLOW + 67
DIFS_AND_BACKOFF_US = 50 + 310  # of a broadcast, beside its time on the air
# A router sends its hello once the last one is paid: within a window there may be one more of 1400 bytes at 1 Mb/s.
ONE_MORE_US = 12_000


def test_hellos_keep_to_their_share_of_the_air_while_flows_come_and_go(start_network):
    """Every node of a chain of three hops senses all others, or is sensed by those that do: all hellos count."""
    live = start_network("--exact", "m2", "--udp", "all")

    def spent():
        """Hellos so far as their routers count them, broadcasts as the MACs do, and these' channel time in us."""
        nodes = live.status()["nodes"]
        told = [
            neighbour for node in nodes for neighbour in node["daemon"]["neighbours"] if neighbour["mac"] == BROADCAST
        ]
        packets = sum(neighbour["packets"] for neighbour in told)
        channel_us = sum(each["parts_us"]["data_us"] for each in told) + packets * DIFS_AND_BACKOFF_US
        return sum(node["daemon"]["exact"]["hellos_sent"] for node in nodes), packets, channel_us

    # Where nobody listens the kernel refuses packets, and the flow's next send fails.
    listener = live.start_python(3, HERE / "open_ports.py", LAST, "20000", "300")
    assert listener.stdout.readline() == "listening\n"
    sender = live.start_python(0, HERE / "changing_flows.py", LAST, "20000", str(FLOWS), str(LAST_FLOW + 20))

    def wait_for_flow(number):
        assert any(int(line) == number for line in sender.stdout), f"the sender ended before flow {number}"

    wait_until(lambda: len(live.daemon(2)["exact"]["allocations"]) > 20, 10, "node 2 has most of the flows")
    wait_for_flow(SETTLED_FLOW)
    hellos_before, packets_before, before_us = spent()
    start_s = time.monotonic()
    wait_for_flow(LAST_FLOW)
    hellos, packets, after_us = spent()
    measured_us = (time.monotonic() - start_s) * 1e6
    share = (after_us - before_us) / measured_us
    assert sender.poll() is None, sender.communicate()[0]

    # Beside hellos a few multicasts of the kernel; each node may have one hello on its way.
    assert packets - packets_before >= hellos - hellos_before - 4, "the MACs' counts miss hellos"
    said_so = f"{hellos - hellos_before} hellos, {packets - packets_before} broadcasts take {share:.2%}"
    print(said_so)
    assert share <= MOST_SHARE + 4 * ONE_MORE_US / measured_us, said_so
    assert share > MOST_SHARE / 2, f"{said_so}: the budget was never needed"
