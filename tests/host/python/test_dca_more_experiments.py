# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of paper 001's grid, delay rule, joint sweep and routings tell right from wrong, on made-up results."""

from pathlib import Path

import pytest
from perhop.study.check import RowVerdict, load_check
from perhop.study.results import Results

EXPERIMENTS = Path(__file__).resolve().parents[3] / "sim" / "experiments"


@pytest.fixture(autouse=True)
def nothing_drawn(monkeypatch):
    """Figures take seconds and decide nothing."""
    monkeypatch.setattr("perhop.report.figures._svg", lambda figure: "<svg/>")


def verdict_of(row: str, folder: str, results: Results, tmp_path: Path) -> RowVerdict:
    return load_check(EXPERIMENTS / folder / "check.py")(results, tmp_path).rows[row]


# --- D-25: the grid -------------------------------------------------------------------------------------------------

GRID_KBPS = {"no limit": 300, "cwl 4": 310, "cwl 4 + dca": 320, "daa": 315, "daa as in 001": 312, "dca": 360}


def grid(**changed: float) -> Results:
    """Three and six flows, three seeds; a rate in kb/s of the six by policy."""
    flows = []
    for count in (3, 6):
        rates = GRID_KBPS | (changed if count == 6 else {})
        for policy, kbps in rates.items():
            for seed in (1, 2, 3):
                row = {"hops": 4, "policy": policy, "seed": seed, "sweep.flows": [{"kind": "tcp"}] * count}
                flows += [{**row, "flow": flow, "goodput_bps": 1e3 * kbps / count + seed} for flow in range(count)]
    return Results(flows, [], [])


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "pass"),
        ({"dca": 319}, "fail"),  # below itself with a small window
        ({"daa as in 001": 361}, "fail"),
        ({"cwl 4 + dca": 340}, "fail"),  # 13 % above standard: no longer alike
        ({"daa": 265}, "fail"),
    ],
)
def test_d25_small_windows_are_alike_and_dca_is_above_each(changed, verdict, tmp_path):
    assert verdict_of("D-25", "dca_grid", grid(**changed), tmp_path).verdict == verdict
