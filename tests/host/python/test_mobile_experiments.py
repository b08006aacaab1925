# SPDX-License-Identifier: GPL-2.0-or-later
"""Mobile topologies in experiment files: what the simulators are told, what is refused, what results say of them."""

import json
from pathlib import Path

import pytest
from perhop.errors import ExperimentError
from perhop.experiment import motion
from perhop.experiment.cautions import SLOWING, STATIC_ROUTES, cautions
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.live.plan import make_plan
from perhop.mobility import setdest, waypoint
from perhop.realtime.backend import check_real_time

EXAMPLE = Path(__file__).resolve().parents[3] / "sim" / "experiments" / "mobile"

FILE = """\
name: moving
topology: {topology}
routing: {routing}
flows: [{{kind: cbr, src: 0, dst: last, rate_bps: 8000}}]
seeds: [1, 2]
duration_s: 30
warmup_s: 1
"""
WAYPOINT = (
    "{kind: random_waypoint, nodes: 9, width_m: 700, height_m: 300, min_speed_mps: 0, max_speed_mps: 20, seed: 9}"
)
TRACE = """\
$node_(0) set X_ 0
$node_(0) set Y_ 0
$node_(1) set X_ 200
$node_(1) set Y_ 0
$node_(2) set X_ 400
$node_(2) set Y_ 0
$ns_ at 4 "$node_(2) setdest 440 0 5"
$ns_ at 2 "$node_(2) setdest 400 100 10"
$ns_ at 8 "$node_(2) setdest 0 0 0.0"
$ns_ at 31 "$node_(2) setdest 0 0 5"
"""
LEAVES = TRACE + '$ns_ at 9 "$node_(2) setdest 2000 0 50"\n'


@pytest.fixture
def moving(tmp_path):
    def make(topology=WAYPOINT, routing="aodv", trace=TRACE, *overrides, append=""):
        (tmp_path / "trace.tcl").write_text(trace)
        file = tmp_path / "moving.yaml"
        file.write_text(FILE.format(topology=topology, routing=routing) + append)
        return load(file, overrides)

    return make


FROM_FILE = "{kind: setdest, file: trace.tcl}"


def test_random_waypoint_is_told_as_moves_that_all_seeds_of_the_runs_share(moving):
    one, other = (run.config for run in resolve(moving()))
    model = waypoint.Waypoints(9, 700, 300, 0, 20, 0, 30.0)
    trace = waypoint.draw_connected(model, 250, 9).trace
    assert [(node["x_m"], node["y_m"]) for node in one["nodes"]] == list(trace.starts)
    assert [tuple(event.values()) for event in one["events"]] == [
        (turn.at_s, "move", turn.node, turn.x_m, turn.y_m, turn.speed_mps) for turn in trace.turns
    ]
    assert one["events"] == other["events"] and len(one["events"]) > 9
    again = resolve(moving(WAYPOINT, "aodv", TRACE, "topology.seed=10"))[0].config
    assert again["events"] != one["events"]


def test_a_trace_is_looked_for_beside_the_experiment_file_and_told_as_moves(moving):
    config = resolve(moving(FROM_FILE))[0].config
    assert config["nodes"][2] == {"x_m": 400.0, "y_m": 0.0}
    move = {"kind": "move", "node": 2}
    assert config["events"] == [
        {"at_s": 2.0, **move, "x_m": 400.0, "y_m": 100.0, "speed_mps": 10.0},
        {"at_s": 4.0, **move, "x_m": 440.0, "y_m": 0.0, "speed_mps": 5.0},
        # At speed 0 it stays where it is, 20 m after the turn at (400, 20).
        {"at_s": 8.0, **move, "x_m": pytest.approx(417.889, abs=1e-3), "y_m": pytest.approx(11.056, abs=1e-3)},
    ]


def test_scripted_moves_and_those_of_the_topology_go_together(moving):
    events = (
        "events: [{at_s: 3, kind: move, node: 1, x_m: 210, y_m: 0, speed_mps: 2}, {at_s: 1, kind: node_down, node: 0}]"
    )
    found = resolve(moving(FROM_FILE, append=events))[0].config["events"]
    assert [(event["at_s"], event["kind"]) for event in found] == [
        (1, "node_down"),
        (2, "move"),
        (3, "move"),
        (4, "move"),
        (8, "move"),
    ]
    assert found[2]["speed_mps"] == 2


def test_a_route_leads_over_links_as_they_are_at_that_time(moving):
    route = "events: [{{at_s: {at_s}, kind: route, path: [1, 2]}}]"
    assert resolve(moving(FROM_FILE, "static", append=route.format(at_s=3)))
    with pytest.raises(ExperimentError, match="cannot hear each other at 12 s"):
        resolve(moving(FROM_FILE, "static", LEAVES, append=route.format(at_s=12)))


def test_nodes_may_be_apart_at_the_start_where_routes_are_found_on_demand(moving):
    apart = TRACE.replace("X_ 400", "X_ 800")
    run = resolve(moving(FROM_FILE, "aodv", apart))[0]
    assert run.hops == 0 and run.config["routes"] == []
    with pytest.raises(ExperimentError, match="cannot be reached"):
        resolve(moving(FROM_FILE, "static", apart))


