# SPDX-License-Identifier: GPL-2.0-or-later
"""The receiver's timer that repeats TCP ACKs (row D-22): its formula, that nothing needs it where nothing is lost, and
that it fires and helps where the way back is cut for seconds.
"""

from __future__ import annotations

from pathlib import Path

from perhop import core
from perhop.report.figures import drawing, means_line
from perhop.reproduce.checks import mean_of
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row
from perhop.study.summaries import Mean

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
    """Vectors within a microsecond; nothing lost: within 2 % at every h; TCP ACKs lost: the timer fires and helps."""
    assert results is not None
    worst_us = _worst_us()
    static, lossy = (
        {h: rates for (h, lost), rates in _cells(results).items() if lost == where} for where in (False, True)
    )
    differences = {hops: cell[WITH].value / cell[WITHOUT].value - 1 for hops, cell in static.items()}
    gains = {hops: cell[WITH].value / cell[WITHOUT].value - 1 for hops, cell in lossy.items()}
    fired = {
        hops: [row["tcp_acks_repeated"] for row in results.flows if row["policy"] == WITH and _key(row) == (hops, True)]
        for hops in lossy
    }
    idle = sum(row["tcp_acks_repeated"] for row in results.flows if row["policy"] == WITHOUT)
    wrong = []
    if worst_us > VECTOR_TOLERANCE_US:
        wrong.append("another timeout than the vectors'")
    if max(map(abs, differences.values())) > DIFFERENCE_AT_MOST:
        wrong.append("it makes a difference where nothing is lost")
    if not fired or not all(min(counts) > 0 for counts in fired.values()) or idle:
        wrong.append("it does not fire where TCP ACKs are lost")
    if min(gains.values(), default=0.0) <= 0:
        wrong.append("it does not help where TCP ACKs are lost")
    measured = (
        f"vectors within {worst_us:.2f} us; with the timer, nothing lost, "
        + ", ".join(f"{value:+.1%}" for value in differences.values())
        + f" at h = {', '.join(map(str, static))}; TCP ACKs lost for 3 s in every 20 s: "
        + ", ".join(
            f"{gains[hops]:+.1%} at h = {hops} ({min(fired[hops]):.0f} repeated or more a run)" for hops in lossy
        )
    )
    lines = [
        f"h = {hops}, {name}: {cell[WITH].value / 1e3:.1f} ± {cell[WITH].half / 1e3:.1f} kb/s with, "
        f"{cell[WITHOUT].value / 1e3:.1f} ± {cell[WITHOUT].half / 1e3:.1f} without"
        for name, cells in (("nothing lost", static), ("TCP ACKs lost", lossy))
        for hops, cell in cells.items()
    ]
    figure = folder / "D-22_timer.svg"
    _draw(figure, {"nothing lost": static, "TCP ACKs lost for 3 s in every 20 s": lossy})
    row = RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, measured]))
    return Check(not wrong, lines, {}, [figure], {"D-22": row})


def _worst_us() -> float:
    """The largest difference of the estimator from the vectors."""
    estimator = core.SmoothedRoundTrip()
    worst_us = 0.0
    for rtt_ms, *expected_ms in VECTOR:
        estimator.on_sample(round(rtt_ms * 1e3))
        seen_us = (estimator.srtt_us, estimator.deviation_us, estimator.timeout_us)
        worst_us = max(worst_us, *(abs(us - ms * 1e3) for us, ms in zip(seen_us, expected_ms, strict=True)))
    return worst_us


def _key(row: Row) -> tuple[int, bool]:
    """Hops, and whether TCP ACKs get lost."""
    return row["hops"], bool(row["sweep.events"])


def _cells(results: Results) -> dict[tuple[int, bool], dict[str, Mean]]:
    rates: dict[tuple[int, bool], dict[str, dict[int, float]]] = {}
    for row in results.flows:
        rates.setdefault(_key(row), {}).setdefault(row["policy"], {})[row["seed"]] = row["goodput_bps"]
    return {key: {policy: mean_of(seeds) for policy, seeds in cell.items()} for key, cell in sorted(rates.items())}


def _draw(file: Path, panels: dict[str, dict[int, dict[str, Mean]]]) -> None:
    with drawing(file, columns=2, height=3.6) as (picture, axes):
        for axis, (title, cells) in zip(axes, panels.items(), strict=True):
            for index, (label, policy) in enumerate((("with the timer", WITH), ("without", WITHOUT))):
                means_line(axis, [(hops, cell[policy]) for hops, cell in cells.items()], index, label, 1e-3)
            axis.set(xlabel="hops", ylabel="kb/s", xticks=list(cells))
            axis.set_ylim(bottom=0)
            axis.set_title(title, loc="left")
        picture.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
