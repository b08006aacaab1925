# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of rows X-03 to X-12 on made-up results, in each of which something is wrong."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from perhop.reproduce import tfrc_rows, tfrc_runs
from perhop.reproduce.tfrc_runs import Measured
from perhop.study.check import load_check
from perhop.study.results import Results
from perhop.study.summaries import Mean

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"

AS_IN_THE_PAPER = Measured(
    fairness=0.5,
    tcp_changes_more=0.8,
    smoothness=0.5,
    loss=2.0,
    prediction_error=0.8,
    correlation=0.1,
    loss_event_variation=0.4,
    tfrc_bps=1e4,
    tcp_bps=2e4,
    tfrc_loss=0.04,
    tcp_loss=0.02,
)


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def check_of(folder: str) -> dict:
    return load_check(EXPERIMENTS / folder / "check.py").__globals__


def runs(**odd):
    """Four places at three rates, as in the paper; `odd` in two runs of the first place at the lowest rate."""
    scenarios = {
        (f"{hops} hops", rate): [replace(AS_IN_THE_PAPER, fairness=0.5 - rate / 1000)] * 2
        for hops in (1, 2, 3, 4)
        for rate in (10.0, 30.0, 50.0)
    }
    scenarios["1 hops", 10.0] = [replace(one, **odd) for one in scenarios["1 hops", 10.0]]
    return scenarios


JUDGES = {
    "fairness": tfrc_rows.fairness,
    "loss": tfrc_rows.loss,
    "correlation": tfrc_rows.correlation,
}


@pytest.mark.parametrize(
    ("name", "value", "holds"),
    [
        ("fairness", 0.51, True),
        ("fairness", 0.91, False),
        ("fairness", 0.14, False),
        ("fairness", None, False),
        ("loss", 1.01, True),
        ("loss", 1.0, False),
        ("loss", None, False),
        ("correlation", -0.29, True),
        ("correlation", -0.31, False),
        ("correlation", 0.31, False),
        ("correlation", None, False),
    ],
)
def test_one_scenario_outside_its_bounds_breaks_a_row(name, value, holds):
    judged = JUDGES[name](runs(**{name: value}))
    assert bool(judged.broken) != holds
    assert set(judged.wrong) == (set() if holds else {("1 hops", 10.0)})
    assert judged.verdict().verdict == ("pass" if holds else "fail")


def test_the_ratio_must_fall_with_the_background_in_three_quarters_of_the_places():
    of = runs()
    of["1 hops", 50.0] = [replace(AS_IN_THE_PAPER, fairness=0.6)]
    assert not tfrc_rows.fairness(of).broken
    of["2 hops", 50.0] = [replace(AS_IN_THE_PAPER, fairness=0.6)]
    judged = tfrc_rows.fairness(of)
    assert judged.broken == ["falls with the background in 2 of 4 places only"]
    assert {place for place, _ in judged.wrong} == {"1 hops", "2 hops"}


def test_tcp_must_change_more_in_seven_tenths_of_all_steps():
    assert not tfrc_rows.short_term(runs(tcp_changes_more=0.1)).broken
    assert tfrc_rows.short_term({key: [replace(AS_IN_THE_PAPER, tcp_changes_more=0.69)] for key in runs()}).broken


def test_smoothness_must_be_in_bounds_in_four_fifths_of_the_scenarios():
    of = runs(smoothness=0.81)
    of["2 hops", 10.0] = [replace(AS_IN_THE_PAPER, smoothness=0.24)]
    assert not tfrc_rows.smoothness(of).broken
    of["3 hops", 10.0] = [replace(AS_IN_THE_PAPER, smoothness=0.9)]
    assert tfrc_rows.smoothness(of).broken


def test_a_deviation_that_the_evidence_is_not_about_is_no_finding():
    judged = tfrc_rows.fairness(runs(fairness=5.0))
    assert judged.verdict("Tried.", lambda scenario, value: value.value < 6).verdict == "finding"
    assert judged.verdict("Tried.", lambda scenario, value: value.value < 4).verdict == "fail"


