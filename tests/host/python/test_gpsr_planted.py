# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults planted in a copy of GPSR's sources: the tests over hand-made topologies must fail for each."""

import pytest
from planted_router import ROOT, compiled, failures, planted

SOURCES = "host/core/routing"
FILES = ("gpsr_neighbours.cpp", "gpsr_router.cpp")

# Name: file, what is right, what is wrong, a test that says so.
FAULTS = {
    "a neighbour that does not answer is kept": (
        "gpsr_router.cpp",
        "  neighbours_.forget(next_hop);\n",
        "",
        "GpsrStale.ANeighbourThatDoesNotAnswer",
    ),
    "a neighbour that was not heard for long is kept": (
        "gpsr_router.cpp",
        "  neighbours_.forget_silent(now, config_.neighbour_timeout_us);\n",
        "",
        "GpsrStale.ANeighbourThatWasNotHeard",
    ),
    "the left hand for the right one": (
        "gpsr_router.cpp",
        "turn < best_turn",
        "one.node != last && turn > best_turn",
        "GpsrVoid.APacketGoesAroundIt",
    ),
    "no edge is removed from the graph": (
        "gpsr_neighbours.cpp",
        "return witness.node != one.node && removes(graph, here, one.at, witness.at);",
        "return false;",
        "GpsrCrossing.WhereLinksCross",
    ),
    "an edge into the next face is taken": (
        "gpsr_router.cpp",
        "    if (!share) break;\n",
        "    break;\n",
        "GpsrCrossing.AnEdgeThatCrosses",
    ),
    "a packet goes around and around": (
        "gpsr_router.cpp",
        "  if (!new_face && perimeter.first_edge_from == self_",
        "  if (new_face && perimeter.first_edge_from == self_",
        "GpsrUnreachable.",
    ),
    "a packet stays on the perimeter where it is nearer than it was": (
        "gpsr_router.cpp",
        "route.perimeter && squared_distance(here, goal) >= squared_distance(route.perimeter->entered, goal)",
        "route.perimeter",
        "GpsrVoid.",
    ),
    "where a packet came from is forgotten": (
        "gpsr_router.cpp",
        "between(here, packet.came.sender_at)",
        "between(here, here)",
        "GpsrCrossing.AnEdgeThatCrosses",
    ),
}


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """Object files of the tests and of the sources as they are."""
    folder = tmp_path_factory.mktemp("right")
    sources = [*(ROOT / SOURCES / name for name in FILES), ROOT / "host/core/wire/gpsr_header.cpp"]
    sources.append(ROOT / "tests/host/routing/test_gpsr_router.cc")
    return {source.name: compiled(folder, source) for source in sources}


def test_without_a_fault_the_tests_pass(right, tmp_path):
    assert not failures(tmp_path, list(right.values()))


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(right, tmp_path, name):
    file, as_is, wrong, seen_by = FAULTS[name]
    said = failures(tmp_path, planted(tmp_path, right, ROOT / SOURCES / file, as_is, wrong))
    assert f"[  FAILED  ] {seen_by}" in said, said or "no test failed"
