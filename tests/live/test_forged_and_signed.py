# SPDX-License-Identifier: GPL-2.0-or-later
"""Segments that the shim must not believe, and segments that it must not touch: forged SYNs, TCP-MD5."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from perhop.errors import PerhopError
from perhop.live import network
from perhop.node import ebpf
from waiting import wait_until

HERE = Path(__file__).parent
KILOBYTES = 300


@pytest.fixture(scope="module")
def live(start_network):
    return start_network("--policy", "delay")


# Daemons remember flows that have ended: a port of its own tells each family's.
@pytest.mark.parametrize(("family", "port"), [("ipv4", 40123), ("ipv6", 40124)])
def test_a_hundred_forged_syns_leave_the_limit_and_the_goodput_as_they_are(live, family, port):
    nodes = live.status()["nodes"]
    sender, receiver = nodes[0][family], nodes[3][family]
    listening = live.start(3, "iperf3", "-s", "-1")
    wait_until(lambda: "5201" in live.run(3, "ss", "-Hltn").stdout, 5)
    late_syns = live.daemon(0)["shim"]["late_syns"]
    sending = live.start(0, "iperf3", "-c", receiver, "-C", "reno", "-t", "16", "-J", "--cport", str(port))
    live.settle(port, "delay")
    # For 5 s in the middle of the transfer, from the sender's neighbour.
    forging = live.run(
        1, sys.executable, str(HERE / "forged_syns.py"), receiver, "5201", sender, str(port), "100", "0.05"
    )
    assert forging.returncode == 0, forging.stderr
    said = json.loads(sending.communicate(timeout=60)[0])
    listening.wait(10)
    assert "error" not in said, said
    assert live.daemon(0)["shim"]["late_syns"] >= late_syns + 95, "the SYNs did not arrive"
    flow = live.flow_from(port)
    assert flow["most_in_flight"] == flow["cwl_packets"] == 1
    # The SYNs and what answers them take air while they come; afterwards all is as on an undisturbed chain.
    last_s = [interval["sum"]["bytes"] for interval in said["intervals"][-7:-1]]
    assert sum(last_s) * 8 / len(last_s) > 0.36e6, said["intervals"]


def test_a_window_of_packets_is_paced_over_the_round_trip_of_the_kernels_tcp(live):
    """As the simulator does, which asks its TCP for the congestion window."""
    network.set_policy(live.name, "fixed 4 + paced")
    before = live.daemon(0)["packets"]
    live.iperf(8)
    after = live.daemon(0)["packets"]
    data = after["data_segments"] - before["data_segments"]
    assert after["paced"] - before["paced"] > 0.3 * data
    network.set_policy(live.name, "delay")


def test_pacing_without_a_window_limit_has_the_congestion_window_to_pace_by(live):
    network.set_policy(live.name, "paced")
    paced = live.daemon(0)["packets"]["paced"]
    live.iperf(8)
    assert live.daemon(0)["packets"]["paced"] > paced + 20
    assert not any("no congestion window" in problem for problem in live.daemon(0)["without_effect"])
    network.set_policy(live.name, "delay")


def test_a_part_of_a_policy_without_effect_says_so(live):
    """Three hops are one medium: what `paced path` is for begins at four."""
    network.set_policy(live.name, "paced path")
    live.iperf(3)
    said = "the pacing has no effect: a path of up to 3 hops is not paced by its path"
    assert said in live.daemon(0)["without_effect"]
    assert said in live.perhop("probe", "0", "--name", live.name).stdout
    network.set_policy(live.name, "delay")


# ---- TCP-MD5


def signed_transfer(live, count_bytes):
    """Both ends' digests of what went over."""
    script = str(HERE / "signed_transfer.py")
    nodes = live.status()["nodes"]
    last = len(nodes) - 1
    receiving = live.start(last, sys.executable, script, "receive", nodes[0]["ipv4"])
    wait_until(lambda: "5300" in live.run(last, "ss", "-Hltn").stdout or receiving.poll() is not None, 5)
    timeout_s = 60 + count_bytes / 20_000
    sent = live.run(0, sys.executable, script, "send", nodes[last]["ipv4"], str(count_bytes), timeout_s=timeout_s)
    assert sent.returncode == 0, sent.stdout + sent.stderr
    got, _ = receiving.communicate(timeout=20)
    return sent.stdout.strip(), got.strip()


@pytest.fixture(scope="module")
def kernel_signs():
    script = [sys.executable, str(HERE / "signed_transfer.py"), "send", "127.0.0.1", "0"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip(f"TCP-MD5 IS NOT TESTED WITH A REAL TCP: {done.stdout.strip()} (CONFIG_TCP_MD5SIG)")
    assert done.returncode == 0, done.stderr


def test_signed_connections_open_and_carry_their_bytes_under_a_window_limit(live, kernel_signs):
    assert live.daemon(0)["cwl"]["enforce"] == "window"
    sent, got = signed_transfer(live, KILOBYTES * 1000)
    assert sent == got
    shim = live.daemon(0)["shim"]
    assert shim["signed_segments"] > KILOBYTES * 1000 / 1460
    said = next(problem for problem in live.daemon(0)["without_effect"] if "signed" in problem)
    assert "enforce: ebpf" in said


def test_signed_connections_are_limited_by_ebpf(start_network, kernel_signs):
    try:
        ebpf.check(ebpf.cgroup())
    except PerhopError as error:
        pytest.skip(f"no window limit by eBPF here: {error.problem}")
    live = start_network("--policy", "fixed 2", "--enforce", "ebpf")
    sent, got = signed_transfer(live, KILOBYTES * 1000)
    assert sent == got
    flow = max(live.daemon(0)["flows"], key=lambda flow: flow["most_in_flight"])
    assert flow["most_in_flight"] == flow["cwl_packets"] == 2
    assert live.daemon(0)["without_effect"] == []


@pytest.mark.long
@pytest.mark.parametrize("policy", ["none", "fixed 8", "delay", "delay + dca", "fixed 8 + paced", "combined"])
def test_10_mb_of_signed_segments_arrive_intact_under_every_policy(start_network, kernel_signs, policy):
    live = start_network("--policy", policy, "--set", "mac.data_rate_mbps=11", hops=1)
    sent, got = signed_transfer(live, 10_000_000)
    assert sent == got
