# SPDX-License-Identifier: GPL-2.0-or-later
"""The congestion window grows by one packet a TCP ACK, whatever it acknowledges (row D-06 of paper 001)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perhop.report.figures import drawing, means_line
from perhop.reproduce.checks import mean_of, window_of
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean

TOLERANCE = 0.05
# Without the handshake and the first TCP ACKs, which are never held.
FROM_S, TO_S = 0.5, 3.0
START_S = 0.1


NEW_RENO, BYTE_COUNTING = "newreno", "linuxreno"


@dataclass(frozen=True)
class Growth:
    """One TCP and delay window, over the seeds."""

    window: int
    per_tcp_ack: Mean  # packets by which the congestion window grew
    at_end: Mean  # packets
    curve: list[tuple[float, Mean]]  # s, packets


def check(results: Results | None, folder: Path) -> Check:
    """NewReno within 5 % of one packet a TCP ACK, byte counting of w packets; the window stays below that by bytes."""
    assert results is not None
    lost = sum(row["retransmissions"] for row in results.flows)
    growths = {
        (variant, policy): _growth(results, variant, policy)
        for variant, policy in dict.fromkeys((row["sweep.flows.0.variant"], row["policy"]) for row in results.flows)
    }
    wrong = ["packets were lost"] if lost else []
    for (variant, policy), growth in growths.items():
        expected = 1 if variant == NEW_RENO else growth.window
        if abs(growth.per_tcp_ack.value / expected - 1) > TOLERANCE:
            wrong.append(f"{variant}, w = {growth.window}: {growth.per_tcp_ack.value:.3f} packets a TCP ACK")
        beside = growths.get((BYTE_COUNTING, policy))
        if variant == NEW_RENO and growth.window > 1 and (beside is None or growth.at_end.value >= beside.at_end.value):
            wrong.append(f"w = {growth.window}: no smaller than by bytes")
    own = [growth for (variant, _), growth in growths.items() if variant == NEW_RENO]
    other = [growth for (variant, _), growth in growths.items() if variant == BYTE_COUNTING]
    measured = ", ".join(f"{growth.per_tcp_ack.value:.3f} packets a TCP ACK at w = {growth.window}" for growth in own)
    measured += f"; window after {TO_S:g} s: " + ", ".join(f"{growth.at_end.value:.0f}" for growth in own)
    measured += "; by byte counting " + ", ".join(f"{growth.at_end.value:.0f}" for growth in other)
    measured += f" ({', '.join(f'{growth.per_tcp_ack.value:.2f}' for growth in other)} packets a TCP ACK)"
    interval = ", ".join(f"± {growth.per_tcp_ack.half:.3f}" for growth in own)
    figure = folder / "D-06_growth.svg"
    with drawing(figure, height=3.6) as (picture, (axis,)):
        for index, ((variant, _), growth) in enumerate(growths.items()):
            word = "by TCP ACKs" if variant == NEW_RENO else "by bytes"
            means_line(axis, growth.curve, index, f"w = {growth.window}, {word}")
        axis.set(xlabel="s", ylabel="packets")
        axis.set_ylim(bottom=0)
        axis.set_title("Congestion window in slow start", loc="left")
        picture.legend(loc="outside lower center", ncols=3)
    lines = [
        f"{variant}, {policy}: {growth.per_tcp_ack.value:.4f} ± {growth.per_tcp_ack.half:.4f} packets a TCP ACK, "
        f"{growth.at_end.value:.0f} packets after {TO_S:g} s"
        for (variant, policy), growth in growths.items()
    ]
    row = RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, measured]), interval)
    return Check(not wrong, lines, {}, [figure], {"D-06": row})


def _growth(results: Results, variant: str, policy: str) -> Growth:
    window = window_of(policy) or 1
    curve: dict[float, list[float]] = {}
    growth = []
    for flow in results.flows:
        if (flow["sweep.flows.0.variant"], flow["policy"]) != (variant, policy):
            continue
        windows = {}
        for row in results.intervals:
            # In the first interval there may be no connection yet, and so no window.
            if row["run"] != flow["run"] or row["cwnd_packets"] is None:
                continue
            middle_s = (row["t_start_s"] + row["t_end_s"]) / 2
            windows[middle_s] = row["cwnd_packets"]
            curve.setdefault(round(middle_s, 3), []).append(row["cwnd_packets"])
        used = [middle_s for middle_s in windows if FROM_S <= middle_s <= TO_S]
        packets = flow["delivered_packets"] * (used[-1] - used[0]) / (TO_S - START_S)
        assert packets > 0
        growth.append((windows[used[-1]] - windows[used[0]]) / (packets / window))
    means = [(middle_s, mean_of(dict(enumerate(values)))) for middle_s, values in curve.items()]
    return Growth(window, mean_of(dict(enumerate(growth))), means[-1][1], means)
