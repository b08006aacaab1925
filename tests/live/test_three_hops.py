# SPDX-License-Identifier: GPL-2.0-or-later
"""Unmodified programs over three hops of the MAC, without a policy."""

import re

import pytest


@pytest.fixture(scope="module")
def live(start_network):
    return start_network()


def test_ping_crosses_three_hops_and_two_routers(live):
    forwarded = live.daemon(1)["packets"]["forwarded"]
    done = live.ping(0, "10.0.0.4", 5)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("ttl=62") == 5
    assert live.daemon(1)["packets"]["forwarded"] >= forwarded + 10
    # Six transmissions of small frames, each with RTS and CTS.
    round_trip_ms = float(re.search(r"= ([\d.]+)/", done.stdout)[1])
    assert 6 * 1.5 < round_trip_ms < 60


def test_ipv6_crosses_three_hops(live):
    done = live.ping(0, live.status()["nodes"][3]["ipv6"])
    assert done.returncode == 0 and done.stdout.count("ttl=62") == 3, done.stdout


def test_a_router_answers_when_the_time_to_live_is_spent(live):
    done = live.ping(0, "10.0.0.4", 1, "-t", "1")
    assert done.returncode != 0
    assert "From 10.0.0.2" in done.stdout and "Time to live exceeded" in done.stdout


def test_forwarding_follows_the_kernels_routing_table_at_once(live):
    before = live.run(1, "ip", "route", "show", "10.0.0.4").stdout.split()
    try:
        assert live.run(1, "ip", "route", "del", "10.0.0.4").returncode == 0
        done = live.ping(0, "10.0.0.4", 2)
        assert "From 10.0.0.2" in done.stdout and "Unreachable" in done.stdout, done.stdout
    finally:
        assert live.run(1, "ip", "route", "add", *before).returncode == 0
    assert live.ping(0, "10.0.0.4").returncode == 0


def test_a_node_without_neighbour_in_range_is_not_reached(live):
    """Routes say where packets go, the medium who hears them: node 3 is out of node 0's range."""
    route = ["ip", "route", "replace", "10.0.0.4", "dev", "radio0"]
    before = live.run(0, "ip", "route", "show", "10.0.0.4").stdout.split()
    drops = live.daemon(0)["packets"]["mac_drops"]
    assert live.run(0, *route).returncode == 0
    try:
        assert live.ping(0, "10.0.0.4", 2).returncode != 0
        assert live.daemon(0)["packets"]["mac_drops"] > drops
    finally:
        assert live.run(0, "ip", "route", "replace", *before).returncode == 0


def test_a_tcp_transfer_reaches_what_three_hops_carry(live):
    said = live.iperf(8)
    goodput_bps = said["end"]["sum_received"]["bits_per_second"]
    # perhop run of the same file: 0.42 Mb/s. One hop alone would carry 1.3 Mb/s, a wrong medium more.
    assert 0.25e6 < goodput_bps < 0.55e6
    assert said["end"]["streams"][0]["sender"]["max_rtt"] > 300_000, "without a limit the queues fill"


def test_exec_runs_where_it_says_and_returns_the_status(live):
    done = live.perhop("live", "exec", "--name", live.name, "last", "--", "sh", "-c", "ip -br addr show radio0; exit 7")
    assert done.returncode == 7
    assert "10.0.0.4/32" in done.stdout
