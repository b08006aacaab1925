# SPDX-License-Identifier: GPL-2.0-or-later
"""Section 5.3 of paper 000: what pacing does on a chain of 15 hops (row B-21, its chain).

The paper's window "can open up to eight packets": the limit of 8 is judged; smaller ones are shown beside it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from perhop.report.figures import COLOURS, drawing, means_line
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, by_seed, gain, mean

DIFFERENCE_MOST = 0.1
HOPS = 15
JUDGED = 8

# What EVIDENCE speaks of: a gain of a tenth that routes add a little to. A loss, or a larger gain, has another cause.
KNOWN_GAIN_MOST = 0.2
EVIDENCE = (
    "Where the window is larger than what the chain can carry, pacing does help by about a tenth. Tried: static routes "
    "in place of DSR (5 seeds of 100 s): paced over unpaced 0.999, 0.982, 0.975, 0.996, 1.047, 1.094, 1.112 and 1.090 "
    "(each within 0.012) at limits of 1 to 8 packets. So up to the best limit of the chain, 4, pacing changes 2.5 % at "
    "most, and beyond it spreads packets that would contend with one another. Under DSR a burst also breaks routes "
    "that the MAC takes for failed, whose search costs more than the burst: that adds the few per cent above the "
    "static figure and most of the interval. The paper gives no figure for its chain; ns-2.35 has no paced TCP to set "
    "beside it."
)


def check(results: Results | None, folder: Path) -> Check:
    """Paced over unpaced within 10 % where the window can open up to 8 packets."""
    assert results is not None
    rates = by_seed(results, "packets_per_s")
    limits = sorted({int(policy.split()[1]) for _, policy in rates})
    plain = {limit: rates[HOPS, f"cwl {limit}"] for limit in limits}
    paced = {limit: rates[HOPS, f"cwl {limit} + paced"] for limit in limits}
    ratios = {limit: gain(paced[limit], plain[limit]) for limit in limits}
    lines = [f"{'CWL':>3} {'unpaced':>8} {'paced':>8}   paced over unpaced"]
    lines += [
        f"{limit:>3} {_mean(plain[limit]).value:>8.2f} {_mean(paced[limit]).value:>8.2f}   "
        f"{1 + ratio.value:.3f} ± {ratio.half:.3f}"
        for limit, ratio in ratios.items()
    ]
    judged = ratios[JUDGED]
    others = {limit: ratio for limit, ratio in ratios.items() if limit != JUDGED}
    text = ", ".join(f"{limit}: {1 + ratio.value:.3f}" for limit, ratio in others.items())
    interval = f"{judged.count} seeds, ± {judged.half:.3f}" if judged.count > 1 else ""
    measured = (
        f"chain of {HOPS} hops, windows up to {JUDGED}: paced over unpaced {1 + judged.value:.3f}; smaller limits "
        f"{text}"
    )
    wrong = abs(judged.value) >= DIFFERENCE_MOST
    known = 0 < judged.value < KNOWN_GAIN_MOST
    verdict: Literal["pass", "finding", "fail"] = "pass" if not wrong else "finding" if known else "fail"
    row = RowVerdict(verdict, measured, interval, EVIDENCE if verdict == "finding" else "")
    lines.append(f"B-21: {row.measured}: {row.verdict}")
    figure = folder / "B-21_pacing.svg"
    with drawing(figure) as (drawn, [axis]):
        means_line(axis, [(limit, _mean(cell)) for limit, cell in plain.items()], 0, "unpaced")
        means_line(axis, [(limit, _mean(cell)) for limit, cell in paced.items()], 1, "paced over srtt")
        for limit in {1, 2, 8, math.floor(HOPS / 4 + 0.5)} & set(limits):
            axis.axvline(limit, color=COLOURS[-1], linewidth=5, alpha=0.15)
        axis.set_title("Pacing on 15 hops; grey: fixed limits of the literature (1, 2, h/4, 8)", loc="left")
        axis.set_xlabel("congestion window limit, packets")
        axis.set_ylabel("packets/s")
        axis.set_ylim(bottom=0)
        drawn.legend(loc="outside lower center", ncols=2)
    return Check(row.verdict != "fail", lines, {}, [figure], {"B-21": row})


def _mean(cell: dict[int, float]) -> Mean:
    found = mean(cell.values())
    assert found is not None
    return found
