# SPDX-License-Identifier: GPL-2.0-or-later
"""Paper 003, section 3: the long connection of the string shortened to two hops, from node 2 to node 4 (row G-06)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from perhop.report.figures import COLOURS, drawing
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import mean

PAPER_KBPS = {"csma": 111.0, "fama": 0.0}
SHORT_FLOW = 7
SOME_KBPS = 1.0

EVIDENCE = (
    "That a window of 32 KB does not help the connection over seven hops is part of row G-05. Over two hops CSMA "
    "lets some through, as in the paper, but so does FAMA. It is the same deviation as in the ring (G-04): what "
    "FAMA's captors take in the paper, they do not take here, and what was tried for it is told there."
)


def check(results: Results | None, folder: Path) -> Check:
    """CSMA lets something through, FAMA nothing: below 1 kb/s, as the starved connection of Table 4."""
    assert results is not None
    rates: dict[str, dict[int, float]] = defaultdict(dict)
    for row in results.flows:
        if row["flow"] == SHORT_FLOW:
            rates[row["sweep.mac.access_mode"]][row["seed"]] = row["goodput_bps"] / 1e3
    means = {mode: mean(seeds.values()) for mode, seeds in rates.items()}
    csma, fama = means["csma"], means["fama"]
    assert csma is not None and fama is not None
    verdict = "fail" if csma.value < SOME_KBPS else "pass" if fama.value < SOME_KBPS else "finding"
    measured = "; ".join(
        f"{mode.upper()} 2-4 {found.value:.0f} kb/s "
        f"(by seed {', '.join(f'{rate:.0f}' for rate in rates[mode].values())}), paper {PAPER_KBPS[mode]:.0f}"
        for mode, found in (("csma", csma), ("fama", fama))
    )
    figure = folder / "G-06_two_hops.svg"
    with drawing(figure, height=3.2) as (picture, (axis,)):
        for index, (mode, seeds) in enumerate(sorted(rates.items())):
            axis.bar(
                [place + 0.4 * index - 0.2 for place in range(len(seeds))],
                list(seeds.values()),
                width=0.36,
                color=COLOURS[index],
                label=mode.upper(),
            )
        axis.set_xticks(range(len(rates["csma"])), [f"seed {seed}" for seed in rates["csma"]])
        axis.set_ylabel("kb/s")
        axis.set_title("The connection over two hops", loc="left")
        picture.legend(loc="outside lower center", ncols=2)
    row = RowVerdict(verdict, measured, evidence=EVIDENCE if verdict == "finding" else "")
    return Check(verdict != "fail", [measured], {}, [figure], {"G-06": row})
