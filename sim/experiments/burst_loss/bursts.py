# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 12 of paper 001: the share of bursts that arrive whole, beside the analytic bound P(w, 5) (row D-19)."""

from __future__ import annotations

import math
from pathlib import Path

from model import burst_over, pmf
from perhop.report.figures import COLOURS, MARKERS, drawing
from perhop.study.check import RowVerdict
from perhop.study.results import Results

HOPS = 5
ATTEMPTS_OF_THE_ANALYSIS = 8
LEAST_BURSTS = 500
CLOSE_UP_TO = 5
CLOSE = 0.05
# Seconds at the start that count as warm-up, as the experiment file says.
FROM_S = 6.0


def judge(results: Results, figure: Path) -> tuple[RowVerdict, list[str]]:
    """Success at least the bound - 3 sigma at every w, and less than 0.05 above it for w up to 5. Draws `figure`."""
    bursts: dict[tuple[int, int], list[bool]] = {}
    for row in results.intervals:
        if row["sent_packets"] and row["t_start_s"] >= FROM_S:
            key = (int(row["sweep.mac.short_retry_limit"]), int(row["sweep.flows"][0]["burst_packets"]))
            assert row["sent_packets"] == key[1], "an interval holds one burst"
            bursts.setdefault(key, []).append(row["delivered_packets"] == row["sent_packets"])
    share = {key: sum(whole) / len(whole) for key, whole in bursts.items()}
    windows = sorted({w for _, w in bursts})
    distribution = pmf()
    bound = {w: burst_over(w, HOPS, distribution) for w in windows}
    sigma = {w: math.sqrt(bound[w] * (1 - bound[w]) / len(bursts[ATTEMPTS_OF_THE_ANALYSIS, w])) for w in windows}

    ours = {w: share[ATTEMPTS_OF_THE_ANALYSIS, w] for w in windows}
    below = [w for w in windows if ours[w] < bound[w] - 3 * sigma[w]]
    loose = [w for w in windows if w <= CLOSE_UP_TO and ours[w] - bound[w] >= CLOSE]
    fewest = min(len(whole) for whole in bursts.values())
    lines = [f"{'w':>2} {'bursts':>7} {'8 attempts':>11} {'7 attempts':>11} {'bound':>8} {'sigma':>7}"]
    lines += [
        f"{w:>2} {len(bursts[ATTEMPTS_OF_THE_ANALYSIS, w]):>7} {ours[w]:>11.4f} {share[7, w]:>11.4f} {bound[w]:>8.4f} "
        f"{sigma[w]:>7.4f}"
        for w in windows
    ]
    measured = ", ".join(f"w = {w}: {ours[w]:.3f} (bound {bound[w]:.3f})" for w in (3, 5, 8, 12))
    if fewest < LEAST_BURSTS:
        row = RowVerdict("fail", f"only {fewest} bursts of a size; at least {LEAST_BURSTS} are needed")
    elif below or loose:
        row = RowVerdict("fail", f"below the bound at w = {below}, far above it at w = {loose}; {measured}")
    else:
        row = RowVerdict("pass", f"{measured}; at least {fewest} bursts of each size")
    with drawing(figure, height=3.8) as (picture, (axis,)):
        axis.plot(windows, [bound[w] for w in windows], color=COLOURS[6], ls="--", label="bound P(w, 5)")
        for index, attempts in enumerate((8, 7)):
            values = [share[attempts, w] for w in windows]
            errors = [
                1.96 * math.sqrt(p * (1 - p) / len(bursts[attempts, w])) for p, w in zip(values, windows, strict=True)
            ]
            axis.errorbar(
                windows,
                values,
                yerr=errors,
                color=COLOURS[index],
                marker=MARKERS[index],
                capsize=3,
                label=f"measured, {attempts} attempts",
            )
        axis.set(xlabel="w, packets in a burst", ylabel="bursts that arrive whole", xticks=windows, ylim=(0, 1.05))
        axis.set_title("Fig. 12: a burst passes 5 hops", loc="left")
        picture.legend(loc="outside lower center", ncols=3)
    return row, lines
