# SPDX-License-Identifier: GPL-2.0-or-later
"""Routes change below a flow, by hand and by babeld around a killed node: EXACT's rate follows in a round trip.

Nodes 0 1 2 3 are one path, 0 4 5 6 3 the other (sim/experiments/exact_reroute).
"""

import json
import os
import shutil
import signal
import time
from datetime import datetime
from pathlib import Path

import pytest

from .conftest import ROOT, kill_hard, wait_until

HERE = Path(__file__).parent
TWO_PATHS = ROOT / "sim/experiments/exact_reroute"
LAST = "10.0.0.4"
# Row X-14, as sim/experiments/exact_reroute: a round trip and a feedback interval. The first packet on a new path meets
# those that are still on the old one.
FEEDBACK_INTERVAL_US = 200_000
HAS_BABELD = shutil.which("babeld", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")


def rate_of(live):
    """What node 0's daemon knows of its flow."""
    return live.daemon(0)["exact"]["sources"][0]


def start_flow(live, seconds):
    sink = live.start_python(3, HERE / "udp_sink.py", LAST, "5004", "20")
    assert sink.stdout.readline() == "listening\n"
    sender = live.start_python(0, HERE / "greedy_sender.py", LAST, "5004", str(seconds))
    wait_until(lambda: live.daemon(0)["exact"]["sources"] and rate_of(live)["reported"], 10)
    return sender, sink


def test_the_rate_of_a_new_path_is_known_after_one_round_trip(start_network):
    live = start_network("--set", "exact.mode=m2", "--set", "events=[]", file=TWO_PATHS)
    sender, sink = start_flow(live, 10)
    took_us, round_trips_us, hops = [], [], []
    for change, (there, back) in enumerate([(5, 7), (2, 3), (5, 7), (2, 3)], 1):
        time.sleep(1)
        for node, target, gateway in ((0, LAST, there), (3, "10.0.0.1", back)):
            route = f"{target} via 10.0.0.{gateway} dev radio0 onlink src 10.0.0.{node + 1}"
            assert live.run(node, "ip", "route", "replace", *route.split()).returncode == 0
        wait_until(lambda change=change: rate_of(live)["reroutes"] == change, 3)
        took_us.append(rate_of(live)["reroute_us"])
        time.sleep(1)
        round_trips_us.append(rate_of(live)["round_trip_us"])
        hops.append(rate_of(live)["hops"])
    print(f"re-routed in {took_us} us, round trips {round_trips_us} us")
    assert hops == [4, 3, 4, 3]
    for took, round_trip in zip(took_us, round_trips_us, strict=True):
        assert took < round_trip + FEEDBACK_INTERVAL_US
    text, _ = sender.communicate(timeout=60)
    told = [json.loads(line) for line in text.splitlines()]
    assert told[-1]["halvings"] <= 2, "the flow never stopped"
    sink.kill()


@pytest.fixture(scope="module")
def babel(start_network):
    if not HAS_BABELD:
        pytest.skip("there is no babeld (package babeld): routing around a killed node is NOT tested")
    live = start_network("--set", "exact.mode=m2", "--set", "events=[]", "--routing", "babel", file=TWO_PATHS)

    def routed():
        for node in (0, 3):
            for family in ("-4", "-6"):
                found = live.run(node, "ip", family, "route", "show", "proto", "babel").stdout.splitlines()
                if len(found) < 6:
                    return False
        return True

    wait_until(routed, 20)
    # Each neighbour begins with a cost of its own; then the shorter path wins.
    wait_until(lambda: "ttl=62" in live.ping(0, LAST, 1).stdout and "ttl=62" in live.ping(3, "10.0.0.1", 1).stdout, 20)
    return live


def test_babeld_finds_its_neighbours_by_multicast_over_the_mac(babel):
    """Link-local IPv6 and multicast cross the MAC: routes of both families to everybody, and packets follow them."""
    text = babel.run(0, "ip", "-6", "route", "show", "proto", "babel").stdout
    assert "via fe80::ff:fe00:2 dev radio0" in text and "via fe80::ff:fe00:5 dev radio0" in text
    assert babel.ping(0, LAST).stdout.count("ttl=62") == 3
    assert babel.ping(0, babel.status()["nodes"][3]["ipv6"]).stdout.count("ttl=62") == 3


def start_monitor(live, node):
    """Follows a node's routes."""
    return live.start(node, "stdbuf", "-oL", "ip", "-ts", "-o", "monitor", "route")


def routed_s(monitor, route):
    """When the kernel took this route, on the clock of time.monotonic()."""
    monitor.terminate()
    lines = [
        line for line in monitor.communicate(timeout=10)[0].splitlines() if route in line and "Deleted" not in line
    ]
    at = datetime.fromisoformat(lines[0].partition("]")[0].lstrip("["))
    return at.timestamp() - time.time() + time.monotonic()


def test_babeld_routes_around_a_killed_node_and_the_rate_follows_in_one_round_trip(babel):
    sender, sink = start_flow(babel, 120)
    time.sleep(2)
    before = rate_of(babel)
    assert before["hops"] == 3
    processes = babel.status()["processes"]
    supervisor = babel.status()["supervisor"]
    there, back = start_monitor(babel, 0), start_monitor(babel, 3)
    time.sleep(0.5)
    os.kill(supervisor, signal.SIGSTOP)
    try:
        for name in ("node-1", "babel-1"):
            kill_hard(processes[name]["pid"])
        killed_s = time.monotonic()
        wait_until(lambda: rate_of(babel)["hops"] == 4, 20)
        time.sleep(3)
        after = rate_of(babel)
        assert after["hops"] == 4
    finally:
        os.kill(supervisor, signal.SIGCONT)
    # babeld changes the two ways one after the other: until both are there no report can come.
    ready_s = max(routed_s(there, f"{LAST} via 10.0.0.5"), routed_s(back, "10.0.0.1 via 10.0.0.7"))
    # The node comes back, and with it the shorter path, when babeld trusts the old links again.
    wait_until(lambda: rate_of(babel)["hops"] == 3, 90)
    sender.terminate()
    told = [json.loads(line) for line in sender.communicate(timeout=60)[0].splitlines()]
    sink.kill()
    known = next(line for line in told if line["hops"] == 4 and line["at_s"] > killed_s)
    took_s = known["at_s"] - ready_s
    print(
        f"babeld: {ready_s - killed_s:.1f} s; EXACT: {1000 * took_s:.0f} ms, round trip then "
        f"{after['round_trip_us'] / 1000:.0f} ms"
    )
    assert ready_s - killed_s < 15
    assert took_s * 1e6 < after["round_trip_us"] + FEEDBACK_INTERVAL_US
    # Four links, all in one another's way, instead of three: M2 gives 3/4 of what other traffic leaves. That is
    # babeld's, one or two packets of 4 ms a second from each of six nodes, and the hellos of EXACT: less than a tenth.
    four_of_three = 3 / 4
    assert 0.9 * four_of_three < after["rate_bps"] / before["rate_bps"] < four_of_three / 0.9
