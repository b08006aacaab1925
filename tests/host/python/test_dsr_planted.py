# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults planted in a copy of DSR's sources: the tests over hand-made topologies must fail for each."""

import pytest
from planted_router import ROOT, compiled, failures, planted

SOURCES = "host/core/routing"
FILES = ("dsr_route_cache.cpp", "dsr_router.cpp", "dsr_router_requests.cpp")

# Name: file, what is right, what is wrong, a test that says so.
FAULTS = {
    "a neighbour that does not answer stays in the routes": (
        "dsr_router.cpp",
        "  cache_.remove_link(self_, next_hop);\n",
        "",
        "DsrBreak.",
    ),
    "a saved packet's list does not begin at the node that saved it": (
        "dsr_router.cpp",
        "route.begin() + (is_own(packet) ? 1 : 0)",
        "route.begin() + 1",
        "DsrSalvage.",
    ),
    "nobody is told of a failed link": ("dsr_router.cpp", "  send_error(next_hop, failed);\n", "", "DsrStale."),
    "a route twice over a node is followed": (
        "dsr_router.cpp",
        " == self_ && is_simple(route_of(packet));",
        " == self_;",
        "DsrLoops.",
    ),
    "an answer from a cache may lead back": (
        "dsr_router_requests.cpp",
        "route.size() > config_.most_nodes || !is_simple(route)) return false;",
        "route.size() > config_.most_nodes) return false;",
        "DsrLoops.",
    ),
}


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """Object files of the tests and of the sources as they are."""
    folder = tmp_path_factory.mktemp("right")
    sources = [*(ROOT / SOURCES / name for name in FILES), ROOT / "host/core/wire/dsr_header.cpp"]
    sources.append(ROOT / "tests/host/routing/test_dsr_router.cc")
    return {source.name: compiled(folder, source) for source in sources}


def test_without_a_fault_the_tests_pass(right, tmp_path):
    assert not failures(tmp_path, list(right.values()))


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(right, tmp_path, name):
    file, as_is, wrong, seen_by = FAULTS[name]
    said = failures(tmp_path, planted(tmp_path, right, ROOT / SOURCES / file, as_is, wrong))
    assert f"[  FAILED  ] {seen_by}" in said, said or "no test failed"
