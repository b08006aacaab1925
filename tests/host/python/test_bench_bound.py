# SPDX-License-Identifier: GPL-2.0-or-later
"""bench-bound: what its check lets pass, and a short run of it."""

import argparse
import importlib.util
import io
from pathlib import Path

import pytest
from perhop import paths
from perhop.bound import chain, runs
from perhop.bound.exchange import Link
from perhop.study.check import Check, load_check
from perhop.study.results import Results
from rich.console import Console

FOLDER = paths.repository() / "sim/experiments/airtime_bound"
BENCH = paths.repository() / "sim/bench/bench_bound.py"


def rows(hops: int, policy: str, shares: list[float], rtt_ms: float, reception: str = "ns2") -> list[dict]:
    """Rows of runs that got these shares of the reference figure, one link of four in use, in 100 s."""
    bound_bps = chain.quarter_reuse_bps(Link(), hops)
    return [
        {
            "hops": hops,
            "policy": policy,
            "reception": reception,
            "goodput_bps": share * bound_bps,
            "packets_per_s": share * bound_bps / 8 / 1460,
            "delivered_packets": share * bound_bps / 8 / 1460 * 100,
            "rtt_ms": rtt_ms,
        }
        for share in shares
    ]


def checked(tmp_path: Path, *groups: list[dict]) -> Check:
    check = load_check(FOLDER / "check.py")
    return check(Results([row for group in groups for row in group], [], []), tmp_path)


def test_more_goodput_with_a_shorter_round_trip_passes(tmp_path):
    verdict = checked(
        tmp_path,
        rows(2, "combined", [0.96, 0.961], 200),
        rows(2, "dca", [0.97, 0.971], 700),
        rows(6, "combined", [0.84, 0.841], 200),
        rows(6, "dca", [0.70, 0.701], 300),
        rows(6, "cwl 3", [0.60, 0.601], 100),
    )
    assert verdict.passed, verdict.lines
    assert verdict.numbers["hops"][6]["best_single"] == "dca"
    assert verdict.figures[0].is_file()


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        (
            [rows(2, "combined", [0.94, 0.94], 200), rows(2, "dca", [0.9, 0.9], 300)],
            "short path below 95 % of one exchange at a time",
        ),
        ([rows(6, "combined", [0.8, 0.8], 200), rows(6, "dca", [0.81, 0.81], 300)], "less goodput"),
        ([rows(6, "combined", [0.8, 0.82], 200), rows(6, "dca", [0.78, 0.80], 300)], "intervals that overlap"),
        ([rows(6, "combined", [0.8, 0.8], 301), rows(6, "dca", [0.7, 0.7], 300)], "longer round trip"),
    ],
)
def test_less_than_what_is_claimed_does_not_pass(tmp_path, groups, why):
    assert not checked(tmp_path, *groups).passed, why


@pytest.mark.parametrize("reception", ["ns2", "sinr"])
def test_one_run_above_the_bound_of_its_rule_does_not_pass(tmp_path, reception):
    room = chain.bound_bps(Link(), 6, reception=reception) / chain.quarter_reuse_bps(Link(), 6)
    ours = rows(6, "combined", [0.8, 0.8], 200, reception)
    below = checked(tmp_path, ours, rows(6, "dca", [0.2, 0.99 * room], 300, reception))
    assert below.numbers["hops"][6]["above_bound"] == []
    verdict = checked(tmp_path, ours, rows(6, "dca", [0.2, 1.01 * room], 300, reception))
    assert not verdict.passed
    assert verdict.numbers["hops"][6]["above_bound"] == ["dca"]


def test_each_rule_has_its_own_bound(tmp_path):
    shares = []
    for reception in ("ns2", "sinr"):
        ours = rows(6, "combined", [0.8, 0.8], 200, reception)
        verdict = checked(tmp_path, ours, rows(6, "dca", [0.2, 0.2], 300, reception))
        assert verdict.numbers["reception"] == reception
        shares.append(verdict.numbers["hops"][6]["share_of_bound"])
    assert shares[0] < shares[1] < 0.8


def bench_module():
    spec = importlib.util.spec_from_file_location("bench_bound", BENCH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(
    not (paths.repository() / "out/build/sim/ns3/perhop-sim").is_file(), reason="perhop-sim is not built: make programs"
)
def test_combined_policy_beats_dca_over_six_hops_and_stays_below_the_bound(tmp_path):
    bench = bench_module()
    options = argparse.Namespace(quick=True, jobs=2, fresh=False, out=tmp_path)
    console = Console(file=io.StringIO())
    short = ["topology.hops=[1,6]", "duration_s=25", "seeds=[21]", "policies=[dca, combined]"]
    policies = bench.run("policies", short, options, console)
    delayed = bench.run("delayed", [*short, *bench.DELAYED], options, console)
    assert bench.above_bound(policies, delayed) == []
    outcome = policies.study.outcomes[0]
    outcome.result["flows"][0]["goodput_bps"] *= 3
    assert bench.above_bound(policies, delayed) == [runs.judge(outcome.run.config, outcome.result)]
    results = bench.merged(policies.results, delayed.results)
    assert {row["policy"] for row in results.flows} == {"dca", "combined", bench.DELAYED_LABEL}
    verdict = checked(tmp_path, results.flows)
    assert verdict.passed, verdict.lines
    assert verdict.numbers["hops"][6]["combined_bps"] > 1.05 * verdict.numbers["hops"][6]["best_single_bps"]
