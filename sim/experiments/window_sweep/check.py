# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws goodput over window limit and delay window; compares the combined policy with the best of all constants.

Nothing is claimed of the constants. The combined policy, which measures instead of trying, has to reach 95 % of the
best pair of constants with pacing or without, the mean over the hops.
"""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from perhop.bound import chain
from perhop.bound.exchange import Link
from perhop.report.figures import RC, write_figure
from perhop.study.check import Check
from perhop.study.results import Results

LEAST_SHARE = 0.95
LABEL = re.compile(r"cwl (\d+) \+ dca (\d+)( \+ paced path)?")
DRAWN_HOPS = (2, 4, 6, 10, 15)

Cells = dict[tuple[int, bool, int, int], float]  # hops, paced, window limit, delay window: b/s


def check(results: Results, folder: Path) -> Check:
    """Best constants at each number of hops, unpaced and paced, beside the combined policy."""
    goodput: dict[tuple[int, str], list[float]] = {}
    rtts_ms: dict[tuple[int, str], list[float]] = {}
    for row in results.flows:
        key = int(row["hops"]), row["policy"]
        goodput.setdefault(key, []).append(row["goodput_bps"])
        rtts_ms.setdefault(key, []).append(row["rtt_ms"])
    cells: Cells = {}
    names: dict[tuple[int, bool, int, int], str] = {}
    for (hops, policy), values in goodput.items():
        if found := LABEL.fullmatch(policy):
            cell = hops, found[3] is not None, int(found[1]), int(found[2])
            cells[cell] = statistics.fmean(values)
            names[cell] = policy
    all_hops = sorted({hops for hops, *_ in cells})

    lines = [f"{'h':>2}  {'best unpaced':>28}  {'best paced':>28}  {'combined':>17}  of best   (kb/s, ms)"]
    shares = {}
    numbers = {}
    for hops in all_hops:
        best = {}
        for paced in (False, True):
            here = [cell for cell in cells if cell[:2] == (hops, paced)]
            best[paced] = max(here, key=lambda cell: cells[cell])
        ours_bps = statistics.fmean(goodput[hops, "combined"])
        ours_ms = statistics.fmean(rtts_ms[hops, "combined"])
        shares[hops] = ours_bps / max(cells[best[False]], cells[best[True]])
        words = [
            f"CWL {cell[2]:>2} w {cell[3]} {cells[cell] / 1e3:>7.1f}, {rtt_ms:>4.0f}"
            for cell in best.values()
            for rtt_ms in [statistics.fmean(rtts_ms[hops, names[cell]])]
        ]
        lines.append(
            f"{hops:>2}  {words[0]:>28}  {words[1]:>28}  {ours_bps / 1e3:>10.1f}, {ours_ms:>5.0f}  {shares[hops]:>7.3f}"
        )
        numbers[hops] = {
            "unpaced": {"cwl": best[False][2], "w": best[False][3], "bps": round(cells[best[False]])},
            "paced": {"cwl": best[True][2], "w": best[True][3], "bps": round(cells[best[True]])},
            "combined_bps": round(ours_bps),
        }
    share = statistics.fmean(shares.values())
    passed = share >= LEAST_SHARE
    lines.append(f"combined: {share:.3f} of the best constants, mean over the hops (at least {LEAST_SHARE}): {passed}")
    figure = folder / "window_sweep.svg"
    _draw(figure, [hops for hops in DRAWN_HOPS if hops in all_hops], cells)
    return Check(passed, lines, {"hops": numbers, "share_of_best": round(share, 4)}, [figure])


def _draw(file: Path, all_hops: list[int], cells: Cells) -> None:
    limits = sorted({cell[2] for cell in cells})
    windows = sorted({cell[3] for cell in cells})
    with mpl.rc_context(RC):
        figure = Figure(figsize=(2.6 * len(all_hops) + 1.4, 6.4), layout="constrained")
        axes = figure.subplots(2, len(all_hops), squeeze=False, sharey=True)
        image = None
        for column, hops in enumerate(all_hops):
            reference_bps = chain.quarter_reuse_bps(Link(), hops)
            for line, paced in enumerate((False, True)):
                axis = axes[line][column]
                shares = [
                    [cells.get((hops, paced, limit, window), float("nan")) / reference_bps for limit in limits]
                    for window in windows
                ]
                image = axis.imshow(shares, origin="lower", aspect="auto", cmap="viridis", vmin=0.4, vmax=1.0)
                axis.grid(visible=False)
                axis.set_xticks(range(len(limits)), limits, fontsize=8)
                axis.set_yticks(range(len(windows)), windows)
                here = [cell for cell in cells if cell[:2] == (hops, paced)]
                best = max(here, key=lambda cell: cells[cell])
                word = "paced" if paced else "unpaced"
                axis.set_title(f"{hops} hops, {word}: {cells[best] / reference_bps:.0%}", loc="left", fontsize=10)
                axis.plot(limits.index(best[2]), windows.index(best[3]), "o", mfc="none", mec="white", ms=12, mew=1.6)
        for axis in axes[1]:
            axis.set_xlabel("window limit, packets")
        for row in axes:
            row[0].set_ylabel("packets for a TCP ACK")
        figure.colorbar(image, ax=axes, label="goodput, share of reuse of 1/4 with a back-off", shrink=0.7)
        write_figure(figure, file)
