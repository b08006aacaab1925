# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop graph: networkx, which knows nothing of perhop, reads the network of the experiment back."""

import json

import networkx
import pytest

FILE = """\
name: mesh
topology: {topology}
mac: {{profile: dsss_short, data_rate_mbps: 2}}
flows: [{{kind: tcp, src: 0, dst: 1}}]
policies: [none]
duration_s: 10
"""


def graph(perhop, tmp_path, topology, more="", *words):
    (tmp_path / "mesh.yaml").write_text(FILE.format(topology=topology) + more)
    done = perhop("graph", str(tmp_path / "mesh.yaml"), "--out", str(tmp_path / "mesh.graphml"), "--json", *words)
    assert done.code == 0, done.stdout
    read = networkx.read_graphml(tmp_path / "mesh.graphml")
    told = json.loads(done.stdout)
    assert (told["nodes"], told["edges"]) == (read.number_of_nodes(), read.number_of_edges())
    return read


def test_a_grid_is_networkxs_grid(perhop, tmp_path):
    read = graph(perhop, tmp_path, "{kind: grid, rows: 3, columns: 4}")
    assert networkx.is_isomorphic(read, networkx.grid_2d_graph(3, 4))
    assert read.nodes["n5"] == {"kind": "radio", "x_m": 250.0, "y_m": 250.0}
    assert read.edges["n0", "n1"] == {"kind": "air", "distance_m": 250.0, "data_rate_mbps": 2.0}
    assert not read.is_directed()


def test_links_with_rates_of_their_own_and_wires_are_in_it(perhop, tmp_path):
    more = (
        "links: [{a: 1, b: 0, data_rate_mbps: 11, both_ways: false}]\n"
        "servers: 1\nwires: [{a: last, b: server, rate_mbps: 10, delay_ms: 3}]\n"
    )
    read = graph(perhop, tmp_path, "{kind: chain, hops: 2}", more)
    assert read.edges["n0", "n1"]["data_rate_mbps"] == 2 and read.edges["n0", "n1"]["data_rate_back_mbps"] == 11
    assert read.nodes["n3"] == {"kind": "server"}
    assert read.edges["n2", "n3"] == {"kind": "wire", "wire_rate_mbps": 10, "wire_delay_ms": 3}


def test_nodes_that_move_are_where_they_are_at_that_time(perhop, tmp_path):
    (tmp_path / "trace.movements").write_text("0 0 0 10 1000 0\n0 0 100\n")
    topology = "{kind: bonnmotion, file: trace.movements}"
    assert graph(perhop, tmp_path, topology).number_of_edges() == 1
    later = graph(perhop, tmp_path, topology, "", "--at", "5")
    assert later.number_of_edges() == 0 and later.nodes["n0"]["x_m"] == pytest.approx(500)
    assert later.graph["at_s"] == 5


def test_a_sweep_over_the_topology_is_refused(perhop, tmp_path):
    (tmp_path / "mesh.yaml").write_text(
        FILE.format(topology="{kind: chain, hops: 2}") + "sweep: {topology.hops: [1, 2]}\n"
    )
    done = perhop("graph", str(tmp_path / "mesh.yaml"))
    assert done.code == 2 and "2 networks" in done.stderr and "--set topology.hops=4" in done.stderr
