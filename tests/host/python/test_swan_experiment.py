# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of row X-21 tells a voice flow that SWAN makes faster from one that it does not, on made-up results."""

from pathlib import Path

import pytest
from perhop import paths
from perhop.study.check import RowVerdict, load_check
from perhop.study.results import Results

FILE = paths.repository() / "sim" / "experiments" / "swan" / "check.py"
HOPS = (1, 3)
# Delay of voice in ms, kb/s of all bulk data, by way: kinds of bulk flows, and whether SWAN slows them.
WAYS = {(None, False): (5, 0), ("tcp", False): (200, 900), ("tcp", True): (50, 600), ("exact", False): (30, 700)}


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def results(slowed_ms: float = 50, in_hops: int = 3, spread_ms: float = 0, seeds=(1, 2, 3)) -> Results:
    """SWAN's voice takes `slowed_ms` over one of the chains, and 50 ms over the other."""
    flows = []
    for hops in HOPS:
        for (kind, slowed), (delay, kbps) in [*WAYS.items(), ((None, True), (1, 0)), (("exact", True), (1, 9999))]:
            for seed in seeds:
                run = f"{hops} {kind} {slowed} {seed}"
                if (kind, slowed, hops) == ("tcp", True, in_hops):
                    delay = slowed_ms + spread_ms * (seed - 2)
                place = {
                    "run": run,
                    "label": run,
                    "seed": seed,
                    "sweep.topology.hops": hops,
                    "sweep.swan": {} if slowed else None,
                }
                voice = {"flow": 0, "kind": "cbr", "delay_ms": delay, "delay_p95_ms": 2 * delay, "loss_share": 0.01}
                flows.append({**place, **voice, "goodput_bps": 64e3})
                bulk = {"kind": kind, "goodput_bps": kbps * 1e3 / 3}
                flows += [{**place, **bulk, "flow": flow} for flow in (1, 2, 3) if kind]
    return Results(flows, [], [])


def verdict(of: Results, tmp_path: Path) -> RowVerdict:
    return load_check(FILE)(of, tmp_path).rows["X-21"]


def test_swan_makes_voice_faster_over_both_chains(tmp_path):
    found = verdict(results(), tmp_path)
    assert found.verdict == "pass"
    assert found.measured.count("50 ms in place of 200 (1.0% lost in place of 1.0%), bulk data 0.67 of TCP's") == 2
    assert found.measured.count("EXACT 30 ms, 0.78") == 2, "EXACT under SWAN is none of the ways"


@pytest.mark.parametrize("hops", HOPS)
@pytest.mark.parametrize("slowed_ms", [200, 250])
def test_voice_that_is_no_faster_over_one_chain_is_a_finding(hops, slowed_ms, tmp_path):
    found = verdict(results(slowed_ms, hops), tmp_path)
    assert found.verdict == "finding" and f"over {hops} hops SWAN's voice is not faster" in found.measured


def test_a_gain_that_seeds_do_not_tell_is_none(tmp_path):
    assert verdict(results(190, spread_ms=20), tmp_path).verdict == "finding"
    assert verdict(results(190, spread_ms=1), tmp_path).verdict == "pass"


def test_voice_that_does_not_arrive_is_not_overlooked(tmp_path):
    made = results()
    next(row for row in made.flows if row["kind"] == "cbr").update(delay_ms=None)
    with pytest.raises(AssertionError, match="no voice packet arrived"):
        verdict(made, tmp_path)


def test_a_run_with_another_number_of_flows_is_refused(tmp_path):
    made = results()
    made.flows.remove(next(row for row in made.flows if row["kind"] == "tcp"))
    with pytest.raises(AssertionError, match="3 flows of"):
        verdict(made, tmp_path)
