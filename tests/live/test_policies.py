# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies on the kernel's own TCP: the shim rewrites windows and thins TCP ACKs."""

import pytest
from perhop.live import network


@pytest.fixture(scope="module")
def live(start_network):
    return start_network("--policy", "delay")


PORT = 40125


def test_the_delay_limit_empties_the_queues_at_no_loss_of_goodput(live):
    said = live.iperf(6, "--cport", str(PORT), meanwhile=lambda: live.settle(PORT, "delay"))
    # perhop run of the same file: 0.404 Mb/s at 29 ms; without a limit 0.419 Mb/s at 760 ms.
    assert 0.3e6 < said["end"]["sum_received"]["bits_per_second"] < 0.45e6
    assert 20_000 < said["end"]["streams"][0]["sender"]["mean_rtt"] < 80_000
    flow = live.flow_from(PORT)
    assert flow["cwl_packets"] == flow["most_in_flight"] == 1
    assert flow["path"]["forward_hops"] == flow["path"]["return_hops"] == 3
    # Three uncontended hops of 1500 bytes, RTS and CTS at 2 Mb/s take 8 ms each.
    assert 3 * 6_000 < flow["path"]["forward_total_us"] < 3 * 12_000


def test_packets_are_those_of_a_full_segment(live):
    """A window of one segment in the SYN's answer would make Linux halve its segments."""
    before = live.daemon(0)["packets"]["data_segments"]
    said = live.iperf(3)
    sent = live.daemon(0)["packets"]["data_segments"] - before
    assert said["end"]["sum_sent"]["bytes"] / sent > 1300


def test_tcp_acks_are_thinned_to_one_for_each_delay_window(live):
    """A limit of 6 leaves room for a delay window of 3; Linux takes one TCP ACK for three segments."""
    network.set_policy(live.name, "fixed 6 + dca 3")
    data, bare = live.daemon(0)["packets"]["data_segments"], live.daemon(3)["packets"]["bare_tcp_acks"]
    said = live.iperf(6)
    data = live.daemon(0)["packets"]["data_segments"] - data
    bare = live.daemon(3)["packets"]["bare_tcp_acks"] - bare
    assert 0.30 < bare / data < 0.45
    assert said["end"]["sum_received"]["bits_per_second"] > 0.3e6
    network.set_policy(live.name, "delay")


def test_data_is_paced(live):
    """A round trip holds four packets at equal distances; TCP alone sends some back to back."""
    network.set_policy(live.name, "fixed 4 + paced")
    paced = live.daemon(0)["packets"]["paced"]
    said = live.iperf(6)
    assert said["end"]["sum_received"]["bits_per_second"] > 0.3e6
    assert live.daemon(0)["packets"]["paced"] > paced
    network.set_policy(live.name, "delay")


def test_each_part_of_the_combined_policy_has_effect_beyond_three_hops(start_network):
    """Of limit, thinning and pacing none did anything live that the simulator did. How much they carry: `make live`."""
    long = start_network("--policy", "combined", hops=5)
    said = long.iperf(8, "--cport", str(PORT))
    first, last = long.daemon(0), long.daemon(5)
    data = first["packets"]["data_segments"]
    assert said["end"]["sum_received"]["bytes"] > 0
    assert first["packets"]["paced"] > 0.3 * data
    assert last["packets"]["bare_tcp_acks"] < 0.7 * data
    flow = long.flow_from(PORT)
    assert 2 <= flow["most_in_flight"] <= flow["cwl_packets"] + 1
    assert first["without_effect"] == last["without_effect"] == []


def test_a_policy_that_makes_no_sense_is_refused_with_a_remedy(live):
    done = live.perhop("live", "policy", "--name", live.name, "fixed none")
    assert done.returncode == 2 and "remedy" in done.stderr
