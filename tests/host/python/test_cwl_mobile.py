# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of paper 000's mobile set (rows B-17 to B-21, B-26) on made-up results with something wrong in each."""

import json
import sys
from pathlib import Path

import pytest
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.mobility import waypoint
from perhop.mobility.trace import Trace, Turn
from perhop.study.check import load_check
from perhop.study.results import Results

FOLDER = Path(__file__).resolve().parents[3] / "sim" / "experiments" / "cwl_mobile"
POLICIES = ("no limit", "hop", "delay", "hop + paced", "delay + paced")
# Goodput of each policy over that of 256.
GAINS = {"no limit": 1.0, "hop": 1.1, "delay": 1.05, "hop + paced": 1.12, "delay + paced": 1.04}


@pytest.fixture
def check(monkeypatch):
    """What the folder's check.py defines."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")
    return load_check(FOLDER / "check.py").__globals__


def mobile(gains=None, traces=5, loads=(5, 25), drops=None, rtt_ms=None):
    """Traces that differ far more from each other than policies do in any."""
    gains, drops, rtt_ms = GAINS | (gains or {}), drops or {}, rtt_ms or {}
    flows, runs = [], []
    for count in loads:
        for trace in range(1, traces + 1):
            for policy in POLICIES:
                run = f"{count} {trace} {policy}"
                runs.append(
                    {"run": run, "flows": count, "policy": policy, "sweep.topology.seed": trace}
                    | {"false_link_failures": 30.0, "measured_s": 10.0}
                )
                flows += [
                    {
                        "run": run,
                        "policy": policy,
                        "sweep.topology.seed": trace,
                        "goodput_bps": 1e5 * trace * gains[policy],
                        "delivered_packets": 100.0,
                        "rtt_ms": rtt_ms.get(policy, 400.0 if policy == "no limit" else 60.0),
                        "mac_drops_data_packets": 1.0,
                        "queue_drops_data_packets": drops.get(policy, 5.0 if policy == "no limit" else 1.0),
                        "link_failure_drops_packets": 0.0,
                    }
                    for _ in range(count)
                ]
    return Results(flows, [], [], runs)


def cells(check, **odd):
    found = check["_cells"](mobile(**odd))
    return found, sorted({load for load, _ in found})


@pytest.mark.parametrize(
    ("odd", "verdict"),
    [
        ({}, "pass"),
        ({"gains": {"hop": 1.04}}, "fail"),
        ({"gains": {"hop": 1.21}}, "fail"),
        ({"gains": {"delay": 0.99}}, "fail"),
        ({"gains": {"delay": 1.16, "hop": 1.18}}, "fail"),
        ({"gains": {"delay": 1.11}}, "fail"),
        ({"traces": 4}, "fail"),
        ({"gains": {"hop": 0.99, "delay": 0.95}}, "finding"),
        ({"gains": {"hop": 0.9, "delay": 0.95}}, "fail"),
        ({"gains": {"hop": 0.99, "delay": 0.8}}, "fail"),
    ],
    ids=[
        "as in the paper",
        "hop too little",
        "hop too much",
        "delay less",
        "delay too much",
        "delay above hop",
        "few",
        "no gain",
        "hop loses",
        "delay loses",
    ],
)
def test_gains_are_those_within_a_trace_and_in_the_papers_bounds(check, odd, verdict):
    found = check["_gains"](*cells(check, **odd))
    assert found.verdict == verdict and bool(found.evidence) == (verdict == "finding")
    assert "3.00 / 3.00 / 3.00" in found.measured, "false link failures a second"
    if not odd:
        assert "hop-based +10.0% ± 0.0%" in found.measured


@pytest.mark.parametrize(
    ("odd", "verdict"),
    [
        ({}, "pass"),
        ({"drops": {"hop": 5.0}}, "fail"),
        ({"drops": {"delay": 6.0}}, "fail"),
        ({"rtt_ms": {"delay": 400.0}}, "fail"),
        ({"rtt_ms": {"hop": 500.0}}, "fail"),
    ],
)
def test_delay_and_drops_are_below_those_of_256_at_each_load(check, odd, verdict):
    assert check["_delay_and_drops"](*cells(check, **odd)).verdict == verdict


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ({}, "pass"),
        ({"hop + paced": 1.16}, "fail"),
        ({"delay + paced": 0.99}, "fail"),
        ({"hop + paced": 1.05, "delay + paced": 0.84}, "finding"),
        ({"hop + paced": 0.97, "delay + paced": 0.84}, "fail"),
    ],
)
def test_pacing_changes_less_than_a_twentieth_under_both_limits(check, gains, verdict):
    found = check["_pacing"](*cells(check, gains=gains))
    assert found.verdict == verdict and bool(found.evidence) == (verdict == "finding")


@pytest.mark.parametrize("fault", [None, "trace", "seed", "contender", "timeout"])
def test_the_contenders_have_the_same_traces_and_bounded_timeouts(check, fault, tmp_path):
    results = mobile(traces=2, loads=(5,))
    if fault == "contender":
        results.runs[:] = [row for row in results.runs if row["policy"] != "delay"]
    for row in results.runs:
        odd = row["policy"] == "hop" and row["sweep.topology.seed"] == 2
        config = {
            "nodes": [[0, 0]],
            "events": [[row["sweep.topology.seed"] + (fault == "trace" and odd)]],
            "seed": 1 + (fault == "seed" and odd),
            "flows": [
                {"src": 0, "dst": 1, "start_s": 0.1, "max_rto_ms": 60000 if fault == "timeout" and odd else 2000}
            ],
        }
        (tmp_path / "runs" / row["run"]).mkdir(parents=True)
        (tmp_path / "runs" / row["run"] / "run.json").write_text(json.dumps(config))
    same = check["_same_traces"](results, tmp_path).verdict
    assert same == ("fail" if fault in ("trace", "seed", "contender") else "pass")
    assert check["_related"](results, tmp_path).verdict == ("fail" if fault == "timeout" else "pass")


# --- B-17 -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def traces(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import traces as module

    yield module
    sys.modules.pop("traces", None)


def test_nodes_are_joined_where_links_lead_from_each_to_all(traces):
    trace = Trace(((0.0, 0.0), (200.0, 0.0), (400.0, 0.0)), (Turn(1.0, 1, 200.0, 300.0, 30.0),))
    assert traces.joined_at(trace, [0.0, 1.0, 4.0, 7.0, 20.0], 250) == [True, True, True, False, False]


def provenance(model, range_m=250.0, **odd):
    drawn = waypoint.draw_connected(model, range_m, 5)
    topology = {"nodes": 50, "width_m": 1500.0, "height_m": 300.0, "min_speed_mps": 0.0, "max_speed_mps": 5.0}
    topology |= {"pause_s": 0.0} | odd.get("topology", {})
    means = {"speed_mps": 2.0, "degree": 14.0}
    row = {"rejected": drawn.rejected + odd.get("more_rejected", 0), "accepted_mean": means, "all_mean": means}
    experiment = {"topology": topology, "medium": {"tx_range_m": odd.get("told_range_m", range_m)}, "duration_s": 30.0}
    return drawn, {"experiment": experiment, "points": [{"topology.seed": 5}], "motion": [row]}


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({}, ""),
        ({"topology": {"max_speed_mps": 10.0}}, "max_speed_mps is not 5"),
        ({"told_range_m": 120.0}, "was kept and has a partition"),
        ({"more_rejected": 1}, "was rejected and has no partition"),
    ],
)
def test_kept_traces_hold_together_and_rejected_ones_do_not(traces, odd, said):
    drawn, told = provenance(waypoint.Waypoints(50, 1500, 300, 0, 5, 0, 30.0), **odd)
    found = traces.scenario(told)
    assert found.verdict == ("fail" if said else "pass") and said in found.measured
    if not odd:
        assert f"{drawn.rejected} rejected before them" in found.measured


def test_speeds_are_those_of_each_quarter(traces):
    trace = Trace(((0.0, 0.0), (0.0, 0.0)), (Turn(0.0, 0, 20.0, 0.0, 2.0), Turn(20.0, 1, 60.0, 0.0, 3.0)))
    assert traces.speeds(trace, 40.0) == pytest.approx([1, 0, 1.5, 1.5])


# --- the window -----------------------------------------------------------------------------------------------------


def test_a_window_that_needs_scaling_is_cut_where_a_limit_rules(tmp_path):
    file = tmp_path / "window.yaml"
    file.write_text(
        "name: w\ntopology: {kind: chain, hops: 1}\nflows: [{kind: tcp, max_window_packets: 256}]\n"
        "policies: [none, hop, fixed 8]\nduration_s: 10\n"
    )
    windows = {run.policy: run.config["flows"][0]["max_window_packets"] for run in resolve(load(file))}
    assert windows == {"no limit": 256, "hop": 44, "cwl 8": 44}
