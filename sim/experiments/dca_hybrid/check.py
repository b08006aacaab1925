# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 17 of paper 001: DCA, TCP-DAA and standard TCP over a wire and one or two wireless hops (row D-27)."""

from __future__ import annotations

from pathlib import Path

from perhop.report.figures import COLOURS, drawing
from perhop.reproduce.checks import STANDARD, mean_of, percent
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, gain

DCA, BY_DELAY, BY_HOP, DAA, DAA_AS_IN_001 = (
    "dca by hop and delay",
    "dca by delay",
    "dca",
    "daa",
    "daa as in 001",
)
NAMES = {
    STANDARD: "standard",
    DCA: "DCA by hops and delay",
    BY_DELAY: "DCA by delay",
    BY_HOP: "DCA by hops",
    DAA: "TCP-DAA",
    DAA_AS_IN_001: "TCP-DAA as in 001",
}
GAIN_LEAST, GAIN_MOST = 0.12, 0.28
DAA_BELOW = 0.6
HOPS = (1, 2)


def check(results: Results | None, folder: Path) -> Check:
    """DCA's gain over standard TCP, and what TCP-DAA, whose window is at most 4, gets of standard TCP's."""
    assert results is not None
    cells: dict[tuple[int, str], dict[int, float]] = {}
    for row in results.flows:
        # The path's own hops count the wire.
        cells.setdefault((row["sweep.topology.hops"], row["policy"]), {})[row["seed"]] = row["goodput_bps"]
    gains = {hops: {name: gain(cells[hops, name], cells[hops, STANDARD]) for name in NAMES} for hops in HOPS}
    lines = [f"{'hops':>4} " + "".join(f"{name:>24}" for name in NAMES.values()) + "   kb/s"]
    for hops in HOPS:
        rates = [mean_of(cells[hops, name]) for name in NAMES]
        lines.append(f"{hops:>4} " + "".join(f"{r.value / 1e3:>17.0f} ± {r.half / 1e3:>4.0f}" for r in rates))
    wrong = []
    for hops, of in gains.items():
        if not GAIN_LEAST <= of[DCA].value <= GAIN_MOST:
            wrong.append(f"{_hops(hops)}: DCA's gain")
        wrong += [
            f"{_hops(hops)}: {NAMES[name]} gets {1 + of[name].value:.2f} of standard TCP's rate"
            for name in (DAA, DAA_AS_IN_001)
            if 1 + of[name].value >= DAA_BELOW
        ]
    measured = "; ".join(
        f"{_hops(hops)}: DCA {percent(of[DCA])} over standard, TCP-DAA {1 + of[DAA].value:.2f} of it "
        f"({1 + of[DAA_AS_IN_001].value:.2f} as in 001); DCA by hops alone {percent(of[BY_HOP])}"
        for hops, of in gains.items()
    )
    verdict = RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, measured]))
    lines.append(f"D-27: {verdict.measured}: {verdict.verdict}")
    figure = folder / "D-27_fig17.svg"
    _draw(figure, {hops: {name: mean_of(cells[hops, name]) for name in NAMES} for hops in HOPS})
    return Check(verdict.verdict == "pass", lines, {}, [figure], {"D-27": verdict})


def _hops(hops: int) -> str:
    return f"{hops} wireless hop{'s' * (hops > 1)}"


def _draw(file: Path, rates: dict[int, dict[str, Mean]]) -> None:
    with drawing(file, columns=len(rates), height=4.0) as (figure, axes):
        for axis, (hops, of) in zip(axes, rates.items(), strict=True):
            for index, (name, label) in enumerate(NAMES.items()):
                axis.bar(
                    index,
                    of[name].value / 1e3,
                    yerr=of[name].half / 1e3 if of[name].half else None,
                    color=COLOURS[index],
                    label=label,
                    capsize=2,
                    ecolor="#5B6673",
                )
            axis.set_xticks([])
            axis.set_title(f"wire and {_hops(hops)}", loc="left")
        axes[0].set_ylabel("kb/s")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
