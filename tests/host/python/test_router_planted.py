# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults planted in a copy of a router's sources: its tests over hand-made topologies must fail for each."""

import pytest
from planted_router import ROOT, compiled, failures, planted

SOURCES = "host/core/routing"
# Router: what its tests need besides its own sources.
NEEDS = {
    "aodv": ("host/core/wire/aodv_message.cpp", "tests/host/routing/test_aodv_repair.cc"),
    "dsr": ("host/core/wire/dsr_header.cpp",),
    "gpsr": ("host/core/wire/gpsr_header.cpp",),
}

# Router, name: file, what is right, what is wrong, a test that says so.
FAULTS = {
    ("aodv", "a stale sequence number is believed"): (
        "aodv_router_messages.cpp",
        "  if (!route.is_worse_than(reply.destination_sequence, hops)) return;\n",
        "",
        "AodvSequence.",
    ),
    ("aodv", "a node answers with an older route than is asked for"): (
        "aodv_router_messages.cpp",
        " || (request.destination_sequence && is_newer(*request.destination_sequence, *route.sequence))",
        "",
        "AodvSequence.",
    ),
    ("aodv", "an error for a packet without route is lost"): (
        "aodv_router.cpp",
        "everybody, 1);\n    drop(packet, aodv_drop::no_route);\n",
        "everybody, 0);\n    drop(packet, aodv_drop::no_route);\n",
        "AodvBreak.ALostError",
    ),
    ("aodv", "errors are not passed on"): (
        "aodv_router_messages.cpp",
        "    if (!route.precursors.empty()) passed_on.lost.push_back(lost);\n",
        "",
        "AodvBreak.",
    ),
    ("aodv", "an error about an older route is believed"): (
        "aodv_router_messages.cpp",
        " || is_newer(*route.sequence, lost.sequence)) continue;",
        ") continue;",
        "AodvBreak.",
    ),
    ("aodv", "a repair takes a route that leads back"): (
        "aodv_router_messages.cpp",
        "  if (!route.is_worse_than(reply.destination_sequence, hops)) return;\n",
        "  if (route.is != condition::in_repair && !route.is_worse_than(reply.destination_sequence, hops)) return;\n",
        "AodvRepair.WhileNeighbours",
    ),
    ("aodv", "a repair by the RFC asks for the route that broke"): (
        "aodv_router.cpp",
        "    if (config_.repair.asks_for_newer) route.outdate();\n",
        "",
        "AodvRepair.ByTheRfc",
    ),
    ("aodv", "what waits for a failed neighbour is kept"): (
        "aodv_router.cpp",
        "  actions_.push_back({.what = aodv_action::kind::purge, .next_hop = next_hop});\n",
        "",
        "AodvBreak.",
    ),
    ("dsr", "a neighbour that does not answer stays in the routes"): (
        "dsr_router.cpp",
        "  cache_.remove_link(self_, next_hop);\n",
        "",
        "DsrBreak.",
    ),
    ("dsr", "a saved packet's list does not begin at the node that saved it"): (
        "dsr_router.cpp",
        "route.begin() + (is_own(packet) ? 1 : 0)",
        "route.begin() + 1",
        "DsrSalvage.",
    ),
    ("dsr", "nobody is told of a failed link"): (
        "dsr_router.cpp",
        "  send_error(next_hop, failed);\n",
        "",
        "DsrStale.",
    ),
    ("dsr", "a route twice over a node is followed"): (
        "dsr_router.cpp",
        " == self_ && is_simple(route_of(packet));",
        " == self_;",
        "DsrLoops.",
    ),
    ("dsr", "an answer from a cache may lead back"): (
        "dsr_router_requests.cpp",
        "route.size() > config_.most_nodes || !is_simple(route)) return false;",
        "route.size() > config_.most_nodes) return false;",
        "DsrLoops.",
    ),
    ("gpsr", "a neighbour that does not answer is kept"): (
        "gpsr_router.cpp",
        "  neighbours_.forget(next_hop);\n",
        "",
        "GpsrStale.ANeighbourThatDoesNotAnswer",
    ),
    ("gpsr", "a neighbour that was not heard for long is kept"): (
        "gpsr_router.cpp",
        "  neighbours_.forget_silent(now, config_.neighbour_timeout_us);\n",
        "",
        "GpsrStale.ANeighbourThatWasNotHeard",
    ),
    ("gpsr", "the left hand for the right one"): (
        "gpsr_router.cpp",
        "turn < best_turn",
        "one.node != last && turn > best_turn",
        "GpsrVoid.APacketGoesAroundIt",
    ),
    ("gpsr", "no edge is removed from the graph"): (
        "gpsr_neighbours.cpp",
        "return witness.node != one.node && removes(graph, here, one.at, witness.at);",
        "return false;",
        "GpsrCrossing.WhereLinksCross",
    ),
    ("gpsr", "an edge into the next face is taken"): (
        "gpsr_router.cpp",
        "    if (!share) break;\n",
        "    break;\n",
        "GpsrCrossing.AnEdgeThatCrosses",
    ),
    ("gpsr", "a packet goes around and around"): (
        "gpsr_router.cpp",
        "  if (!new_face && perimeter.first_edge_from == self_",
        "  if (new_face && perimeter.first_edge_from == self_",
        "GpsrUnreachable.",
    ),
    ("gpsr", "a packet stays on the perimeter where it is nearer than it was"): (
        "gpsr_router.cpp",
        "route.perimeter && squared_distance(here, goal) >= squared_distance(route.perimeter->entered, goal)",
        "route.perimeter",
        "GpsrVoid.",
    ),
    ("gpsr", "where a packet came from is forgotten"): (
        "gpsr_router.cpp",
        "between(here, packet.came.sender_at)",
        "between(here, here)",
        "GpsrCrossing.AnEdgeThatCrosses",
    ),
}


@pytest.fixture(scope="module")
def router(request, tmp_path_factory):
    """Object files of a router's tests and of its sources as they are; its parameter is the router's name."""
    folder = tmp_path_factory.mktemp("right")
    needed = (*NEEDS[request.param], f"tests/host/routing/test_{request.param}_router.cc")
    sources = [*(ROOT / SOURCES).glob(f"{request.param}_*.cpp"), *(ROOT / name for name in needed)]
    return {source.name: compiled(folder, source) for source in sources}


@pytest.mark.parametrize("router", NEEDS, indirect=True)
def test_without_a_fault_the_tests_pass(router, tmp_path):
    assert not failures(tmp_path, list(router.values()))


@pytest.mark.parametrize(("router", "name"), FAULTS, indirect=["router"])
def test_a_planted_fault_is_seen(request, router, tmp_path, name):
    file, as_is, wrong, seen_by = FAULTS[request.node.callspec.params["router"], name]
    said = failures(tmp_path, planted(tmp_path, router, ROOT / SOURCES / file, as_is, wrong))
    assert f"[  FAILED  ] {seen_by}" in said, said or "no test failed"
