# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of paper 003's grids tells what the paper says from what it does not, on made-up results."""

from pathlib import Path

import pytest
from perhop.study.check import load_check
from perhop.study.results import Results

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"
SEEDS = (1, 2)
LOADS = (1.5, 7.7, 23.3, 233.6)
# FTP in kb/s by mode and load: mean of the columns of 10 x 10, and what a column in the middle has of it.
FTP = {
    ("csma", 1.5): 31.9, ("fama", 1.5): 54.5, ("csma", 7.7): 8.0, ("fama", 7.7): 20.0,
    ("csma", 23.3): 1.0, ("fama", 23.3): 9.0, ("csma", 233.6): 0.087, ("fama", 233.6): 0.087,
}  # fmt: skip
INTERACTIVE = {
    ("csma", 1.5): 1.5, ("fama", 1.5): 1.5, ("csma", 7.7): 7.6, ("fama", 7.7): 7.6,
    ("csma", 23.3): 20.7, ("fama", 23.3): 21.4, ("csma", 233.6): 53.0, ("fama", 233.6): 73.8,
}  # fmt: skip
# How much of its load's FTP a path of so many hops has, faster than exponential.
SHORTER = {2: 20.0, 6: 8.0, 7: 5.5, 10: 1.0}
LEAST_SHARE = {"csma": 0.01, "fama": 0.1}  # of the mean, the smallest column


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def grids(ftp=None, interactive=None, shorter=None, least=None, border=1.5, without=None) -> Results:
    """Every case; each argument changes a table above."""
    rows = []
    for (mode, load), mean in {**FTP, **(ftp or {})}.items():
        for side, factor in {**SHORTER, **(shorter or {})}.items():
            if (mode, load, side) == without:
                continue
            rates = [mean * factor] * side
            if side == 10:
                smallest = {**LEAST_SHARE, **(least or {})}[mode] if load > 10 else 0.5
                rates = [border * mean, *[mean] * 7, smallest * mean, border * mean]
            for seed in SEEDS:
                about = {"sweep.mac.access_mode": mode, "sweep.flows.1.rate_bps": load * 1e3, "seed": seed}
                about["sweep.topology"] = {"kind": "grid", "rows": side, "columns": side}
                ends = [(c, (side - 1) * side + c, rates[c]) for c in range(side)]
                each = {**INTERACTIVE, **(interactive or {})}[mode, load]
                ends += [(n, n + 1, each) for n in range(side * side) if (n + 1) % side]
                rows += [
                    {**about, "flow": index, "src": src, "dst": dst, "goodput_bps": 1e3 * kbps}
                    for index, (src, dst, kbps) in enumerate(ends)
                ]
    return Results(rows, [], [{"t_end_s": 1000.0}])


def verdict(row: str, results: Results, tmp_path: Path):
    return load_check(EXPERIMENTS / "glomosim_grid" / "check.py")(results, tmp_path).rows[row]


def test_the_papers_grids_pass(tmp_path):
    rows = load_check(EXPERIMENTS / "glomosim_grid" / "check.py")(grids(), tmp_path).rows
    assert {row: found.verdict for row, found in rows.items()} == dict.fromkeys(rows, "pass")
    assert list(rows) == ["G-07", "G-08", "G-09", "G-10", "G-11"]
    assert "90th/10th percentile" in rows["G-09"].measured


@pytest.mark.parametrize(
    ("row", "planted", "expected"),
    [
        ("G-07", {"without": ("fama", 7.7, 6)}, "fail"),
        ("G-07", {"interactive": {("csma", 7.7): 7.9}}, "fail"),
        ("G-08", {"ftp": {("fama", 1.5): 41.0}}, "finding"),
        ("G-08", {"ftp": {("fama", 1.5): 20.0}}, "fail"),
        ("G-08", {"border": 0.5}, "fail"),
        ("G-08", {"interactive": {("csma", 1.5): 1.3}}, "fail"),
        ("G-09", {"interactive": {("csma", 23.3): 22.3}}, "finding"),
        ("G-09", {"interactive": {("fama", 23.3): 19.5}}, "fail"),
        ("G-09", {"least": {"csma": 0.04}}, "finding"),
        ("G-09", {"least": {"csma": 0.2}}, "fail"),
        ("G-09", {"least": {"fama": 0.04}}, "finding"),
        ("G-10", {"ftp": {("fama", 233.6): 1.1}}, "fail"),
        ("G-10", {"interactive": {("fama", 233.6): 52.0}}, "fail"),
        ("G-11", {"shorter": {6: 1.0}}, "finding"),
        ("G-11", {"shorter": {2: 0.5}}, "fail"),
        ("G-11", {"shorter": {7: 7.9}}, "finding"),
    ],
)
def test_another_grid_does_not_pass(row, planted, expected, tmp_path):
    found = verdict(row, grids(**planted), tmp_path)
    assert found.verdict == expected and bool(found.evidence) == (expected == "finding")


def test_a_column_that_gets_nothing_has_an_endless_spread_and_no_percentile_of_its_own(tmp_path):
    found = verdict("G-09", grids(least={"fama": 0.0}), tmp_path)
    assert found.verdict != "pass" and "max/min inf" in found.measured
    parts = load_check(EXPERIMENTS / "glomosim_grid" / "check.py").__globals__
    assert parts["percentile_spread"]([0.0, *[1.0] * 19, 3.0]) == 1.0
