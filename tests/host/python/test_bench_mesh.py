# SPDX-License-Identifier: GPL-2.0-or-later
"""bench-mesh: each of its judgements can fail, and loss and the hellos' air are counted as they should."""

import sys
from dataclasses import replace

import pytest
from perhop import paths

BENCH = paths.repository() / "sim/bench"
sys.path.insert(0, str(BENCH))
try:
    import bench_mesh
finally:
    sys.path.remove(str(BENCH))

M1 = bench_mesh.Grid(goodput_bps=360e3, jain=0.5, control_share=0.0, loss=0.06)
M2 = bench_mesh.Grid(goodput_bps=180e3, jain=1.0, control_share=0.03, loss=0.05)
MESH = bench_mesh.Mesh(ratios=[0.8, 1.2], control_share=0.03, loss=0.5)


def test_what_is_just_within_the_bounds_holds():
    mesh = replace(MESH, ratios=[0.801, 1.199])
    assert bench_mesh.judge({5: {"m1": M1, "m2": M2}}, [mesh]) == []


@pytest.mark.parametrize(
    ("m2", "said"),
    [
        (replace(M2, goodput_bps=179e3), "M2's goodput times Jain's index is 179 kb/s, M1's 180 kb/s"),
        (replace(M2, control_share=0.031), "hellos take 3.1% of a station's time"),
        (replace(M2, loss=0.051), "5.1% of M2's packets are lost"),
    ],
)
def test_a_grid_just_beyond_a_bound_is_said(m2, said):
    assert bench_mesh.judge({9: {"m1": M1, "m2": m2}}, []) == [f"9x9: {said}"]


def test_a_mesh_just_beyond_a_bound_is_said_whichever_way_a_flow_is_off():
    good = replace(MESH, ratios=[1.0])
    for far in (0.79, 1.21):
        (said,) = bench_mesh.judge({}, [good, replace(MESH, ratios=[1.0, far])])
        assert said == "1 of 2 random meshes are farther than 20 % from the optimum: 2 (21%)"
    (said,) = bench_mesh.judge({}, [good, replace(good, control_share=0.031)])
    assert said.endswith("in random meshes [2]")


def test_loss_is_that_of_all_packets():
    flows = [{"delivered_packets": 90, "loss_share": 0.1}, {"delivered_packets": 300, "loss_share": 0.0}]
    assert bench_mesh.lost_share(flows) == pytest.approx(10 / 400)
    assert bench_mesh.lost_share([{"delivered_packets": 0, "loss_share": 1.0}]) == 1.0


def test_flows_cross_in_the_middle_four_hops_each():
    assert "src: 38, dst: 42" in bench_mesh.crossing(9)
    assert "src: 22, dst: 58" in bench_mesh.crossing(9)
    assert "src: 10, dst: 14" in bench_mesh.crossing(5)
