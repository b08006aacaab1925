# SPDX-License-Identifier: GPL-2.0-or-later
"""The congestion window grows by one packet a TCP ACK, whatever it acknowledges (row D-06 of paper 001)."""

from __future__ import annotations

from pathlib import Path

from perhop.report.figures import drawing, means_line
from perhop.reproduce.checks import window_of
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, mean

TOLERANCE = 0.05
# Without the handshake and the first TCP ACKs, which are never held.
FROM_S, TO_S = 0.5, 3.0


def check(results: Results | None, folder: Path) -> Check:
    """Growth within 5 % of one packet a TCP ACK, and so a smaller window with fewer TCP ACKs."""
    assert results is not None
    curves: dict[str, dict[float, list[float]]] = {}
    growth: dict[str, list[float]] = {}
    lost = sum(row["retransmissions"] for row in results.flows)
    for flow in results.flows:
        policy = flow["policy"]
        windows = {}
        packets = 0.0
        for row in results.intervals:
            # In the first interval there may be no connection yet, and so no window.
            if row["run"] != flow["run"] or row["cwnd_packets"] is None:
                continue
            middle_s = (row["t_start_s"] + row["t_end_s"]) / 2
            windows[middle_s] = row["cwnd_packets"]
            curves.setdefault(policy, {}).setdefault(round(middle_s, 3), []).append(row["cwnd_packets"])
        used = [middle_s for middle_s in windows if FROM_S <= middle_s <= TO_S]
        share = (used[-1] - used[0]) / (TO_S - 0.1)
        packets = flow["delivered_packets"] * share
        assert packets > 0
        tcp_acks = packets / (window_of(policy) or 1)
        growth.setdefault(policy, []).append((windows[used[-1]] - windows[used[0]]) / tcp_acks)
    rates = {policy: _mean(values) for policy, values in growth.items()}
    last = {policy: _mean(list(of.values())[-1]).value for policy, of in curves.items()}
    ordered = list(last.values()) == sorted(last.values(), reverse=True)
    holds = not lost and ordered and all(abs(rate.value - 1) <= TOLERANCE for rate in rates.values())
    measured = ", ".join(
        f"{rate.value:.3f} packets a TCP ACK at w = {window_of(policy)}" for policy, rate in rates.items()
    )
    measured += "; window after 3 s: " + ", ".join(f"{value:.0f}" for value in last.values())
    interval = ", ".join(f"± {rate.half:.3f}" for rate in rates.values())
    figure = folder / "D-06_growth.svg"
    with drawing(figure, height=3.6) as (picture, (axis,)):
        for index, (policy, of) in enumerate(curves.items()):
            points = [(middle_s, _mean(values)) for middle_s, values in of.items()]
            means_line(axis, points, index, f"w = {window_of(policy)}")
        axis.set(xlabel="s", ylabel="packets")
        axis.set_ylim(bottom=0)
        axis.set_title("Congestion window in slow start", loc="left")
        picture.legend(loc="outside lower center", ncols=3)
    lines = [f"{policy}: {rate.value:.4f} ± {rate.half:.4f} packets a TCP ACK" for policy, rate in rates.items()]
    row = RowVerdict("pass" if holds else "fail", measured, interval)
    return Check(holds, lines, {}, [figure], {"D-06": row})


def _mean(values: list[float]) -> Mean:
    found = mean(values)
    assert found is not None
    return found
