# SPDX-License-Identifier: GPL-2.0-or-later
"""What EXACT's routers tell each other takes at most 2 % of a station's channel time, however often flows change."""

import time
from pathlib import Path

from waiting import wait_until

HERE = Path(__file__).parent
LAST = "10.0.0.4"
BROADCAST = "ff:ff:ff:ff:ff:ff"
MOST_SHARE = 0.02
# Before, nobody knows with how many routers it shares the budget; and each may spend at once what 10 s gave it.
SETTLED_S = 12
MEASURED_S = 20
DIFS_AND_BACKOFF_US = 50 + 310  # of a broadcast, beside its time on the air
# A router sends its hello once the last one is paid: within a window there may be one more of 1400 bytes at 1 Mb/s.
ONE_MORE_US = 12_000


def test_hellos_keep_to_their_share_of_the_air_while_flows_come_and_go(start_network):
    """Every node of a chain of three hops senses all others, or is sensed by those that do: all hellos count."""
    live = start_network("--exact", "m2", "--udp", "all")

    def spent():
        """Hellos so far, and their channel time in us."""
        told = [
            neighbour
            for node in live.status()["nodes"]
            for neighbour in node["daemon"]["neighbours"]
            if neighbour["mac"] == BROADCAST
        ]
        packets = sum(neighbour["packets"] for neighbour in told)
        return packets, sum(each["parts_us"]["data_us"] for each in told) + packets * DIFS_AND_BACKOFF_US

    sender = live.start_python(0, HERE / "changing_flows.py", LAST, "20000", "30", str(SETTLED_S + MEASURED_S + 3))
    wait_until(lambda: len(live.daemon(2)["exact"]["allocations"]) > 20, 10, "node 2 has most of the flows")
    time.sleep(SETTLED_S)
    hellos_before, before_us = spent()
    start_s = time.monotonic()
    time.sleep(MEASURED_S)
    hellos, after_us = spent()
    measured_us = (time.monotonic() - start_s) * 1e6
    share = (after_us - before_us) / measured_us
    assert sender.poll() is None, sender.communicate()[0]

    assert share <= MOST_SHARE + 4 * ONE_MORE_US / measured_us, f"{hellos - hellos_before} hellos take {share:.2%}"
    assert share > MOST_SHARE / 2, f"{hellos - hellos_before} hellos take {share:.2%}: the budget was never needed"
    assert sum(node["daemon"]["exact"]["hellos_sent"] for node in live.status()["nodes"]) >= hellos
    said, _ = sender.communicate(timeout=30)
    assert int(said) > 100, "flows came and went"
