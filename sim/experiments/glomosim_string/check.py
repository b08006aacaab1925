# SPDX-License-Identifier: GPL-2.0-or-later
"""Table 4 of paper 003: seven one-hop connections along a string and one over all of it (row G-05)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from perhop.report.figures import COLOURS, drawing
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, jain
from perhop.study.summaries import Mean, mean

TABLE_4_KBPS = {
    "csma": (358.7, 20.6, 811.3, 960.7, 21.8, 0.0, 1630.1, 0.0),
    "fama": (334.2, 437.5, 336.9, 147.0, 834.0, 248.9, 387.7, 0.1),
}
ONE_HOP_LINKS = 7
SUM_TOLERANCE = 0.20
STARVED_KBPS = 1.0
LARGE_WINDOW = 22


def check(results: Results | None, folder: Path) -> Check:
    """The long connection starves, with a large window too; FAMA is the fairer; sums, as means over the seeds."""
    assert results is not None
    runs: dict[tuple[str, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(results.flows, key=lambda row: row["flow"]):
        key = row["sweep.mac.access_mode"], int(row["sweep.flows.7.max_window_packets"])
        runs[key][row["seed"]].append(row["goodput_bps"] / 1e3)

    def over_seeds(mode: str, window: int, measure: str) -> Mean:
        found = mean(MEASURES[measure](rates) for rates in runs[mode, window].values())
        assert found is not None
        return found

    lines = ["kb/s of 0-1 to 6-7 and 0-7, mean over the seeds; sum; Jain's index of the seven"]
    for (mode, window), seeds in sorted(runs.items()):
        means = [sum(rates) / len(rates) for rates in zip(*seeds.values(), strict=True)]
        lines.append(
            f"{mode}, window of 0-7 {window}:  {'  '.join(f'{rate:.1f}' for rate in means)};  "
            f"{over_seeds(mode, window, 'sum').value:.0f};  {over_seeds(mode, window, 'jain').value:.2f}"
        )
    wrong = []
    for mode, table in TABLE_4_KBPS.items():
        for window in (1, LARGE_WINDOW):
            if (rate := over_seeds(mode, window, "long").value) >= STARVED_KBPS:
                wrong.append(f"{mode.upper()} 0-7 with a window of {window}: {rate:.1f} kb/s")
        error = over_seeds(mode, 1, "sum").value / sum(table) - 1
        if abs(error) > SUM_TOLERANCE:
            wrong.append(f"{mode.upper()} sum {error:+.0%}")
    if over_seeds("fama", 1, "jain").value <= over_seeds("csma", 1, "jain").value:
        wrong.append("CSMA is the fairer")
    measured = "; ".join(
        f"{mode.upper()}: 0-7 {over_seeds(mode, 1, 'long').value:.2f} kb/s, with 32 KB "
        f"{over_seeds(mode, LARGE_WINDOW, 'long').value:.2f}; sum {over_seeds(mode, 1, 'sum').value:.0f} kb/s "
        f"({over_seeds(mode, 1, 'sum').value / sum(table) - 1:+.0%}), Jain {over_seeds(mode, 1, 'jain').value:.2f}"
        for mode, table in TABLE_4_KBPS.items()
    )
    figure = folder / "G-05_table_4.svg"
    with drawing(figure, columns=2, height=3.8) as (picture, axes):
        for axis, (mode, paper) in zip(axes, TABLE_4_KBPS.items(), strict=True):
            places = range(len(paper))
            for index, rates in enumerate(runs[mode, 1].values()):
                axis.bar([place + 0.2 * index - 0.3 for place in places], rates, width=0.18, color=COLOURS[index])
            axis.plot(places, paper, "x", color="#000000", label="paper")
            axis.set_xticks(places, [f"{link}-{link + 1}" for link in range(ONE_HOP_LINKS)] + ["0-7"])
            axis.set_title(f"{mode.upper()}, a bar a seed", loc="left")
            axis.set_ylabel("kb/s")
        picture.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center")
    row = RowVerdict("fail" if wrong else "pass", "; ".join([measured, *wrong]))
    return Check(not wrong, lines, {}, [figure], {"G-05": row})


MEASURES = {"sum": sum, "jain": lambda rates: jain(rates[:ONE_HOP_LINKS]), "long": lambda rates: rates[ONE_HOP_LINKS]}
