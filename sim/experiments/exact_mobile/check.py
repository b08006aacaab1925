# SPDX-License-Identifier: GPL-2.0-or-later
"""Row X-15, the mobile half: Jain's index and the share delivered of what was sent, EXACT beside TCP-SACK.

exact_against_tcp has nodes at rest. Here paths have unlike lengths, and some flows of TCP starve.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perhop.report.figures import COLOURS, drawing
from perhop.reproduce.checks import mean_of
from perhop.study.check import Check, RowVerdict
from perhop.study.delivered import delivered_share
from perhop.study.results import Results, Row, jain
from perhop.study.summaries import Mean

KINDS = ("exact", "tcp")
NAMES = {"exact": "EXACT", "tcp": "TCP-SACK"}
FLOWS = 5
TRACES_LEAST = 5
# What is compared: attribute of Cell, words, digits.
MEASURES = (("jain", "Jain's index", 3), ("delivered", "delivered / sent", 4))


@dataclass(frozen=True)
class Cell:
    """One kind of flows in one area: each number by trace."""

    jain: dict[int, float]
    delivered: dict[int, float]
    goodput_bps: dict[int, float]


Cells = dict[tuple[str, str], Cell]


def check(results: Results | None, folder: Path) -> Check:
    """Both measures above TCP-SACK's, in the mean over the traces of each area."""
    assert results is not None
    cells = _cells(results)
    areas = sorted({area for area, _ in cells})
    lines = [
        f"{area}, {NAMES[kind]}: "
        + ", ".join(f"{words} {_pm(mean_of(getattr(cell, name)), digits)}" for name, words, digits in MEASURES)
        + f", {_pm(mean_of(cell.goodput_bps), 0, 1e-3)} kb/s in all"
        for (area, kind), cell in sorted(cells.items())
    ]
    verdict = judged(cells, areas)
    figure = folder / "X-15_mobile.svg"
    _draw(figure, cells, areas)
    numbers = {
        f"{area}, {NAMES[kind]}": {
            name: round(mean_of(getattr(cell, name)).value, 4) for name in ("jain", "delivered", "goodput_bps")
        }
        for (area, kind), cell in cells.items()
    }
    return Check(verdict.verdict == "pass", lines, numbers, [figure], {"X-15": verdict})


def judged(cells: Cells, areas: list[str]) -> RowVerdict:
    """Differences within a trace tell how sure it is; the means decide."""
    wrong, told = [], []
    for area in areas:
        exact, tcp = cells[area, "exact"], cells[area, "tcp"]
        if len(exact.jain) < TRACES_LEAST or exact.jain.keys() != tcp.jain.keys():
            wrong.append(f"{area}: not {TRACES_LEAST} traces, the same for both")
            continue
        words = []
        for name, title, digits in MEASURES:
            ours, theirs = getattr(exact, name), getattr(tcp, name)
            lead = mean_of({trace: ours[trace] - theirs[trace] for trace in ours})
            if not lead.value > 0:
                wrong.append(f"{area}: {title} is not above TCP-SACK's")
            words.append(
                f"{title} {mean_of(ours).value:.{digits}f} against {mean_of(theirs).value:.{digits}f} "
                f"({lead.value:+.{digits}f} ± {lead.half:.{digits}f})"
            )
        price = mean_of(exact.goodput_bps).value / mean_of(tcp.goodput_bps).value
        told.append(f"{area}: {', '.join(words)}, goodput of all flows {price:.2f} of TCP's")
    measured = "; ".join([*wrong, "nodes that move, EXACT against TCP-SACK", *told])
    return RowVerdict("fail" if wrong else "pass", measured, "mobile: 95 % over traces, of differences within a trace")


def _cells(results: Results) -> Cells:
    runs: dict[tuple[str, str, int], list[Row]] = {}
    for row in results.flows:
        runs.setdefault((_area(row), row["kind"], row["sweep.topology.seed"]), []).append(row)
    cells: Cells = {}
    for (area, kind, trace), rows in runs.items():
        assert len(rows) == FLOWS, f"{len(rows)} flows of {NAMES[kind]} in a run, not {FLOWS}"
        cell = cells.setdefault((area, kind), Cell({}, {}, {}))
        # Where nobody gets anything there is nothing to share.
        cell.jain[trace] = jain([row["goodput_bps"] for row in rows]) or 0.0
        cell.delivered[trace] = delivered_share(rows)
        cell.goodput_bps[trace] = sum(row["goodput_bps"] for row in rows)
    return cells


def _area(row: Row) -> str:
    area = row["sweep.topology"]
    return f"{area['nodes']} nodes over {area['width_m']:g} m x {area['height_m']:g} m"


def _pm(value: Mean, digits: int, factor: float = 1.0) -> str:
    return f"{value.value * factor:.{digits}f} ± {value.half * factor:.{digits}f}"


def _draw(file: Path, cells: Cells, areas: list[str]) -> None:
    """Each trace a point, EXACT's over TCP's: above the line where EXACT has more."""
    with drawing(file, columns=len(MEASURES), height=3.8) as (figure, axes):
        for axis, (name, words, _) in zip(axes, MEASURES, strict=True):
            for index, area in enumerate(areas):
                exact, tcp = (getattr(cells[area, kind], name) for kind in KINDS)
                traces = [trace for trace in exact if trace in tcp]
                ours, theirs = [exact[trace] for trace in traces], [tcp[trace] for trace in traces]
                axis.plot(theirs, ours, "o", color=COLOURS[index], label=area)
            least = min(
                value for area in areas for kind in KINDS for value in getattr(cells[area, kind], name).values()
            )
            axis.plot([least, 1], [least, 1], color="#9AA5B1", linewidth=1.2)
            axis.set(xlabel="TCP-SACK", ylabel="EXACT")
            axis.set_title(f"{words}, a point a trace", loc="left")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
