# SPDX-License-Identifier: GPL-2.0-or-later
"""Wired links of an experiment file: what becomes of them in run.json, and what is refused."""

import pytest
from perhop.errors import ExperimentError
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.realtime.backend import check_real_time

FILE = """name: hybrid
topology: {kind: chain, hops: 3, spacing_m: 200}
servers: 1
wires:
  - {delay_ms: 30, rate_mbps: 10}
flows:
  - {kind: tcp, src: first, dst: server}
  - {kind: cbr, src: server, dst: 1, rate_bps: 80000}
duration_s: 20
"""


def points(tmp_path, change=("", "")):
    assert change[0] in FILE
    file = tmp_path / "hybrid.yaml"
    file.write_text(FILE.replace(*change, 1))
    return load(file)


def config(tmp_path, change=("", "")):
    (run,) = resolve(points(tmp_path, change))
    return run.config


def test_a_server_follows_the_nodes_of_the_topology_and_its_wire_begins_at_the_last_of_them(tmp_path):
    run = config(tmp_path)
    assert len(run["nodes"]) == 4
    assert run["servers"] == 1
    assert run["wires"] == [{"a": 3, "b": 4, "rate_bps": 10e6, "delay_us": 30_000, "queue_packets": 100}]
    assert [(flow["src"], flow["dst"]) for flow in run["flows"]] == [(0, 4), (4, 1)]


def test_routes_lead_over_the_gateway_and_back(tmp_path):
    routes = {(node, destination): hop for node, destination, hop in config(tmp_path)["routes"]}
    assert [routes[node, 4] for node in range(4)] == [1, 2, 3, 4]
    assert [routes[node, 0] for node in (4, 3, 2, 1)] == [3, 2, 1, 0]


def test_a_run_without_wires_says_nothing_of_them(tmp_path):
    text = FILE.replace("servers: 1\nwires:\n  - {delay_ms: 30, rate_mbps: 10}\n", "").replace("server", "last")
    file = tmp_path / "air.yaml"
    file.write_text(text)
    (run,) = resolve(load(file))
    assert not {"servers", "wires"} & run.config.keys()


def test_fields_of_a_wire_can_be_swept(tmp_path):
    swept = points(tmp_path, ("duration_s: 20", "duration_s: 20\nsweep: {wires.0.delay_ms: [10, 30.5]}"))
    assert [run.config["wires"][0]["delay_us"] for run in resolve(swept)] == [10_000, 30_500]


def test_a_wire_may_join_two_nodes_with_radios(tmp_path):
    run = config(
        tmp_path,
        ("- {delay_ms: 30, rate_mbps: 10}", "- {delay_ms: 30}\n  - {a: 0, b: 3, delay_ms: 1, queue_packets: 7}"),
    )
    assert run["wires"][1] == {"a": 0, "b": 3, "rate_bps": 100e6, "delay_us": 1_000, "queue_packets": 7}
    assert [0, 4, 3] in run["routes"], "the shorter way"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("servers: 1", "servers: 0"), "wires.0.b: is server, but there is none"),
        (("servers: 1", "servers: 2"), "servers: gives node 5, which no wire joins"),
        (("delay_ms: 30", "a: 3, b: 3, delay_ms: 30"), "wires.0.b: names node a again"),
        (
            ("delay_ms: 30", "b: 5, delay_ms: 30"),
            "wires.0.b: is 5, but the topology has 4 nodes and",
        ),
        (("delay_ms: 30", "b: sever, delay_ms: 30"), "names no node"),
        (
            ("rate_mbps: 10}", "rate_mbps: 10}\n  - {a: server, b: last, delay_ms: 1}"),
            "a second time",
        ),
        (("delay_ms: 30, ", ""), "wires.0.delay_ms: is missing"),
        (("duration_s", "routing: dsr\nduration_s"), "is dsr, which crosses no wire"),
        (("duration_s", "routing: gpsr\nduration_s"), "is gpsr, which crosses no wire"),
        (("kind: cbr, src: server, dst: 1, rate_bps: 80000", "kind: exact, src: 0, dst: 1"), "crosses no wire"),
        (
            ("duration_s", "events: [{at_s: 1, kind: route, path: [0, 4]}]\nduration_s"),
            "of which one is a server, and no wire joins them",
        ),
        (("duration_s", "events: [{at_s: 1, kind: node_down, node: 4}]\nduration_s"), "names node 4"),
        (("duration_s", "links: [{a: 3, b: 4, data_rate_mbps: 1}]\nduration_s"), "links.0.b: is 4"),
    ],
)
def test_what_cannot_work_is_named_with_its_place(tmp_path, change, words):
    with pytest.raises(ExperimentError) as refusal:
        resolve(points(tmp_path, change))
    assert words in str(refusal.value)


def test_a_route_over_a_wire_may_come_during_the_run(tmp_path):
    run = config(tmp_path, ("duration_s", "events: [{at_s: 1, kind: route, path: [0, 1, 2, 3, 4]}]\nduration_s"))
    assert run["events"][0]["path"] == [0, 1, 2, 3, 4]


def test_real_networks_have_no_wires(tmp_path):
    with pytest.raises(ExperimentError, match="wires"):
        check_real_time(points(tmp_path)[0], "live")
