# SPDX-License-Identifier: GPL-2.0-or-later
"""Table 1 of paper 003: a window of one packet over 1 to 7 hops of CSMA and of FAMA (row G-01).

The paper does not say how long FAMA's RTS, CTS and turnarounds take. Their sum, 730 us, is such that its cell of one
hop comes out. So that cell is no evidence; the others are, for FAMA, and all for CSMA, of which nothing is fitted.
"""

from __future__ import annotations

from pathlib import Path

from perhop.report.figures import drawing, means_line
from perhop.reproduce.checks import mean_of
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import by_seed

TABLE_1_KBPS = {
    "csma": (1838.4, 921.3, 614.8, 461.4, 369.2, 307.7, 263.4),
    "fama": (1476.5, 718.7, 475.4, 355.3, 287.5, 239.1, 204.7),
}
TOLERANCE = {"csma": 0.03, "fama": 0.05}
# R(h) h / R(1): a window of one packet takes h times as long over h hops.
PRODUCT = {"csma": (0.99, 1.01), "fama": (0.95, 1.01)}
FITTED_HOPS = {"csma": 0, "fama": 1}


def check(results: Results | None, folder: Path) -> Check:
    """Every cell within its tolerance of the paper's, and throughput inversely proportional to the hops."""
    assert results is not None
    cells = {(mode, hops): mean_of(seeds) for (hops, _, mode), seeds in by_seed(results).items()}
    all_hops = sorted({hops for _, hops in cells})
    lines, wrong, words = ["kb/s by hops; the paper's in brackets"], [], []
    for mode, table in TABLE_1_KBPS.items():
        measured = [cells[mode, hops].value / 1e3 for hops in all_hops]
        paper = [table[hops - 1] for hops in all_hops]
        errors = [here / there - 1 for here, there in zip(measured, paper, strict=True)]
        products = [rate * hops / measured[0] for hops, rate in zip(all_hops, measured, strict=True)]
        low, high = PRODUCT[mode]
        wrong += [
            f"{mode} h = {h}: {e:+.1%}" for h, e in zip(all_hops, errors, strict=True) if abs(e) > TOLERANCE[mode]
        ]
        wrong += [
            f"{mode} h = {h}: R(h) h / R(1) = {p:.3f}"
            for h, p in zip(all_hops, products, strict=True)
            if not low <= p <= high
        ]
        lines.append(
            f"{mode}  " + "  ".join(f"{here:.1f} ({there})" for here, there in zip(measured, paper, strict=True))
        )
        predicted = [abs(error) for h, error in zip(all_hops, errors, strict=True) if h != FITTED_HOPS[mode]]
        fitted = f"fitted to h = {FITTED_HOPS[mode]}, the others" if FITTED_HOPS[mode] else "nothing fitted, all"
        words.append(
            f"{mode.upper()}: {fitted} within {max(predicted):.1%}, "
            f"R(h) h / R(1) in {min(products):.3f}..{max(products):.3f}"
        )
    figure = folder / "G-01_table_1.svg"
    with drawing(figure, height=3.6) as (picture, (axis,)):
        for index, mode in enumerate(TABLE_1_KBPS):
            means_line(axis, [(hops, cells[mode, hops]) for hops in all_hops], index, mode.upper(), 1e-3)
            axis.plot(
                all_hops,
                [TABLE_1_KBPS[mode][hops - 1] for hops in all_hops],
                "x",
                color="#000000",
                label=f"paper, {mode.upper()}",
            )
        axis.set(xlabel="hops", ylabel="kb/s", xticks=all_hops)
        axis.set_ylim(bottom=0)
        axis.set_title("Table 1: a window of one packet", loc="left")
        picture.legend(loc="outside lower center", ncols=4)
    row = RowVerdict("fail" if wrong else "pass", "; ".join(words + wrong))
    return Check(not wrong, lines, {}, [figure], {"G-01": row})
