# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop.Simulation: a run that is stepped is the run, and what is changed between steps changes it."""

import json
import re

import perhop
import pytest
from perhop import paths
from perhop.errors import PerhopError

BUILT = (paths.build() / paths.PROGRAMS["perhop-sim"]).is_file()
pytestmark = pytest.mark.skipif(not BUILT, reason="perhop-sim is not built: make programs")

QUICK = {"topology.hops": 3, "duration_s": 5, "warmup_s": 0}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def simulation(**more):
    return perhop.Simulation("chain", **({"policy": "delay", "seed": 1, "settings": QUICK} | more))


def whole_run(policy="delay"):
    results = perhop.run("chain", settings={**QUICK, "policies": [policy]}, seeds=[1], frames="arrow")
    return results.runs.column("trace_hash").to_pylist()[0]


def test_a_run_in_a_thousand_steps_is_the_run():
    with simulation() as stepped:
        for step in range(1, 1001):
            assert stepped.run_until(step * 0.005) == pytest.approx(step * 0.005)
        result = stepped.finish()
    assert result["trace_hash"] == whole_run() and not result["interrupted"]


def test_looking_changes_nothing():
    with simulation() as watched:
        while watched.now_s < watched.end_s:
            watched.step(0.1)
            assert len(watched.nodes) == 4
            (flow,) = watched.flows
            watched.registers(1).read_statistics()
        assert watched.finish()["trace_hash"] == whole_run()
    assert flow.delivered_bytes / 5 * 8 == pytest.approx(flow.measured["goodput_bps"], rel=0.001)
    assert flow.cwl_packets >= 1 and flow.rtt_ms > 0


def test_registers_tell_settings_counters_and_what_a_neighbour_costs():
    with simulation(settings=QUICK | {"mac.long_retry_limit": 6}) as seen:
        seen.run_until(2)
        registers = seen.registers(1)
        assert registers.read("retry_limits")["long_retry_limit"] == 6
        counted = registers.read_statistics()
        assert counted["data_sent"] > 100 and counted["rx_delivered"] > 100
        assert registers.snapshot_neighbour(0).packets > 0
        before = counted["delivered"]
        seen.run_until(3)
        assert seen.registers(1).read_statistics()["delivered"] > before


def test_a_policy_that_is_given_in_between_holds_from_then_on():
    with simulation(policy="none") as changed:
        changed.run_until(2)
        assert changed.flows[0].cwl_packets is None
        changed.set_policy("fixed 2")
        changed.run_until(4)
        (flow,) = changed.flows
        assert flow.cwl_packets == 2 and flow.in_flight_packets <= 3
        result = changed.finish()
    assert result["trace_hash"] not in (whole_run("none"), whole_run("fixed 2"))


def test_a_cut_link_stops_the_flow_and_a_restored_one_lets_it_go_on():
    with simulation(settings=QUICK | {"duration_s": 20}) as cut:
        cut.run_until(3)
        cut.cut_link(1, 2)
        cut.step(0.2)
        stopped = cut.flows[0].delivered_bytes
        cut.run_until(6)
        assert cut.flows[0].delivered_bytes == stopped
        cut.restore_link(1, 2)
        cut.run_until(20)
        assert cut.flows[0].delivered_bytes > stopped + 100_000


def test_events_between_steps_are_those_of_a_file_at_these_times():
    event = {"at_s": 2, "kind": "move", "node": 3, "x_m": 700, "y_m": 10, "speed_mps": 20}
    results = perhop.run(
        "chain", settings={**QUICK, "policies": ["delay"], "events": [event]}, seeds=[1], frames="arrow"
    )
    with simulation() as moved:
        moved.run_until(2)
        moved.move(3, 700, 10, speed_mps=20)
        moved.step(1)
        node = moved.nodes[3]
        assert 700 < node.x_m < 750 and 0 < node.y_m < 10
        assert moved.finish()["trace_hash"] == results.runs.column("trace_hash").to_pylist()[0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda s: s.run_until(-1), "past"),
        (lambda s: s.cut_link(1, 9), "command: field event.b: 9 is not a whole number from 0 to 3"),
        (lambda s: s.cut_link(1, 1), "two different nodes"),
        (lambda s: s.lose(2), "at most 1"),
        (lambda s: s.set_policy("fixd 3"), "fixd 3"),
        (lambda s: s.set_policy("fixed 1..4"), "single policy"),
        (lambda s: s.set_policy("none", flow=3), "flow: 3 is not a whole number"),
        (lambda s: s.registers(7), "node: 7 is not a whole number"),
    ],
)
def test_what_cannot_be_is_told_and_the_simulation_goes_on(wrong, said):
    with simulation() as going:
        going.run_until(0.5)
        with pytest.raises(PerhopError) as caught:
            wrong(going)
        assert said in str(caught.value)
        assert going.step(0.5) == 1.0


def test_one_run_must_be_left_and_be_made_by_a_simulator_with_steps():
    with pytest.raises(PerhopError, match=r"160 runs, which differ in policy, seed, topology\.hops"):
        perhop.Simulation("chain")
    with pytest.raises(PerhopError, match="made by perhop-air"):
        perhop.Simulation("bianchi", seed=1, settings={"topology.stations": 3, "mac.rts_threshold_bytes": 0})


def test_a_simulation_that_is_left_early_has_results_so_far_and_answers_no_more(tmp_path):
    with simulation(out=tmp_path / "kept") as left:
        left.run_until(1)
    result = json.loads((tmp_path / "kept/result.json").read_text())
    assert result["interrupted"] and result["measured_s"] == 1.0
    with pytest.raises(PerhopError, match="has ended"):
        left.step(1)


def test_the_page_of_the_api_does_what_it_says():
    page = (paths.repository() / "docs/how-to/python_api.md").read_text()
    (block,) = [
        each for each in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if "Simulation" in each
    ]
    names = {"perhop": perhop}
    exec(compile(block, "python_api.md", "exec"), names)
    assert names["flow"].delivered_bytes > 0 and len(names["waiting"]) == 5
    assert names["counters"]["data_sent"] > 0 and names["result"]["trace_hash"]