@pytest.mark.parametrize(
    ("scenario", "ratio", "known"),
    [
        (("1 hop", 10.0), 0.5, True),
        (("2 hops", 50.0), 0.95, False),
        (("3 hops", 10.0), 6.0, True),
        (("6 hops", 10.0), 16.0, False),
        (("4 hops", 10.0), 0.1, False),
    ],
)
def test_the_chains_evidence_is_about_an_inversion_from_three_hops_on(scenario, ratio, known):
    assert check_of("tfrc_chain")["_known_ratio"](scenario, Mean(ratio, 0.0, 1)) == known


@pytest.mark.parametrize(
    ("hops", "error", "verdict"),
    [
        (1, 0.54, "fail"),
        (2, 0.54, "fail"),
        (2, 0.96, "finding"),
        (1, 1.06, "fail"),
        (3, 6.1, "fail"),
        (1, 0.99, "finding"),
        (3, 4.0, "finding"),
        (4, 1.0, "pass"),
        (6, 0.6, "fail"),
        (6, 1.1, "finding"),
    ],
)
def test_the_prediction_error_has_a_band_for_short_chains_and_one_for_long_ones(hops, error, verdict):
    check = check_of("tfrc_chain")
    errors = {(check["_place"](length), 30.0): Mean(0.8, 0.0, 1) for length in check["HOPS"]}
    errors[check["_place"](hops), 30.0] = Mean(error, 0.0, 1)
    assert check["_prediction"](errors).verdict == verdict


# --- what is measured of a run --------------------------------------------------------------------------------------


def test_smoothness_is_the_mean_change_and_leaves_out_what_follows_nothing():
    assert tfrc_runs.smoothness_index([10, 15, 15, 0, 10]) == pytest.approx((0.5 + 0 + 1) / 3)
    assert tfrc_runs.smoothness_index([0, 0, 5]) is None


def test_changes_are_compared_step_by_step():
    assert tfrc_runs.changes_more([0, 9, 9, 0], [0, 1, 3, 2]) == pytest.approx(2 / 3)