def test_a_partition_of_a_given_trace_is_an_error_only_where_the_file_says_so(moving):
    assert resolve(moving(FROM_FILE, "aodv", LEAVES))
    reject = "{kind: setdest, file: trace.tcl, partitions: reject}"
    assert resolve(moving(reject))
    # It is at (417.9, 11.1) at 9 s, and 250 m from node 1 when it has gone 31.7 m more.
    with pytest.raises(ExperimentError, match=r"moving.yaml:2: topology.partitions: is reject, .* at 9\.63") as told:
        resolve(moving(reject, "aodv", LEAVES))
    assert "set it to allow" in told.value.remedy


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        (WAYPOINT.replace("min_speed_mps: 0", "min_speed_mps: 30"), "min_speed_mps: is 30, more than max_speed_mps"),
        (WAYPOINT.replace("min_speed_mps: 0, ", ""), "min_speed_mps: is missing"),
        (WAYPOINT.replace("700", "20000"), "partitions: is reject, and each of 300 traces drawn has a time"),
        ("{kind: setdest, file: other.tcl}", "other.tcl: cannot be read: No such file"),
        ("{kind: setdest, file: ''}", "topology"),
        ("{kind: setdest, file: moving.yaml}", "moving.yaml:1: is no line of setdest's format: 'name: moving'"),
    ],
)
def test_a_mobile_topology_that_cannot_be_is_refused_in_one_message(moving, topology, said):
    with pytest.raises(ExperimentError) as refused:
        resolve(moving(topology))
    assert said in str(refused.value) and refused.value.remedy


def test_a_large_mobile_network_is_not_looked_at_pair_by_pair(moving, perhop, tmp_path):
    large = WAYPOINT.replace("nodes: 9", "nodes: 1025").replace("width_m: 700", "width_m: 9000")
    with pytest.raises(ExperimentError, match=r"of 1024 at most; there are 1025"):
        resolve(moving(large))
    allowed = moving(large.replace("seed: 9", "seed: 9, partitions: allow"))
    assert len(resolve(allowed)[0].config["nodes"]) == 1025
    assert motion.about(allowed[0].experiment, tmp_path) is None
    told = perhop("motion", tmp_path / "moving.yaml")
    assert told.code == 0 and "not surveyed, of more than 1024 nodes" in told.stdout


def test_nodes_go_along_in_simulations_of_frames_only(moving, tmp_path):
    (point,) = moving()
    for backend in ("live", "radio"):
        with pytest.raises(
            ExperimentError, match=r"topology.kind: is random_waypoint, which moves nodes along; with --b"
        ):
            check_real_time(point, backend)
    with pytest.raises(
        ExperimentError, match=r"topology.kind: is random_waypoint, which moves nodes along; in a live net"
    ):
        make_plan(tmp_path / "moving.yaml")
    chain, events = "{kind: chain, hops: 1}", "events: [{at_s: 1, kind: move, node: 1, x_m: 9, y_m: 9, speed_mps: 1}]"
    (point,) = moving(chain, "static", append=events)
    with pytest.raises(ExperimentError, match=r"events.0.speed_mps: moves nodes along"):
        check_real_time(point, "live")
    with pytest.raises(ExperimentError, match=r"events.0.speed_mps: moves nodes along; at fidelity samples"):
        resolve(moving(chain, "static", TRACE, "mac.fidelity=samples", append=events))


def test_what_may_surprise_is_said(moving):
    assert cautions(moving()[0].experiment) == [SLOWING]
    assert cautions(moving(FROM_FILE, "static")[0].experiment) == [STATIC_ROUTES]
    assert cautions(moving(WAYPOINT.replace("speed_mps: 0", "speed_mps: 1"))[0].experiment) == []


def test_the_command_tells_of_traces_and_writes_them_for_ns2(perhop, moving, tmp_path):
    moving()
    done = perhop("motion", tmp_path / "moving.yaml", "--out", tmp_path / "traces", "--json")
    (told,) = json.loads(done.stdout)
    drawn = waypoint.draw_connected(waypoint.Waypoints(9, 700, 300, 0, 20, 0, 30.0), 250, 9)
    assert (told["rejected"], told["partitioned_at_s"]) == (drawn.rejected, None)
    assert told["accepted_mean"] == {"speed_mps": drawn.accepted_mean.speed_mps, "degree": drawn.accepted_mean.degree}
    assert told["all_mean"]["degree"] == drawn.all_mean.degree != drawn.accepted_mean.degree
    assert setdest.load(tmp_path / "traces" / "moving-0.tcl") == drawn.trace
    refused = perhop("motion", EXAMPLE.parent / "chain")
    assert refused.code == 2 and "whose nodes stand" in refused.stderr


def test_results_and_report_say_how_the_nodes_moved(perhop, tmp_path):
    done = perhop("run", EXAMPLE, "--set", "duration_s=8", "--set", "seeds=[1]", "--out", tmp_path / "out")
    assert done.code == 0, done.stderr
    told = json.loads((tmp_path / "out" / "provenance.json").read_text())["motion"]
    assert len(told) == 2 and all(row["partitioned_at_s"] is None for row in told)
    assert told[0]["accepted_mean"]["speed_mps"] != told[1]["accepted_mean"]["speed_mps"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<b>motion</b>" in page and f"mean degree {told[1]['accepted_mean']['degree']:.1f}" in page
