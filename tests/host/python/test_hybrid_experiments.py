# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of paper 004's experiments (sim/experiments/hybrid_*): made-up results with one thing wrong must fail."""

from pathlib import Path

import pytest
from perhop.reproduce.transfers import contests
from perhop.study.check import load_check
from perhop.study.results import Results

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def run_rows(run, ends, rates, starts=(0.1, 4.0), completions=(None, None), until_s=60.0, **swept):
    """Rows of a run whose flows have the same rate all the time: (flows, intervals)."""
    about = {"run": run, "label": run, "seed": 1, "policy": swept.pop("policy", "no limit")}
    about |= {f"sweep.{name}": value for name, value in swept.items()} | {"sweep.flows.1.start_s": starts[-1]}
    flows, intervals = [], []
    for index, ((src, dst), rate) in enumerate(zip(ends, rates, strict=True)):
        own = {"flow": index, "kind": "tcp", "src": src, "dst": dst}
        flows.append({**about, **own, "goodput_bps": rate, "completion_s": completions[index]})
        intervals += [
            {**about, **own, "t_start_s": float(t), "t_end_s": t + 1.0, "goodput_bps": rate}
            for t in range(int(until_s))
        ]
    return flows, intervals


def results_of(runs):
    flows, intervals = [], []
    for more_flows, more_intervals in runs:
        flows += more_flows
        intervals += more_intervals
    return Results(flows, [], intervals, [])


def test_a_contest_lasts_from_the_last_start_to_the_first_end():
    flows, intervals = run_rows("a", [(5, 0), (4, 5)], [300e3, 100e3], starts=(0.1, 4.5), completions=(20.0, None))
    for row in intervals:  # the second gets more when the first is through, which does not count
        if row["flow"] == 1 and row["t_start_s"] > 21:
            row["goodput_bps"] = 900e3
    (found,) = contests(Results(flows, [], intervals, []), 0.1)
    assert found.seconds == pytest.approx(20.1 - 4.5)
    assert found.rates_bps == pytest.approx((300e3, 100e3))
    assert found.share(1) == pytest.approx(0.25)


def test_a_first_file_that_was_through_before_the_second_began_is_no_contest():
    runs = [run_rows("a", [(5, 0), (4, 5)], [300e3, 100e3], completions=(3.0, None))]
    assert not list(contests(results_of(runs), 0.1))


CASES = {
    "mixed": ([(5, 0), (4, 5)], 8000000),
    "out": ([(0, 5), (4, 5)], 1000000),
    "in": ([(5, 0), (5, 4)], 8000000),
    "in_short": ([(5, 0), (5, 4)], 1000000),
}


@pytest.mark.parametrize(
    ("change", "s03", "s04"),
    [
        ({}, "pass", "pass"),
        ({"mixed": 0.25}, "fail", "pass"),
        ({"out": 0.35}, "pass", "fail"),
        ({"in": 0.2}, "pass", "fail"),
        ({"in_short": 0.2}, "pass", "pass"),
        ({"starts": 19}, "fail", "fail"),
    ],
)
def test_capture_check_sees_each_share(change, s03, s04, tmp_path):
    shares = {"mixed": 0.1, "out": 0.05, "in": 0.45, "in_short": 0.4} | change
    runs = []
    for start in range(change.get("starts", 20)):
        for case, (ends, size) in CASES.items():
            swept = {"flows": [{"transfer_bytes": size}], "wires.0.delay_ms": 30, "mac.rts_threshold_bytes": 0}
            rates = [600e3 * (1 - shares[case]), 600e3 * shares[case]]
            runs.append(run_rows(f"{case}{start}", ends, rates, starts=(0.1, 2 + 0.4 * start), **swept))
    found = load_check(EXPERIMENTS / "hybrid_capture" / "check.py")(results_of(runs), tmp_path)
    assert (found.rows["S-03"].verdict, found.rows["S-04"].verdict) == (s03, s04)
    assert found.passed == (s03 == s04 == "pass")
