# SPDX-License-Identifier: GPL-2.0-or-later
"""Row X-21: a voice flow's delay beside bulk data, with SWAN's rate control and without it; EXACT's beside them.

The paper names SWAN and gives no number. What SWAN promises is judged: real-time packets meet less delay with it than
without, at every length of the chain. What best effort pays, and what EXACT does in its place, is told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from perhop.report.figures import drawing, means_line
from perhop.reproduce.checks import mean_of
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row

ALONE, TCP, SWAN, EXACT = "alone", "TCP", "TCP under SWAN", "EXACT"
BULK_FLOWS = 3


@dataclass
class Cell:
    """One way to run one chain, by seed."""

    delay_ms: dict[int, float] = field(default_factory=dict)
    p95_ms: dict[int, float] = field(default_factory=dict)
    lost: dict[int, float] = field(default_factory=dict)
    bulk_bps: dict[int, float] = field(default_factory=dict)


Cells = dict[tuple[int, str], Cell]


def way_of(rows: list[Row]) -> str | None:
    """Which way a run was made; None for those that only the product of the sweep makes."""
    slowed = rows[0]["sweep.swan"] is not None
    kinds = {row["kind"] for row in rows[1:]}
    if not kinds:
        return None if slowed else ALONE
    assert len(rows) == 1 + BULK_FLOWS and len(kinds) == 1, f"{rows[0]['label']}: {len(rows)} flows of {kinds}"
    if kinds == {"tcp"}:
        return SWAN if slowed else TCP
    return None if slowed else EXACT


def cells_of(results: Results) -> Cells:
    runs: dict[str, list[Row]] = {}
    for row in sorted(results.flows, key=lambda row: row["flow"]):
        runs.setdefault(row["run"], []).append(row)
    cells: Cells = {}
    for rows in runs.values():
        way = way_of(rows)
        if way is None:
            continue
        voice, seed = rows[0], rows[0]["seed"]
        cell = cells.setdefault((voice["sweep.topology.hops"], way), Cell())
        # Of a voice flow of which nothing arrives there is no delay to tell.
        assert voice["delay_ms"] is not None, f"{voice['label']}: no voice packet arrived"
        cell.delay_ms[seed] = voice["delay_ms"]
        cell.p95_ms[seed] = voice["delay_p95_ms"]
        cell.lost[seed] = voice["loss_share"]
        cell.bulk_bps[seed] = sum(row["goodput_bps"] for row in rows[1:])
    return cells


def judged(cells: Cells) -> RowVerdict:
    """SWAN's promise at every length; differences between runs of one seed tell how sure it is."""
    wrong, told = [], []
    for hops in sorted({hops for hops, _ in cells}):
        without, slowed, exact = cells[hops, TCP], cells[hops, SWAN], cells[hops, EXACT]
        gain = mean_of({seed: without.delay_ms[seed] - slowed.delay_ms[seed] for seed in without.delay_ms})
        if not gain.value - gain.half > 0:
            wrong.append(f"over {hops} hops SWAN's voice is not faster ({gain.value:+.0f} ± {gain.half:.0f} ms)")
        price = mean_of(slowed.bulk_bps).value / mean_of(without.bulk_bps).value
        told.append(
            f"{hops} hops: {mean_of(slowed.delay_ms).value:.0f} ms in place of {mean_of(without.delay_ms).value:.0f} "
            f"({mean_of(slowed.lost).value:.1%} lost in place of {mean_of(without.lost).value:.1%}), bulk data "
            f"{price:.2f} of TCP's; EXACT {mean_of(exact.delay_ms).value:.0f} ms, "
            f"{mean_of(exact.bulk_bps).value / mean_of(without.bulk_bps).value:.2f}"
        )
    measured = "; ".join([*wrong, "delay of voice beside three bulk flows, TCP under SWAN", *told])
    return RowVerdict("finding" if wrong else "pass", measured, "95 % over seeds, of differences within a seed")


def check(results: Results | None, folder: Path) -> Check:
    """The verdict, and a figure of delays and of what bulk data gets."""
    assert results is not None
    cells = cells_of(results)
    verdict = judged(cells)
    lines = [
        f"{hops} hops, {way}: voice {mean_of(cell.delay_ms).value:.1f} ± {mean_of(cell.delay_ms).half:.1f} ms, "
        f"95 % below {mean_of(cell.p95_ms).value:.0f} ms, {mean_of(cell.lost).value:.2%} lost; "
        f"bulk {mean_of(cell.bulk_bps).value / 1e3:.0f} kb/s"
        for (hops, way), cell in sorted(cells.items())
    ]
    figure = folder / "X-21_swan.svg"
    with drawing(figure, columns=2, height=3.8) as (drawn, (delays, rates)):
        for index, way in enumerate((ALONE, TCP, SWAN, EXACT)):
            of_way = [(hops, cell) for (hops, each), cell in sorted(cells.items()) if each == way]
            means_line(delays, [(hops, mean_of(cell.delay_ms)) for hops, cell in of_way], index, way)
            if way != ALONE:
                means_line(rates, [(hops, mean_of(cell.bulk_bps)) for hops, cell in of_way], index, way, 1e-3)
        delays.set(xlabel="hops", ylabel="delay of voice, ms", yscale="log")
        delays.set_title("Voice", loc="left")
        rates.set(xlabel="hops", ylabel="three bulk flows together, kb/s")
        rates.set_title("Bulk data", loc="left")
        rates.set_ylim(bottom=0)
        drawn.legend(*delays.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    numbers = {
        f"{hops} hops, {way}": {
            "delay_ms": round(mean_of(cell.delay_ms).value, 2),
            "lost": round(mean_of(cell.lost).value, 5),
            "bulk_bps": round(mean_of(cell.bulk_bps).value),
        }
        for (hops, way), cell in cells.items()
    }
    return Check(verdict.verdict == "pass", lines, numbers, [figure], {"X-21": verdict})