def test_the_correlation_of_intervals_is_that_of_the_prediction():
    draws = random.Random(3)
    none = [draws.expovariate(1) for _ in range(4000)]
    assert abs(tfrc_runs.correlation(none)) < 0.05
    slow = [100 + (index // 200 % 2) * 100 + draws.uniform(-5, 5) for index in range(4000)]
    assert tfrc_runs.correlation(slow) > 0.9
    turns = [100 + 50 * (-1) ** index for index in range(4000)]
    assert tfrc_runs.correlation(turns, [1.0]) == pytest.approx(-1, abs=0.01)
    assert tfrc_runs.correlation(none[:15]) is None and tfrc_runs.correlation(none[:16]) is not None


def test_a_run_is_measured_by_what_its_receivers_got(tmp_path):
    (tmp_path / "runs" / "r").mkdir(parents=True)
    lines = ["t_us,flow,predicted_packets,true_packets", *(f"{n},1,{10 + n % 2},20" for n in range(4))]
    (tmp_path / "runs" / "r" / "loss_intervals.csv").write_text("\n".join(lines) + "\n")
    flows = [
        {"run": "r", "flow": 0, "kind": "tcp", "goodput_bps": 4e3, "loss_share": 0.1, "mac_drops_data_packets": 70.0},
        {"run": "r", "flow": 1, "kind": "tfrc", "goodput_bps": 1e3, "loss_share": 0.2, "loss_prediction_error": 0.7},
        {"run": "r", "flow": 2, "kind": "cbr", "goodput_bps": 9e9, "loss_share": 0.9},
    ]
    rates = {0: (2e3, 6e3, 2e3), 1: (1e3, 1e3, 2e3), 2: (5e9, 0.0, 5e9)}
    kinds = {row["flow"]: row["kind"] for row in flows}
    intervals = [
        {"run": "r", "flow": flow, "kind": kinds[flow], "t_start_s": 10.0 * index, "goodput_bps": rate}
        for flow, of in rates.items()
        for index, rate in reversed(list(enumerate(of)))
    ]
    found = tfrc_runs.measure(Results(flows, [], intervals), tmp_path)["r"]
    assert found.fairness == 0.25 and found.loss == pytest.approx(2) and found.prediction_error == 0.7
    assert found.tcp_changes_more == 1
    assert found.smoothness == pytest.approx((0.5) / ((2 + 2 / 3) / 2))
    assert found.correlation is None and found.loss_event_variation == pytest.approx(0.5 / 10.5)


# --- harnesses, link, history ---------------------------------------------------------------------------------------


def chain_flows(kinds=("tcp",) * 10 + ("tfrc",) * 10 + ("cbr",), hops=(1, 2, 3, 4, 5, 6), stalled=None):
    flows = []
    for length in hops:
        for flow, kind in enumerate(kinds):
            got = float((length, flow) != stalled)
            row = {"run": f"r{length}", "hops": length, "kind": kind, "delivered_packets": got, "loss_share": 0.1}
            flows.append(row)
    return Results(flows, [], [])


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        (chain_flows(), "pass"),
        (chain_flows(hops=(1, 2, 3, 4, 5)), "fail"),
        (chain_flows(kinds=("tcp",) * 11 + ("tfrc",) * 9 + ("cbr",)), "fail"),
        (chain_flows(kinds=("tcp",) * 10 + ("tfrc",) * 10), "fail"),
        (chain_flows(stalled=(4, 12)), "fail"),
    ],
    ids=["as in the paper", "a chain missing", "other flows", "no background", "a flow without a packet"],
)
def test_the_static_scenarios_are_the_papers(results, verdict):
    if not any(row["kind"] == "cbr" for row in results.flows):
        results.flows.append({**results.flows[0], "run": "other", "kind": "cbr"})
    assert check_of("tfrc_chain")["_harness"](results).verdict == verdict


def dynamic(fault=None):
    areas = {"600": (600, 600, 50), "1500": (1500, 300, 60)}
    flows, points, motion = [], [], []
    for run, (width, height, nodes) in areas.items():
        topology = {"width_m": width, "height_m": height, "nodes": nodes, "max_speed_mps": 10.0}
        if fault == "nodes" and run == "600":
            topology["nodes"] = 40
        points.append({"topology": topology})
        motion.append({"rejected": 1, "partitioned_at_s": 3.0 if fault == "partition" and run == "1500" else None})
        for kind in ("tcp", "tfrc", "cbr"):
            for n in range(9 if fault == "flows" and kind == "tfrc" else 10):
                got = 0.0 if fault == "stalled" and (kind, n) == ("tfrc", 3) else 9.0
                flows.append({"run": run, "kind": kind, "delivered_packets": got, "sweep.topology": topology})
    results = Results(flows, [], [], [{"run": run, "link_failures": 9, "measured_s": 3.0} for run in areas])
    return results, {"points": points, "motion": motion}


@pytest.mark.parametrize("fault", [None, "nodes", "partition", "flows", "stalled"])
def test_the_dynamic_scenarios_are_the_papers(fault):
    assert check_of("tfrc_mobile")["_harness"](*dynamic(fault)).verdict == ("fail" if fault else "pass")


def write_completions(folder, rates_bps):
    """A data packet each second of a span at a rate, with a TCP ACK, another link and a lost packet beside it."""
    folder.mkdir(parents=True)
    lines = ["t_done_us,node,next_hop,mpdu_bytes,result,t_head_us"]
    for span, rate in enumerate(rates_bps):
        for second in range(10):
            done = (span * 10 + second) * 1_000_000 + 500_000
            head = done - round(8e6 * 1050 / rate)
            lines += [f"{done},1,2,1050,delivered,{head}", f"{done},1,2,94,delivered,{done - 1}"]
            lines += [f"{done},2,3,1050,delivered,{done - 1}", f"{done},1,2,1050,dropped,{done - 1}"]
    lines.append(f"{len(rates_bps) * 10_000_000},0,1,94,delivered,1")
    (folder / "completions.csv").write_text("\n".join(lines) + "\n")


