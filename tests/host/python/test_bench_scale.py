# SPDX-License-Identifier: GPL-2.0-or-later
"""bench-scale: each of its judgements can fail, and its networks are those that it names."""

import sys
from dataclasses import replace

import pytest
from perhop import paths
from perhop.experiment import topology

BENCH = paths.repository() / "sim/bench"
sys.path.insert(0, str(BENCH))
try:
    import bench_scale
finally:
    sys.path.remove(str(BENCH))

COST = bench_scale.Cost(
    flows=50,
    hearers=11.5,
    simulated_s=20,
    cpu_s_per_s=0.06,
    real_time_factor=15.0,
    rss_mb=80.0,
    startup_s=1.5,
    startup_wall_s=1.5,
    transmissions_per_s=27_000,
    clocks_per_transmission=15,
    goodput_bps=4e6,
    shares={},
    trace_hash="",
)
COSTS = {
    64: replace(COST, cpu_s_per_s=0.00384, rss_mb=30 + 0.064 * 50),
    1000: replace(COST, rss_mb=80.0),
    10_000: replace(COST, cpu_s_per_s=0.6 * 1.29, real_time_factor=1.0, rss_mb=30 + 0.05 * 10_000 * 1.1),
}
REPORT = bench_scale.Report(5.0, 10.0)


def test_what_is_just_within_the_bounds_holds():
    assert bench_scale.judge(COSTS, REPORT) == []


@pytest.mark.parametrize(
    ("nodes", "changed", "said"),
    [
        (1000, {"real_time_factor": 14.9}, "1000 nodes: 14.9 times real time, not 15"),
        (1000, {"rss_mb": 81.0}, "1000 nodes: 81 MB, more than 80"),
        (10_000, {"real_time_factor": 0.9}, "10000 nodes: 0.9 times real time, not 1"),
        (10_000, {"rss_mb": 601.0}, "10000 nodes: 601 MB, more than 600"),
        (10_000, {"startup_s": 1.6}, "10000 nodes: start-up takes 1.60 s, more than 1.5"),
        (10_000, {"cpu_s_per_s": 0.8}, "CPU a node at 10000 nodes is 1.34 times that at 1000, beyond 30%"),
        (10_000, {"cpu_s_per_s": 0.4}, "CPU a node at 10000 nodes is 0.66 times that at 1000, beyond 30%"),
        (10_000, {"rss_mb": 300.0}, "memory a node at 10000 nodes is 0.54 times that at 1000, beyond 30%"),
    ],
)
def test_a_network_just_beyond_a_bound_is_said(nodes, changed, said):
    assert bench_scale.judge(COSTS | {nodes: replace(COSTS[nodes], **changed)}, REPORT) == [said]


def test_a_report_that_is_large_or_late_is_said():
    assert bench_scale.judge({}, bench_scale.Report(5.1, 9)) == ["the report of 1000 nodes has 5.1 MB, more than 5"]
    assert bench_scale.judge({}, bench_scale.Report(1, 11)) == ["the report of 1000 nodes takes 11.0 s, more than 10"]


def test_a_program_is_measured_whatever_measures_it_is_like(tmp_path):
    """This process has a hundred megabytes and more."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nhead -c 30000000 /dev/zero | tail -c 20000000 > /dev/null\n")
    program.chmod(0o755)
    (tmp_path / "result.json").write_text('{"told": 1}')
    cpu_s, wall_s, rss_mb, result = bench_scale.measured(program, tmp_path / "run.json")
    assert cpu_s > 0 and wall_s > 0 and 15 < rss_mb < 60 and result == {"told": 1}
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(bench_scale.subprocess.CalledProcessError):
        bench_scale.measured(program, tmp_path / "run.json")


def test_networks_are_connected_with_the_hearers_and_the_hops_that_are_told(tmp_path):
    file = bench_scale.run_file(bench_scale.Network(400, 20), 3.0, 1, tmp_path)
    run = bench_scale.json.loads(file.read_text())
    nodes = [(node["x_m"], node["y_m"]) for node in run["nodes"]]
    assert max(map(len, topology.neighbours(nodes, 550))) == 12
    next_hop = {(node, destination): hop for node, destination, hop in run["routes"]}
    for flow in run["flows"]:
        here, hops = flow["src"], 0
        while here != flow["dst"]:
            here, hops = next_hop[here, flow["dst"]], hops + 1
        assert hops == bench_scale.HOPS
    assert len(run["flows"]) == 20 and run["outputs"]["directory"] == str(tmp_path)
    dense = bench_scale.run_file(bench_scale.Network(400, 1, bench_scale.DENSE_SPACING_M), 3.0, 1, tmp_path)
    nodes = [(node["x_m"], node["y_m"]) for node in bench_scale.json.loads(dense.read_text())["nodes"]]
    assert max(map(len, topology.neighbours(nodes, 550))) == 88
