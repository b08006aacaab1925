# SPDX-License-Identifier: GPL-2.0-or-later
"""The receiver's timer that repeats TCP ACKs: its formula, and that a static chain does not need it (row D-22)."""

from __future__ import annotations

from pathlib import Path

from perhop import core
from perhop.report.figures import drawing, means_line
from perhop.reproduce.checks import mean_of
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import by_seed

WITH, WITHOUT = "dca", "dca no resend"
DIFFERENCE_AT_MOST = 0.02

# Round trips in ms, and SRTT, RTTvar and RTO after each, by hand: SRTT <- 7/8 SRTT + 1/8 R; RTTvar <- 3/4 RTTvar +
# 1/4 |R - SRTT| with the new SRTT; RTO = SRTT + 4 RTTvar, at least 1000 ms.
VECTOR = (
    (400.0, 400.0, 200.0, 1200.0),
    (800.0, 450.0, 237.5, 1400.0),
    (450.0, 450.0, 178.125, 1162.5),
    (50.0, 400.0, 221.09375, 1284.375),
    (400.0, 400.0, 165.8203125, 1063.28125),
    (400.0, 400.0, 124.365234375, 1000.0),
)
VECTOR_TOLERANCE_US = 1.0


def check(results: Results | None, folder: Path) -> Check:
    """Vectors of the estimator within a microsecond; throughput with and without the timer within 2 % at every h."""
    assert results is not None
    estimator = core.SmoothedRoundTrip()
    worst_us = 0.0
    for rtt_ms, *expected_ms in VECTOR:
        estimator.on_sample(round(rtt_ms * 1e3))
        seen_us = (estimator.srtt_us, estimator.deviation_us, estimator.timeout_us)
        worst_us = max(worst_us, *(abs(us - ms * 1e3) for us, ms in zip(seen_us, expected_ms, strict=True)))

    cells = by_seed(results)
    all_hops = sorted({hops for hops, _ in cells})
    with_, without = ({hops: mean_of(cells[hops, policy]) for hops in all_hops} for policy in (WITH, WITHOUT))
    differences = {hops: with_[hops].value / without[hops].value - 1 for hops in all_hops}
    repeated = {
        hops: sum(row["tcp_acks_repeated"] for row in results.flows if row["hops"] == hops and row["policy"] == WITH)
        for hops in all_hops
    }
    holds = worst_us <= VECTOR_TOLERANCE_US and max(map(abs, differences.values())) <= DIFFERENCE_AT_MOST
    measured = (
        f"vectors within {worst_us:.2f} us; with the timer "
        + ", ".join(f"{value:+.1%}" for value in differences.values())
        + " at h = "
        + ", ".join(map(str, all_hops))
    )
    lines = [
        f"h = {hops}: {with_[hops].value / 1e3:.1f} ± {with_[hops].half / 1e3:.1f} kb/s with, "
        f"{without[hops].value / 1e3:.1f} ± {without[hops].half / 1e3:.1f} without; {repeated[hops]:.0f} repeated"
        for hops in all_hops
    ]
    figure = folder / "D-22_timer.svg"
    with drawing(figure, height=3.6) as (picture, (axis,)):
        for index, (label, of) in enumerate((("with the timer", with_), ("without", without))):
            means_line(axis, [(hops, of[hops]) for hops in all_hops], index, label, 1e-3)
        axis.set(xlabel="hops", ylabel="kb/s", xticks=all_hops)
        axis.set_ylim(bottom=0)
        axis.set_title("DCA with and without repeating TCP ACKs", loc="left")
        picture.legend(loc="outside lower center", ncols=2)
    row = RowVerdict("pass" if holds else "fail", measured)
    return Check(holds, lines, {}, [figure], {"D-22": row})
