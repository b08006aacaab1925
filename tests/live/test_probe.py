# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop probe`: what it tells agrees with what was sent, with the MAC's table, and with itself."""

import json

import pytest
from perhop.export import probe as library
from perhop.export.nodes import find_nodes
from perhop.registers import spec_generated as spec
from waiting import wait_until

from .conftest import kill_hard


@pytest.fixture(scope="module")
def live(start_network):
    live = start_network(hops=2)
    assert live.ping(0, "10.0.0.3", 20).returncode == 0
    return live


def probe(live, node):
    done = live.perhop("probe", str(node), "--name", live.name, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def neighbour_of(told, address):
    return next(neighbour for neighbour in told["neighbours"] if address in neighbour["addresses"])


def test_neighbours_are_told_with_what_packets_to_them_cost(live):
    told = probe(live, 1)
    assert told["mac"]["address"] == "02:00:00:00:00:02" and told["mac_up"]
    for address in ("10.0.0.1", "10.0.0.3"):
        neighbour = neighbour_of(told, address)
        assert neighbour["packets"] >= 20
        # Two accounts of the same packets: the gateware's table, and the sums of its completion records.
        table = neighbour["table"]
        assert table["packets"] == neighbour["packets"] == sum(table["histogram"])
        assert table["drops"] == neighbour["drops"]
        assert table["histogram"] == neighbour["histogram"]
        assert table["service_us"] == round(neighbour["mean_service_us"] * neighbour["packets"])
        parts = neighbour["mean_parts_us"]
        assert sum(parts.values()) - parts["queue"] == pytest.approx(neighbour["mean_service_us"])
        # An echo of 84 bytes: RTS, CTS, MAC ACK and three SIFS are 994 us; DATA 744 us at 2 Mb/s.
        assert parts["data"] >= 744 and parts["control"] >= 352
        airtime_us = spec.airtime_us(spec.PROFILES["dsss_long"], 1, 24 + 8 + 18 + 1500 + 4)
        expected_us = table["contention_us"] + table["overhead_us"] + table["data_attempts"] * airtime_us
        assert neighbour["latency_us"] == round(expected_us)


def test_registers_and_counters_are_those_of_the_mac(live):
    told = probe(live, 0)
    registers = told["registers"]
    assert registers["slot"]["value_us"] == 20 and registers["contention_window"]["cw_max"] == 1023
    neighbours = told["neighbours"]
    assert told["statistics"]["delivered"] == sum(
        neighbour["packets"] - neighbour["drops"] for neighbour in neighbours if neighbour["addresses"]
    )
    assert told["statistics"]["rx_delivered"] >= 20
    assert told["statistics"]["rx_bad_fcs"] is None, "nobody counts them here, so nobody may say 0"


def test_the_registers_can_be_read_by_the_api_that_reads_a_radio(live):
    from perhop.export.nodes import RegisterBus
    from perhop.registers import MacRegisters

    node = find_nodes("1", live.name)[0]
    mac = MacRegisters(RegisterBus(node))
    assert mac.read("sifs")["value_us"] == 10
    assert mac.read_tsf_us() > 1_000_000
    table = neighbour_of(probe(live, 1), "10.0.0.3")["table"]
    assert mac.snapshot_neighbour(table["slot"]).service_us == table["service_us"]


def test_text_names_each_part_of_the_time_and_all_nodes(live):
    done = live.perhop("probe", "--name", live.name)
    assert done.returncode == 0, done.stderr
    for word in ("node 0", "node 1", "node 2", "10.0.0.3", "back-off", "SIFS, CTS, MAC ACK", "latency", "EIFS 364 us"):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_a_node_without_its_mac_still_says_so(live):
    """The medium is frozen out: its process is killed and not back yet."""
    before = live.pid("air")
    kill_hard(live.status()["supervisor"])
    kill_hard(before)
    wait_until(lambda: not probe(live, 1)["mac_up"], 5)
    done = live.perhop("probe", "1", "--name", live.name)
    assert done.returncode == 0 and "MAC down" in done.stdout
    told = library.probe(find_nodes("1", live.name)[0])
    assert told["statistics"] == {} and "air.sock" in told["mac_problem"]
    assert "air.sock" in "".join(done.stdout.split())


def test_what_is_not_there_is_said_in_one_line(live):
    for words in (("9",), ("1", "--name", "nosuch"), ("--socket", "/nonexistent.sock")):
        done = live.perhop("probe", *words, *(() if "--name" in words else ("--name", live.name)))
        assert done.returncode == 2 and "remedy" in done.stderr and "Traceback" not in done.stderr
