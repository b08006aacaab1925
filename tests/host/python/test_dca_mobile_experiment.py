# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of row D-28 tells Fig. 18 of paper 001 from what it does not show, on made-up results."""

from collections.abc import Callable
from pathlib import Path

import pytest
from perhop.study.check import RowVerdict, load_check
from perhop.study.results import Results

FOLDER = Path(__file__).resolve().parents[3] / "sim" / "experiments" / "dca_mobile"
ROUTINGS = ("aodv", "dsr", "gpsr")
SPEEDS = (5, 10, 15, 20)
POLICIES = ("no limit", "dca", "dca no resend")
TRACES = (1, 2, 3, 4, 5)

# kb/s of a flow by routing, m/s, flows, policy.
Rate = Callable[[str, int, int, str], float]


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def as_the_paper(routing: str, speed: int, flows: int, policy: str) -> float:
    """GPSR best, DSR worst and the faster the nodes, the worse; DCA gains 25 %, its timer 5 % with DSR."""
    base = {"gpsr": 400 - speed, "aodv": 380 - 2 * speed, "dsr": 370 - 6 * speed}[routing] / flows
    if policy == "no limit":
        return base
    return base * (1.25 if routing == "dsr" and policy == "dca" else 1.2)


def results(rate: Rate) -> Results:
    """Five traces a cell, 10 % apart."""
    found, runs = [], []
    for routing in ROUTINGS:
        for speed in SPEEDS:
            for flows in (1, 5):
                for policy in POLICIES:
                    for trace in TRACES:
                        row = {
                            "policy": policy,
                            "seed": 1,
                            "sweep.routing": routing,
                            "sweep.topology": {"kind": "random_waypoint", "max_speed_mps": speed},
                            "sweep.topology.seed": trace,
                            "sweep.flows": [{"kind": "tcp"}] * flows,
                        }
                        bps = 1e3 * rate(routing, speed, flows, policy) * (1 + 0.1 * (trace - 3))
                        found += [{**row, "goodput_bps": bps}] * flows
                        runs.append({**row, "link_failures": 30, "false_link_failures": 6, "measured_s": 295.0})
    return Results(found, [], [], runs)


def verdict(rate: Rate, tmp_path: Path) -> RowVerdict:
    return load_check(FOLDER / "check.py")(results(rate), tmp_path).rows["D-28"]


def test_the_shape_of_fig_18_passes(tmp_path):
    found = verdict(as_the_paper, tmp_path)
    assert found.verdict == "pass"
    assert "GPSR +20.0% ± " in found.measured and "DSR +25.0% ± " in found.measured


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("speed", SPEEDS)
def test_a_gain_below_12_percent_at_one_speed_does_not_pass(routing, speed, tmp_path):
    def rate(of: str, at: int, flows: int, policy: str) -> float:
        if (of, at, flows, policy) == (routing, speed, 1, "dca"):
            return 1.11 * as_the_paper(of, at, flows, "no limit")
        return as_the_paper(of, at, flows, policy)

    found = verdict(rate, tmp_path)
    assert found.verdict != "pass"
    assert f"below 12%: {routing} at {speed} m/s;" in found.measured


@pytest.mark.parametrize(("one", "other"), [("gpsr", "aodv"), ("aodv", "dsr"), ("gpsr", "dsr")])
def test_another_order_at_the_highest_speed_does_not_pass(one, other, tmp_path):
    def rate(of: str, at: int, flows: int, policy: str) -> float:
        swapped = {one: other, other: one}.get(of, of) if at == max(SPEEDS) else of
        return as_the_paper(swapped, at, flows, policy)

    found = verdict(rate, tmp_path)
    assert found.verdict != "pass"
    assert "another order" in found.measured


def test_another_order_at_a_lower_speed_or_with_five_flows_is_no_matter_of_the_row(tmp_path):
    def rate(of: str, at: int, flows: int, policy: str) -> float:
        swapped = {"gpsr": "dsr", "dsr": "gpsr"}.get(of, of) if at < max(SPEEDS) or flows > 1 else of
        return as_the_paper(swapped, at, flows, policy)

    assert verdict(rate, tmp_path).verdict == "pass"


def test_the_gain_is_that_of_the_means_over_the_traces(tmp_path):
    judge = load_check(FOLDER / "check.py")
    made = results(as_the_paper)
    for row in made.flows:
        # One trace carries nearly all: its gain counts, not the mean of the traces' ratios.
        if len(row["sweep.flows"]) == 1:
            row["goodput_bps"] = (1e6 if row["sweep.topology.seed"] == 1 else 1e3) * (
                {"no limit": 1, "dca": 1.3, "dca no resend": 1.3}[row["policy"]]
                if row["sweep.topology.seed"] == 1
                else {"no limit": 2, "dca": 1, "dca no resend": 1}[row["policy"]]
            )
    numbers = judge(made, tmp_path).numbers["fig18"]["gpsr, 20 m/s, 1"]
    assert numbers["gain"] == pytest.approx((1.3e6 + 4e3) / (1e6 + 8e3) - 1, abs=1e-4)
    assert numbers["link_failures_per_s"] == pytest.approx(30 / 295, abs=1e-3)
