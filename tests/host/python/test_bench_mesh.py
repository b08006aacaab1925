# SPDX-License-Identifier: GPL-2.0-or-later
"""bench-mesh: each of its judgements can fail, and loss and the hellos' air are counted as they should."""

import sys
from dataclasses import replace

import pytest
from perhop import paths
from perhop.errors import PerhopError

BENCH = paths.repository() / "sim/bench"
sys.path.insert(0, str(BENCH))
try:
    import bench_mesh
    import mesh_document
finally:
    sys.path.remove(str(BENCH))

M1 = bench_mesh.Grid(goodput_bps=360e3, jain=0.5, control_share=0.0, loss=0.06)
M2 = bench_mesh.Grid(goodput_bps=180e3, jain=1.0, control_share=0.03, loss=0.05)
MESH = bench_mesh.Mesh(ratios=[0.8, 1.2], control_share=0.03, loss=0.5)


def test_what_is_just_within_the_bounds_holds():
    mesh = replace(MESH, ratios=[0.801, 1.199])
    assert bench_mesh.judge({5: {"m1": M1, "m2": M2}}, {1: mesh}) == []


@pytest.mark.parametrize(
    ("m2", "said"),
    [
        (replace(M2, goodput_bps=179e3), "M2's goodput times Jain's index is 179 kb/s, M1's 180 kb/s"),
        (replace(M2, control_share=0.031), "hellos take 3.1% of a station's time"),
        (replace(M2, loss=0.051), "5.1% of M2's packets are lost"),
    ],
)
def test_a_grid_just_beyond_a_bound_is_said(m2, said):
    assert bench_mesh.judge({9: {"m1": M1, "m2": m2}}, {}) == [f"9x9: {said}"]


def test_a_mesh_just_beyond_a_bound_is_said_whichever_way_a_flow_is_off():
    good = replace(MESH, ratios=[1.0])
    for far in (0.79, 1.21):
        (said,) = bench_mesh.judge({}, {1: good, 7: replace(MESH, ratios=[1.0, far])})
        assert said == "1 of 2 random meshes are farther than 20 % from the optimum: 7 (21%)"
    (said,) = bench_mesh.judge({}, {1: good, 7: replace(good, control_share=0.031)})
    assert said.endswith("in random meshes [7]")


def test_loss_is_that_of_all_packets():
    flows = [{"delivered_packets": 90, "loss_share": 0.1}, {"delivered_packets": 300, "loss_share": 0.0}]
    assert bench_mesh.lost_share(flows) == pytest.approx(10 / 400)
    assert bench_mesh.lost_share([{"delivered_packets": 0, "loss_share": 1.0}]) == 1.0


def test_reports_are_a_quarter_of_the_packets_and_five_a_second_of_slower_flows():
    packet_bits = 8 * 1472
    assert bench_mesh.reports_per_s(40 * packet_bits) == pytest.approx(10)
    assert bench_mesh.reports_per_s(10 * packet_bits) == pytest.approx(5)
    assert bench_mesh.reports_per_s(2 * packet_bits) == pytest.approx(2), "no packet, no report"


def test_flows_cross_in_the_middle_four_hops_each():
    assert "src: 38, dst: 42" in bench_mesh.crossing(9)
    assert "src: 22, dst: 58" in bench_mesh.crossing(9)
    assert "src: 10, dst: 14" in bench_mesh.crossing(5)


def test_the_page_names_what_does_not_hold_first_with_what_was_tried(tmp_path, monkeypatch):
    meshes = {1: replace(MESH, ratios=[0.9, 1.0]), 2: replace(MESH, ratios=[0.5, 1.0])}
    paced = {1: replace(MESH, ratios=[0.9]), 2: replace(MESH, ratios=[0.6])}
    answered = {1: replace(MESH, ratios=[0.9]), 2: replace(MESH, ratios=[0.4])}
    page = tmp_path / "page.md"

    def written(notes):
        (tmp_path / "tried.yaml").write_text(notes)
        monkeypatch.setattr(mesh_document, "TRIED", tmp_path / "tried.yaml")
        failed = bench_mesh.judge({}, meshes)
        mesh_document.write({}, meshes, paced, answered, 0.9, failed, bench_mesh.is_within, page)
        return page.read_text()

    text = written("mesh-2: It was\n tried.\n")
    assert text.index("Of 2 random meshes 1 have") < text.index("**mesh 2**") < text.index("## What is judged")
    paced_udp, answered_udp = "Paced UDP misses it, too, by 40%", "answered UDP misses it, too, by 60%"
    assert f"- **mesh 2**: a flow is 50% off. {paced_udp}, {answered_udp}. It was tried." in text
    assert "| 2 | 0.50 1.00 | 50.0% | 3.00% | 0.60 | 0.40 | **no** |" in text
    with pytest.raises(PerhopError, match="mesh-1"):
        written("mesh-1: It holds.")


def test_only_what_is_named_is_looked_at():
    assert len(bench_mesh.names([])) == 2 + bench_mesh.MESHES
    assert bench_mesh.names(["mesh-1*", "grid-9x9"]) == {"grid-9x9", "mesh-1", *(f"mesh-{n}" for n in range(10, 20))}
    with pytest.raises(PerhopError, match="mesh-21"):
        bench_mesh.names(["mesh-21"])
