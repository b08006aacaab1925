# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults planted in a copy of AODV's sources: the tests over hand-made topologies must fail for each."""

import pytest
from planted_router import ROOT, compiled, failures, planted

SOURCES = "host/core/routing"
FILES = ("aodv_router.cpp", "aodv_router_messages.cpp")

# Name: file, what is right, what is wrong, a test that says so.
FAULTS = {
    "a stale sequence number is believed": (
        "aodv_router_messages.cpp",
        "  if (!route.is_worse_than(reply.destination_sequence, hops)) return;\n",
        "",
        "AodvSequence.",
    ),
    "a node answers with an older route than is asked for": (
        "aodv_router_messages.cpp",
        " || (request.destination_sequence && is_newer(*request.destination_sequence, *route.sequence))",
        "",
        "AodvSequence.",
    ),
    "an error for a packet without route is lost": (
        "aodv_router.cpp",
        "everybody, 1);\n    drop(packet, aodv_drop::no_route);\n",
        "everybody, 0);\n    drop(packet, aodv_drop::no_route);\n",
        "AodvBreak.ALostError",
    ),
    "errors are not passed on": (
        "aodv_router_messages.cpp",
        "    if (!route.precursors.empty()) passed_on.lost.push_back(lost);\n",
        "",
        "AodvBreak.",
    ),
    "an error about an older route is believed": (
        "aodv_router_messages.cpp",
        " || is_newer(*route.sequence, lost.sequence)) continue;",
        ") continue;",
        "AodvBreak.",
    ),
    "a repair takes a route that leads back": (
        "aodv_router_messages.cpp",
        "  if (!route.is_worse_than(reply.destination_sequence, hops)) return;\n",
        "  if (route.is != condition::in_repair && !route.is_worse_than(reply.destination_sequence, hops)) return;\n",
        "AodvRepair.WhileNeighbours",
    ),
    "a repair by the RFC asks for the route that broke": (
        "aodv_router.cpp",
        "    if (config_.repair.asks_for_newer) route.outdate();\n",
        "",
        "AodvRepair.ByTheRfc",
    ),
    "what waits for a failed neighbour is kept": (
        "aodv_router.cpp",
        "  actions_.push_back({.what = aodv_action::kind::purge, .next_hop = next_hop});\n",
        "",
        "AodvBreak.",
    ),
}


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """Object files of the tests and of the sources as they are."""
    folder = tmp_path_factory.mktemp("right")
    sources = [*(ROOT / SOURCES / name for name in FILES), ROOT / "host/core/wire/aodv_message.cpp"]
    sources += [ROOT / f"tests/host/routing/test_aodv_{name}.cc" for name in ("repair", "router")]
    return {source.name: compiled(folder, source) for source in sources}


def test_without_a_fault_the_tests_pass(right, tmp_path):
    assert not failures(tmp_path, list(right.values()))


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(right, tmp_path, name):
    file, as_is, wrong, seen_by = FAULTS[name]
    said = failures(tmp_path, planted(tmp_path, right, ROOT / SOURCES / file, as_is, wrong))
    assert f"[  FAILED  ] {seen_by}" in said, said or "no test failed"
