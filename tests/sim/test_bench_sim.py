# SPDX-License-Identifier: GPL-2.0-or-later
"""What bench-sim and bench-grid compare is comparable: the same packets, counted alike."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim/bench"))
import bench_grid  # noqa: E402
import bench_sim  # noqa: E402
import builds  # noqa: E402

WINDOW = 3
SIMULATED_S = 30.0
MOST_APART = 0.06


@pytest.mark.skipif(shutil.which("ns") is None, reason="ns-2 is not installed; remedy: apt-get install ns2")
@pytest.mark.parametrize("hops", [1, 8])
@pytest.mark.parametrize("peer", ["ns2", "ns2_static"])
def test_at_a_window_of_3_ns_2_delivers_the_same_packets(monkeypatch, tmp_path, peer, hops):
    monkeypatch.setattr(bench_sim, "OUT", tmp_path)
    _, ours, _ = bench_sim.run_ours(bench_sim.BUILD, hops, WINDOW, SIMULATED_S, 1)
    command = bench_sim.peer_command(peer, {}, hops, WINDOW, SIMULATED_S, 1)
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


def test_each_bound_that_does_not_hold_is_named():
    holds = {"ours_us": 1.0, "ns2_static_us": 3.1, "ns3_us": 31.0}
    assert (
        bench_sim.judge({"3": {"1": holds, "8": holds, "15": holds, "4": {"ours_us": 9.0, "ns2_static_us": 1.0}}}) == []
    )
    assert bench_sim.judge({"44": {"8": {**holds, "ns2_static_us": 2.5}}}) == [
        "8 hops, window 44: 0.40 of what ns-2 static takes, not 0.33"
    ]
    assert bench_sim.judge({"3": {"1": {**holds, "ns2_static_us": 1.25}, "8": {**holds, "ns3_us": 20.0}}}) == [
        "1 hops, window 3: 0.80 of what ns-2 static takes, not 0.60",
        "8 hops, window 3: 0.05 of what ns-3 Wi-Fi takes, not 0.03",
    ]


def planted_ns3(folder: Path, without: str = "") -> Path:
    """The folder `build` of an ns-3 that was built for speed, its files empty."""
    names = [f"lib/libns3.44-{module}-optimized.so" for module in builds.MODULES.split()]
    for name in ["include/ns3/core-module.h", *names]:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if name != without:
            file.touch()
    return folder


def test_an_ns_3_built_for_speed_is_taken_where_all_of_it_is_there(tmp_path):
    found = builds.built_for_speed(str(planted_ns3(tmp_path)))
    assert found.missing is None
    assert found.definitions == (f"-DPERHOP_NS3={tmp_path}",)
    assert found.build != builds.WHEEL.build
    assert builds.WHEEL.missing is None


@pytest.mark.parametrize("lacks", ["lib/libns3.44-wifi-optimized.so", "include/ns3/core-module.h"])
def test_what_an_ns_3_lacks_is_named_with_what_to_do(tmp_path, lacks):
    planted_ns3(tmp_path, without=lacks)
    with pytest.raises(argparse.ArgumentTypeError, match=f"{lacks} is not there; remedy: .*build-profile=optimized"):
        builds.built_for_speed(str(tmp_path))


def test_cmake_names_what_an_ns_3_lacks(tmp_path):
    lacks = "lib/libns3.44-internet-optimized.so"
    ns3 = planted_ns3(tmp_path / "build", without=lacks)
    configure = ["cmake", "-S", ROOT / "sim/ns3", "-B", tmp_path / "configured", "-G", "Ninja", f"-DPERHOP_NS3={ns3}"]
    done = subprocess.run(configure, capture_output=True, text=True)
    said = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert f"ns-3 has no {ns3}/{lacks}" in said and "--build-profile=optimized" in said
