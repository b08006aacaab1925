# SPDX-License-Identifier: GPL-2.0-or-later
"""A link's own data rate reaches the daemon that sends over it, from an experiment file and from a node's file."""

import pytest
from perhop.errors import ExperimentError
from perhop.experiment.load import load
from perhop.live.plan import make_plan, node_config
from perhop.node.configuration import daemon_json, load_file
from perhop.realtime.backend import check_real_time

CHAIN = """\
name: slow
topology: {kind: chain, hops: 2}
links: [{a: 1, b: 2, data_rate_mbps: 11, both_ways: false}]
flows: [{kind: tcp}]
duration_s: 4
warmup_s: 1
"""


@pytest.fixture
def chain(tmp_path):
    file = tmp_path / "slow.yaml"
    file.write_text(CHAIN)
    return file


def test_a_live_daemon_is_told_the_rates_of_its_own_links_for_all_addresses_of_the_neighbour(chain, tmp_path):
    plan = make_plan(chain)
    told = [node_config(plan, node, tmp_path)["neighbours"] for node in plan.nodes]
    rated = [[entry for entry in entries if "data_rate_index" in entry] for entries in told]
    assert rated[0] == rated[2] == []
    assert [(entry["mac"], entry["data_rate_index"]) for entry in rated[1]] == [(plan.nodes[2].mac, 3)] * 2


def test_a_radio_sends_over_no_link_at_more_than_its_modem_can(chain):
    (point,) = load(chain, ())
    check_real_time(point, "live")
    with pytest.raises(ExperimentError, match=r"links\.0\.data_rate_mbps.*is 11; the radio's modem sends 1 and 2"):
        check_real_time(point, "radio")


NODE = "driver: {kind: loopback, socket: /run/one.sock, peer: /run/other.sock, mac: 02:00:00:00:00:01}\n"


def test_a_nodes_file_names_a_neighbour_by_its_mac_address_with_or_without_a_rate(tmp_path):
    file = tmp_path / "node.yaml"
    file.write_text(
        NODE
        + "neighbours:\n"
        + "  10.0.0.2: 02:00:00:00:00:02\n"
        + "  10.0.0.3: {mac: 02:00:00:00:00:03, data_rate_index: 0}\n"
    )
    assert daemon_json(load_file(file), tmp_path)["neighbours"] == [
        {"address": "10.0.0.2", "mac": "02:00:00:00:00:02"},
        {"address": "10.0.0.3", "mac": "02:00:00:00:00:03", "data_rate_index": 0},
    ]
    file.write_text(NODE + "neighbours:\n  10.0.0.3: {mac: 02:00:00:00:00:03, data_rate_index: 8}\n")
    with pytest.raises(
        ExperimentError, match=r":3: neighbours\.10\.0\.0\.3\.data_rate_index: is 8, but must be at most 7"
    ):
        load_file(file)
    file.write_text(NODE + "neighbours:\n  10.0.0.3: 02-00\n")
    with pytest.raises(ExperimentError, match=r":3: neighbours\.10\.0\.0\.3\.mac: .*no MAC address"):
        load_file(file)
