# SPDX-License-Identifier: GPL-2.0-or-later
"""What bench-sim and bench-grid compare is comparable: the same packets, counted alike."""

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim/bench"))
import bench_grid  # noqa: E402
import bench_sim  # noqa: E402

WINDOW = 3
SIMULATED_S = 30.0
MOST_APART = 0.06


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed; remedy: apt-get install ns2")
@pytest.mark.parametrize("hops", [1, 8])
@pytest.mark.parametrize("peer", ["ns2", "ns2_static"])
def test_at_a_window_of_3_ns_2_delivers_the_same_packets(monkeypatch, tmp_path, peer, hops):
    monkeypatch.setattr(bench_sim, "OUT", tmp_path)
    _, ours, _ = bench_sim.run_ours(bench_sim.BUILD, hops, WINDOW, SIMULATED_S, 1)
    command = bench_sim.peer_command(peer, Path(), hops, WINDOW, SIMULATED_S, 1)
    _, theirs = bench_sim.run_peer(command)
    assert abs(theirs / ours - 1) <= MOST_APART


def test_every_packet_of_the_grid_counts_with_its_hops(monkeypatch, tmp_path):
    monkeypatch.setattr(bench_grid, "OUT", tmp_path)
    ours = bench_grid.Ours(bench_sim.BUILD / "sim/ns3/perhop-sim")
    run = bench_grid.run(ours, 4.0, 1)
    assert run.columns > 0
    assert run.rows > 90
    assert run.packet_hops == 9 * run.columns + run.rows
    assert run.rss_mb > 5
