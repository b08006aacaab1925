# SPDX-License-Identifier: GPL-2.0-or-later
"""How `make peers` judges: halves of the chains, contenders between moving nodes, and the windows that ns-2 is told."""

import sys
from pathlib import Path

import pytest
from perhop.mobility.trace import Trace, Turn
from perhop.study.plan import make_plan

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim/bench"))
import bench_peers  # noqa: E402
import peers_mobile  # noqa: E402

# Nodes 0 to 3 are a chain of 200 m hops; node 3 walks away and is there after 100 s.
TRACE = Trace(((0.0, 0.0), (200.0, 0.0), (400.0, 0.0), (600.0, 0.0)), (Turn(10.0, 3, 600.0, 1000.0, 10.0),))


def test_hops_are_those_of_the_shortest_path_of_the_moment():
    before, after = (peers_mobile.hops_between(TRACE, at_s, 250.0) for at_s in (5.0, 100.0))
    assert before.tolist() == [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]
    assert after[0].tolist() == [0, 1, 2, 0]
    assert after[3].tolist() == [0, 0, 0, 0]


def test_ns2_is_told_each_contenders_windows():
    experiment = make_plan(peers_mobile.FILE).points[0].experiment
    trace = Trace(tuple((200.0 * node, 0.0) for node in range(50)))
    lines = {
        policy: list(peers_mobile.flow_lines(experiment, policy, trace)) for policy in ("no limit", "cwl 2", "hop")
    }
    assert lines["no limit"][0] == "flow 0 1 0.1 256 1460 0.2 2.0"
    assert lines["cwl 2"][1] == "flow 2 3 0.3 2 1460 0.2 2.0"
    # Neighbours in number are one hop apart here, two in the round trip: the table's window is 2, said once for each.
    assert lines["hop"][len(experiment.flows) :] == [f"limit 0.0 {index} 2" for index in range(len(experiment.flows))]


def contender(ours_bps: float, ns2_bps: float) -> peers_mobile.Contender:
    return peers_mobile.Contender({1: ours_bps, 2: ours_bps}, {1: ns2_bps, 2: ns2_bps})


@pytest.mark.parametrize(
    ("contenders", "sentences"),
    [
        ({"no limit": contender(100, 110), "hop": contender(130, 120)}, 0),
        ({"no limit": contender(100, 120), "hop": contender(130, 130)}, 1),  # a sixth below
        ({"no limit": contender(100, 104), "hop": contender(103, 101)}, 1),  # the other order
    ],
)
def test_a_contender_is_within_15_percent_and_in_ns2s_order(contenders, sentences):
    assert len(peers_mobile.judge(contenders)) == sentences


@pytest.mark.parametrize(
    ("ns2_hop_bps", "told"),
    [
        ({1: 101, 2: 104, 3: 107}, ""),  # in every trace ahead of 100, 103, 106
        ({1: 96, 2: 109, 3: 107}, ", and ns-2's traces do not tell them apart"),
    ],
)
def test_another_order_fails_and_it_is_said_whether_ns2s_traces_tell_it(ns2_hop_bps, told):
    ours = {1: 100.0, 2: 103.0, 3: 106.0}
    contenders = {
        "no limit": peers_mobile.Contender(ours, ours),
        "hop": peers_mobile.Contender({trace: bps - 2 for trace, bps in ours.items()}, ns2_hop_bps),
    }
    assert len(peers_mobile.judge(contenders)) == 1
    (pair,) = peers_mobile.pairs(contenders)
    assert pair.higher == "hop" and not pair.equal
    assert pair.words.endswith(f": the other way round{told}")
    assert peers_mobile.order_words(contenders).startswith("another order than ns-2's: from the least hop, no limit;")


def test_a_half_is_its_own_windows():
    points = {(3, 4): (110.0, 100.0), (3, 8): (80.0, 100.0), (6, 8): (130.0, 100.0)}
    small, large = bench_peers.half(points, True), bench_peers.half(points, False)
    assert (small.deviation, small.bias) == (pytest.approx(0.10), pytest.approx(0.10))
    assert not small.holds  # biased
    assert (large.deviation, large.bias) == (pytest.approx(0.25), pytest.approx(0.05))
    assert not large.holds
