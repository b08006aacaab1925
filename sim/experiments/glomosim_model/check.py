# SPDX-License-Identifier: GPL-2.0-or-later
"""What paper 003 states in formulas: the ideal schedule (row G-03) and the loss model (row G-12)."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

from loss_model import mean_timeout_factor, paper_timeout_factor, passes, retransmissions
from perhop.report.figures import COLOURS, drawing
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from schedule import best, bound

HOPS = 7
WINDOWS = range(1, 9)
PAPERS_WINDOW = 3
SATURATED = 0.98
# 1460 bytes and 40 of headers, and a TCP ACK, each with a link header of 20 bytes, at 2 Mb/s: so Table 1's CSMA.
SEGMENT_BITS = 1460 * 8
DATA_US = 6080
TCP_ACK_US = 240

# p, h, and by hand: q = (1 - p)^(2h); 1/q - 1; 2 to the power of that; q / (2q - 1), the mean of the doubled timeouts.
VECTORS = (
    (0.0, 7, 1.0, 0.0, 1.0, 1.0),
    (0.1, 1, 0.81, 0.234568, 1.176554, 1.306452),
    (0.05, 2, 0.814506, 0.227738, 1.170997, 1.294897),
    (0.05, 6, 0.540360, 0.850618, 1.803273, 6.694238),
    (0.05, 7, 0.487675, 1.050546, 2.071314, None),
)
VECTOR_TOLERANCE = 2e-6
DRAWS = 200_000
LARGEST_FACTOR = 64


def check(results: Results | None, folder: Path) -> Check:
    """Saturation at the paper's window; vectors of the model, its means against draws, and what its curve does."""
    del results
    figure = folder / "G-03_ideal_schedule.svg"
    rows = {"G-03": _schedule(figure), "G-12": _loss_model()}
    lines = [f"{row}: {verdict.measured}: {verdict.verdict}" for row, verdict in rows.items()]
    return Check(all(row.verdict == "pass" for row in rows.values()), lines, {}, [figure], rows)


def _verdict(wrong: list[str], measured: str) -> RowVerdict:
    return RowVerdict("fail", "; ".join(wrong)) if wrong else RowVerdict("pass", measured)


def _schedule(figure: Path) -> RowVerdict:
    """Two packets cannot reach 0.98 of the best, whoever schedules them; three do."""

    def kbps(packets_per_s: float) -> float:
        return packets_per_s * SEGMENT_BITS / 1e3

    reached = {window: kbps(best(HOPS, window, DATA_US, TCP_ACK_US)) for window in WINDOWS}
    limits = {window: kbps(bound(HOPS, window, DATA_US, TCP_ACK_US)) for window in WINDOWS}
    most = max(reached.values())
    wrong = [f"W = {window}: more than can be" for window in WINDOWS if reached[window] > limits[window] * (1 + 1e-9)]
    if reached[PAPERS_WINDOW] < SATURATED * most:
        wrong.append(f"W = 3 reaches {reached[PAPERS_WINDOW] / most:.3f} of the best")
    if limits[PAPERS_WINDOW - 1] >= SATURATED * most:
        wrong.append("W = 2 could be enough")
    with drawing(figure, height=3.6) as (picture, (axis,)):
        axis.plot(list(reached), list(reached.values()), marker="o", color=COLOURS[0], label="scheduled")
        axis.plot(list(limits), list(limits.values()), linestyle="--", color=COLOURS[1], label="no scheduler exceeds")
        axis.set(xlabel="window, packets", ylabel="kb/s", xticks=list(WINDOWS))
        axis.set_ylim(bottom=0)
        axis.set_title(f"Ideal scheduling over {HOPS} hops", loc="left")
        picture.legend(loc="outside lower center", ncols=2)
    measured = (
        "kb/s at W = 1, 2, 3, ...: "
        + ", ".join(f"{value:.0f}" for value in reached.values())
        + f"; at most {limits[2]:.0f} at W = 2, {limits[PAPERS_WINDOW]:.0f} beyond"
    )
    return _verdict(wrong, measured)


def _loss_model() -> RowVerdict:
    """Vectors by hand, means against draws, and the curve over the hops: concave in its logarithm."""
    wrong = []
    for loss, hops, *expected in VECTORS:
        seen = (
            passes(loss, hops),
            retransmissions(loss, hops),
            paper_timeout_factor(loss, hops),
            mean_timeout_factor(loss, hops),
        )
        for value, by_hand in zip(seen, expected, strict=True):
            same = (
                value is by_hand
                if by_hand is None or value is None
                else math.isclose(value, by_hand, rel_tol=VECTOR_TOLERANCE)
            )
            if not same:
                wrong.append(f"p = {loss}, h = {hops}: {value} where {by_hand} is right")
    draw = random.Random(1)
    loss, hops = 0.05, 7
    counts = []
    for _ in range(DRAWS):
        count = 0
        while draw.random() >= passes(loss, hops):
            count += 1
        counts.append(count)
    drawn = sum(counts) / DRAWS
    if abs(drawn - retransmissions(loss, hops)) > 0.02:
        wrong.append(f"{drawn:.3f} retransmissions drawn at p = {loss}, h = {hops}")
    capped = mean_timeout_factor(loss, hops, LARGEST_FACTOR)
    drawn_capped = sum(min(2**count, LARGEST_FACTOR) for count in counts) / DRAWS
    if capped is None or abs(drawn_capped / capped - 1) > 0.03:
        wrong.append(f"factor {drawn_capped:.3f} drawn, {capped} computed with timeouts of at most 64 times the first")
    logs = [-math.log2(paper_timeout_factor(loss, hop)) for hop in range(1, 10)]
    slopes = [after - before for before, after in itertools.pairwise(logs)]
    if not all(after < before for before, after in itertools.pairwise(slopes)):
        wrong.append("the throughput does not fall faster than exponentially")
    return _verdict(
        wrong,
        f"vectors hold; {drawn:.3f} retransmissions drawn at p = 0.05, h = 7, where the model has "
        f"{retransmissions(loss, hops):.3f}; throughput falls faster than exponentially. The mean of the doubled "
        f"timeouts is larger than the paper's 2^mean ({paper_timeout_factor(loss, hops):.2f} there): unbounded from "
        f"h = 7, {capped:.2f} with timeouts of at most 64 times the first",
    )
