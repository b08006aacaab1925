# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of row X-15's mobile half tells EXACT ahead of TCP-SACK from EXACT that is not, on made-up results."""

from pathlib import Path

import pytest
from perhop import paths
from perhop.study.check import RowVerdict, load_check
from perhop.study.delivered import delivered_share
from perhop.study.results import Results

FILE = paths.repository() / "sim" / "experiments" / "exact_mobile" / "check.py"
AREAS = ((50, 600, 600), (60, 1500, 300))
EQUAL = (100, 100, 100, 100, 100)
UNEQUAL = (300, 100, 50, 30, 20)


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def flow(kind: str, delivered: float, sent: float, **place) -> dict:
    """A flow as in flows.parquet."""
    return {
        "label": kind,
        "kind": kind,
        "goodput_bps": 1e3 * delivered,
        "delivered_packets": delivered,
        "retransmissions": sent - delivered if kind == "tcp" else None,
        "loss_share": 1 - delivered / sent if kind == "exact" else None,
        **place,
    }


def results(
    exact=EQUAL, tcp=UNEQUAL, exact_lost=0.01, tcp_lost=0.05, in_area=AREAS[1], traces=(1, 2, 3, 4, 5)
) -> Results:
    """EXACT and TCP as told in one area, in the other one as the paper says."""
    found = []
    for area in AREAS:
        told = area == in_area
        for trace in traces:
            for kind, rates, lost in (
                ("exact", exact if told else EQUAL, exact_lost if told else 0.01),
                ("tcp", tcp if told else UNEQUAL, tcp_lost if told else 0.05),
            ):
                topology = {"nodes": area[0], "width_m": area[1], "height_m": area[2]}
                place = {"sweep.topology": topology, "sweep.topology.seed": trace}
                found += [flow(kind, rate * trace, rate * trace / (1 - lost), **place) for rate in rates]
    return Results(found, [], [])


def verdict(of: Results, tmp_path: Path) -> RowVerdict:
    return load_check(FILE)(of, tmp_path).rows["X-15"]


def test_exact_is_fairer_and_more_efficient_in_both_areas(tmp_path):
    found = verdict(results(), tmp_path)
    assert found.verdict == "pass"
    assert found.measured.count("delivered / sent 0.9900 against 0.9500 (+0.0400 ± 0.0000)") == 2
    assert found.measured.count("Jain's index 1.000 against 0.482 (+0.518 ± 0.000)") == 2


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"exact": UNEQUAL}, "Jain's index is not above"),
        ({"exact": UNEQUAL, "tcp": EQUAL}, "Jain's index is not above"),
        ({"exact_lost": 0.05}, "delivered / sent is not above"),
        ({"exact_lost": 0.10}, "delivered / sent is not above"),
    ],
)
def test_what_only_equals_tcp_in_one_area_does_not_pass(area, changed, said, tmp_path):
    found = verdict(results(in_area=area, **changed), tmp_path)
    assert found.verdict == "fail" and f"{area[0]} nodes over {area[1]} m x {area[2]} m: {said}" in found.measured


def test_four_traces_are_too_few(tmp_path):
    assert verdict(results(traces=(1, 2, 3, 4)), tmp_path).verdict == "fail"


def test_both_must_have_run_over_the_same_traces(tmp_path):
    made = results()
    for row in made.flows:
        if row["kind"] == "tcp" and row["sweep.topology.seed"] == 5:
            row["sweep.topology.seed"] = 6
    assert verdict(made, tmp_path).verdict == "fail"


def test_a_starved_flow_weighs_by_its_packets():
    """A flow of TCP that gets 1 of 2 packets through beside one with 99 of 99."""
    assert delivered_share([flow("tcp", 1, 2), flow("tcp", 99, 99)]) == pytest.approx(100 / 101)
    assert delivered_share([flow("exact", 1, 2), flow("exact", 99, 99)]) == pytest.approx(100 / 101)
    assert delivered_share([flow("tcp", 0, 0)]) == 0


def test_a_flow_of_exact_that_gets_nothing_through_is_not_overlooked(tmp_path):
    made = results()
    next(row for row in made.flows if row["kind"] == "exact").update(delivered_packets=0.0, loss_share=1.0)
    with pytest.raises(AssertionError, match="nothing arrived of what was sent"):
        verdict(made, tmp_path)