def mixed(folder):
    """A packet at 200 kb/s and one of the same size at 50 kb/s in a span, which takes four times as long."""
    file = folder / "mixed.csv"
    took_us = [round(8e6 * 1050 / rate) for rate in (2e5, 5e4)]
    lines = [f"{900_000 * (n + 1)},1,2,1050,delivered,{900_000 * (n + 1) - us}" for n, us in enumerate(took_us)]
    last = "10000000,0,1,94,delivered,1"
    file.write_text("\n".join(["t_done_us,node,next_hop,mpdu_bytes,result,t_head_us", *lines, last]) + "\n")
    return file


@pytest.mark.parametrize(("other_bps", "verdict"), [(1.3e5, "pass"), (1.1e5, "fail")])
def test_a_links_bandwidth_must_vary_from_span_to_span(other_bps, verdict, tmp_path):
    check = check_of("tfrc_link")
    write_completions(tmp_path / "runs" / "r", [1e5, other_bps] * 5)
    assert check["bandwidths_bps"](tmp_path / "runs" / "r" / "completions.csv") == pytest.approx(
        [1e5, other_bps] * 5, rel=1e-3
    )
    assert check["bandwidths_bps"](mixed(tmp_path))[0] == pytest.approx(8e4)
    assert check["means_of_packets_bps"](mixed(tmp_path))[0] == pytest.approx(1.25e5)
    found = check["check"](Results([], [], [], [{"run": "r"}]), tmp_path)
    assert found.rows["X-10"].verdict == verdict


def history(**changes):
    lengths = (2, 4, 8, 16, 32, 64, 128)
    table = {
        "fairness": dict(zip(lengths, (0.4, 0.45, 0.5, 0.52, 0.5, 0.53, 0.55), strict=True)),
        "smoothness": dict(zip(lengths, (0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4), strict=True)),
    }
    for name, (length, value) in changes.items():
        table[name][length] = value
    return table


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({}, 0),
        ({"smoothness": (64, 0.51)}, 1),
        ({"fairness": (2, 0.5)}, 1),
        ({"fairness": (128, 0.66)}, 1),
    ],
)
def test_a_longer_history_is_smoother_and_from_eight_on_as_fair(changes, broken):
    assert len(check_of("tfrc_history")["broken"](history(**changes))) == broken


def test_another_set_of_lengths_is_not_the_papers():
    table = {name: {length: value for length, value in of.items() if length < 128} for name, of in history().items()}
    assert check_of("tfrc_history")["broken"](table) == ["other lengths than the paper's"]


def test_all_flows_of_a_point_of_the_history_remember_alike():
    from perhop.experiment.load import load

    for point in load(EXPERIMENTS / "tfrc_history" / "experiment.yaml"):
        lengths = {flow.loss_intervals for flow in point.experiment.flows if flow.kind == "tfrc"}
        assert len(lengths) == 1, json.dumps(sorted(lengths))


@pytest.mark.parametrize(("ratio", "verdict"), [(1.2, "finding"), (0.99, "fail")])
def test_a_history_without_order_is_a_finding_only_where_tfrc_gets_more_than_tcp(ratio, verdict, tmp_path, monkeypatch):
    check = check_of("tfrc_history")
    lengths = (2, 4, 8, 16, 32, 64, 128)
    flows = [
        {"run": f"{length}", "flow": 0, "sweep.flows": [{"loss_intervals": length}, {"kind": "cbr"}]}
        for length in lengths
    ]
    measured = {f"{length}": replace(AS_IN_THE_PAPER, fairness=ratio, smoothness=length / 99) for length in lengths}
    monkeypatch.setitem(check, "measure", lambda results, folder: measured)
    assert check["check"](Results(flows, [], []), tmp_path).rows["X-12"].verdict == verdict
