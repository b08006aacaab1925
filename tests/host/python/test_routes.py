# SPDX-License-Identifier: GPL-2.0-or-later
"""Static routes and the positions they rest on."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perhop.errors import FieldError
from perhop.experiment import routes, topology
from perhop.experiment import schema as ex
from pydantic import TypeAdapter

MEDIUM = ex.Medium()
TOPOLOGY = TypeAdapter(ex.Topology)


def positions(**fields):
    return topology.positions(TOPOLOGY.validate_python(fields), MEDIUM)


def test_a_chain_is_a_line():
    assert positions(kind="chain", hops=3, spacing_m=200.0) == [(0, 0), (200, 0), (400, 0), (600, 0)]


def test_neighbours_on_a_ring_are_the_spacing_apart():
    nodes = positions(kind="ring", nodes=7)
    assert topology.neighbours(nodes, 250) == [sorted(((i - 1) % 7, (i + 1) % 7)) for i in range(7)]


def test_a_cross_shares_its_middle_node():
    nodes = positions(kind="cross", hops=4)
    assert len(nodes) == 9 and len(set(nodes)) == 9
    middle = nodes.index((0, 0))
    assert middle == 2 and len(topology.neighbours(nodes, 250)[middle]) == 4
    assert routes.path(topology.neighbours(nodes, 250), 5, 8) == [5, 6, 2, 7, 8]


def test_all_stations_of_a_star_hear_each_other():
    nodes = positions(kind="star", stations=5)
    assert all(len(heard) == 5 for heard in topology.neighbours(nodes, 250))
    assert {round(math.dist(nodes[0], node), 9) for node in nodes[1:]} == {10}


def test_a_random_network_is_connected_and_the_same_for_its_seed():
    fields = {"kind": "random", "nodes": 12, "width_m": 800.0, "height_m": 300.0, "seed": 5}
    nodes = positions(**fields)
    assert nodes == positions(**fields) != positions(**{**fields, "seed": 6})
    assert all(routes.path(topology.neighbours(nodes, 250), 0, node) for node in range(12))
    assert all(0 <= x <= 800 and 0 <= y <= 300 for x, y in nodes)


@given(
    st.lists(
        st.tuples(*[st.integers(-40, 40).map(lambda step: step * 62.5)] * 2), min_size=1, max_size=60, unique=True
    ),
    st.sampled_from([62.5, 100.0, 250.0, 1e5]),
)
def test_neighbours_are_those_that_a_look_at_every_pair_finds(nodes, tx_range_m):
    """Most distances are whole multiples of the range, so that what lies on a border of two squares counts."""
    expected = [
        [j for j, other in enumerate(nodes) if j != i and math.dist(node, other) <= tx_range_m + 1e-6]
        for i, node in enumerate(nodes)
    ]
    assert topology.neighbours(nodes, tx_range_m) == expected


def test_ten_thousand_nodes_have_neighbours_and_paths_in_seconds():
    nodes = positions(kind="grid", rows=100, columns=100)
    links = topology.neighbours(nodes, 250)
    assert sum(map(len, links)) == 4 * 100 * 99
    found = routes.routes(links, [(5050 + far, 5050) for far in range(1, 40)])
    assert len(found) == 39 + 39 * 40 / 2, "39 nodes towards the middle one, and back to each of them from all before"


def test_a_grid_may_have_65536_nodes_and_no_more():
    assert len(positions(kind="grid", rows=256, columns=256)) == 65536
    with pytest.raises(FieldError, match="has 65792 nodes, more than 65536"):
        positions(kind="grid", rows=257, columns=256)


def test_a_chain_routes_both_ways_along_itself():
    links = topology.neighbours(positions(kind="chain", hops=2), 250)
    found = {(route.node, route.destination): route.next_hop for route in routes.routes(links, [(0, 2)])}
    assert found == {(0, 2): 1, (1, 2): 2, (2, 0): 1, (1, 0): 0}


def followed(table, src, dst):
    """The nodes that packets take from src to dst."""
    nodes = [src]
    while nodes[-1] != dst:
        nodes.append(table[nodes[-1], dst])
    return nodes


@pytest.mark.parametrize("pairs", [[(0, 5), (5, 0)], [(5, 0), (0, 5)]])
def test_what_returns_to_a_node_leaves_the_flows_to_it_their_path(pairs):
    """A ring of six: by the lowest indices a packet from 0 to 5 goes over 1 and 4, and one from 5 to 0 over 3 and 2."""
    ring = [[1, 2], [0, 4], [0, 3], [2, 5], [1, 5], [3, 4]]
    table = {(route.node, route.destination): route.next_hop for route in routes.routes(ring, pairs)}
    assert followed(table, 0, 5) == [0, 1, 4, 5]
    assert followed(table, 5, 0) == [5, 3, 2, 0]


def test_there_is_no_path_between_islands():
    with pytest.raises(routes.Unreachable):
        routes.path([[1], [0], [3], [2]], 0, 3)


@st.composite
def networks(draw):
    """Symmetric links between up to 12 nodes, and two of them."""
    count = draw(st.integers(2, 12))
    pairs = [(i, j) for i in range(count) for j in range(i)]
    links = [[] for _ in range(count)]
    for (i, j), linked in zip(
        pairs, draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs))), strict=True
    ):
        if linked:
            links[i].append(j)
            links[j].append(i)
    src = draw(st.integers(0, count - 1))
    return links, src, draw(st.integers(0, count - 1).filter(lambda node: node != src))


def least_hops(links, src, dst):
    """Hops from src to dst by growing the set of nodes reached, or None."""
    reached, hops = {src}, 0
    while dst not in reached:
        grown = reached | {other for node in reached for other in links[node]}
        if grown == reached:
            return None
        reached, hops = grown, hops + 1
    return hops


@given(networks())
def test_a_path_has_the_fewest_hops(network):
    links, src, dst = network
    hops = least_hops(links, src, dst)
    if hops is None:
        with pytest.raises(routes.Unreachable):
            routes.path(links, src, dst)
        return
    path = routes.path(links, src, dst)
    assert len(path) == hops + 1 and path[0] == src and path[-1] == dst
    assert all(there in links[here] for here, there in itertools.pairwise(path))


@given(networks(), st.data())
def test_following_the_routes_of_several_flows_leads_there_and_back(network, data):
    links, *_ = network
    nodes = st.integers(0, len(links) - 1)
    pairs = data.draw(st.lists(st.tuples(nodes, nodes).filter(lambda pair: pair[0] != pair[1]), min_size=1, max_size=6))
    pairs = [pair for pair in pairs if least_hops(links, *pair) is not None]
    table = {(route.node, route.destination): route.next_hop for route in routes.routes(links, pairs)}
    for src, dst in pairs:
        assert followed(table, src, dst) == routes.path(links, src, dst), "every flow has its own path"
        assert len(followed(table, dst, src)) == least_hops(links, dst, src) + 1
