# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the combined policy with the airtime bound and with the best single policy of the papers.

Up to 3 hops, which share one medium, the combined policy has to reach 95 % of one exchange at a time with one mean
back-off a packet; beyond, it has to have more goodput than the best single policy, the 95 % intervals apart, and a
smaller round trip. No run of any policy may exceed the bound of its reception rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from perhop.bound import chain
from perhop.bound.exchange import Link
from perhop.report.figures import COLOURS, RC, write_figure
from perhop.study.check import Check
from perhop.study.results import Results
from perhop.study.summaries import Mean, mean

COMBINED = "combined"
SHORT_PATH_HOPS = 3
SHORT_PATH_SHARE = 0.95

# A run is measured from somewhere within a packet's way to somewhere within another's.
COUNTING_PACKETS = 1

# What the figure draws, and how: the policies that need a line of their own.
STYLES = {
    COMBINED: ("combined", COLOURS[1], "-", 2.6),
    "dca": ("DCA, Table I of paper 001", COLOURS[0], "-", 1.5),
    "delayed tcp ack": ("TCP's delayed TCP ACK", COLOURS[2], "-", 1.5),
    "daa": ("DAA", COLOURS[3], "-", 1.5),
    "hop": ("hop-based CWL", COLOURS[4], "-", 1.5),
    "delay": ("delay-based CWL", COLOURS[5], "-", 1.5),
    "no limit": ("standard TCP", COLOURS[6], "-", 1.5),
    "paced": ("paced over the round trip", COLOURS[7], ":", 1.5),
    "delay + tcp-ap by mean deviation": ("TCP-AP, delay-based CWL", COLOURS[7], "--", 1.5),
    "best fixed": ("best fixed CWL", COLOURS[6], ":", 1.5),
}


@dataclass(frozen=True)
class Cell:
    """One policy at one number of hops."""

    goodput_bps: Mean
    rtt_ms: Mean
    largest_bps: float


def check(results: Results, folder: Path) -> Check:
    """See above; the bound is that of the frames which the file's flow sends."""
    rows: dict[tuple[int, str], list[dict]] = {}
    for row in results.flows:
        rows.setdefault((int(row["hops"]), row["policy"]), []).append(row)
    cells = {key: _cell(group) for key, group in rows.items()}
    segment_bytes = {row["goodput_bps"] / row["packets_per_s"] / 8 for row in results.flows if row["packets_per_s"]}
    link = Link(segment_bytes=round(min(segment_bytes)))
    reception = results.flows[0].get("reception", chain.MEDIUM["reception"])
    measured_s = _measured_s(results)
    all_hops = sorted({hops for hops, _ in cells})

    numbers: dict[int, dict] = {}
    lines = [
        f"{'h':>2} {'bound':>7} {'1/4':>7} {'combined':>15} {'of bound':>8} {'of 1/4':>7} {'rtt ms':>6}   "
        f"{'best single':<16} {'kb/s':>13} {'rtt ms':>6} {'gain':>7}"
    ]
    passed = True
    for hops in all_hops:
        bound_bps = chain.bound_bps(link, hops, reception=reception)
        quarter_bps = chain.quarter_reuse_bps(link, hops)
        slack_bps = COUNTING_PACKETS * link.segment_bytes * 8 / measured_s
        here = {name: cell for (h, name), cell in cells.items() if h == hops}
        over = [name for name, cell in here.items() if cell.largest_bps > bound_bps + slack_bps]
        ours = here[COMBINED]
        singles = {name: cell for name, cell in here.items() if name != COMBINED}
        name = max(singles, key=lambda policy: singles[policy].goodput_bps.value)
        best = singles[name]
        share = ours.goodput_bps.value / bound_bps
        apart = ours.goodput_bps.value - ours.goodput_bps.half > best.goodput_bps.value + best.goodput_bps.half
        faster = ours.rtt_ms.value < best.rtt_ms.value
        of_quarter = ours.goodput_bps.value / quarter_bps
        holds = of_quarter >= SHORT_PATH_SHARE if hops <= SHORT_PATH_HOPS else apart and faster
        passed &= holds and not over
        gain = ours.goodput_bps.value / best.goodput_bps.value - 1
        left = (
            f"{hops:>2} {bound_bps / 1e3:>7.1f} {quarter_bps / 1e3:>7.1f} {_kbps(ours.goodput_bps):>15} {share:>8.1%} "
            f"{of_quarter:>7.1%} {ours.rtt_ms.value:>6.0f}"
        )
        lines.append(
            f"{left}   {name:<16} {_kbps(best.goodput_bps):>13} {best.rtt_ms.value:>6.0f} {gain:>+7.1%}"
            + ("" if holds else "  DOES NOT HOLD")
            + (f"  ABOVE THE BOUND: {', '.join(over)}" if over else "")
        )
        numbers[hops] = {
            "bound_bps": round(bound_bps),
            "quarter_reuse_bps": round(quarter_bps),
            "combined_bps": round(ours.goodput_bps.value),
            "combined_95": round(ours.goodput_bps.half),
            "combined_rtt_ms": round(ours.rtt_ms.value, 1),
            "share_of_bound": round(share, 4),
            "share_of_quarter_reuse": round(of_quarter, 4),
            "best_single": name,
            "best_single_bps": round(best.goodput_bps.value),
            "best_single_95": round(best.goodput_bps.half),
            "best_single_rtt_ms": round(best.rtt_ms.value, 1),
            "above_bound": over,
            "holds": holds and not over,
        }
    figure = folder / "airtime_bound.svg"
    bounds_bps = [chain.bound_bps(link, hops, reception=reception) for hops in all_hops]
    _draw(figure, all_hops, cells, bounds_bps)
    return Check(passed, lines, {"reception": reception, "hops": numbers}, [figure])


def _cell(rows: list[dict]) -> Cell:
    goodput = mean(row["goodput_bps"] for row in rows)
    rtt = mean(row["rtt_ms"] for row in rows)
    return Cell(goodput, rtt, max(row["goodput_bps"] for row in rows))


def _measured_s(results: Results) -> float:
    """How long a run is measured: its delivered packets over their rate."""
    return min(row["delivered_packets"] / row["packets_per_s"] for row in results.flows if row["packets_per_s"])


def _kbps(value: Mean) -> str:
    return f"{value.value / 1e3:.1f} ± {value.half / 1e3:.1f}"


def _draw(file: Path, all_hops: list[int], cells: dict[tuple[int, str], Cell], bounds_bps: list[float]) -> None:
    def best_fixed(hops: int) -> str:
        fixed = [name for h, name in cells if h == hops and name.startswith("cwl ")]
        return max(fixed, key=lambda name: cells[hops, name].goodput_bps.value, default="")

    with mpl.rc_context(RC):
        figure = Figure(figsize=(12.5, 5.6), layout="constrained")
        goodput, rtt = figure.subplots(1, 2)
        goodput.fill_between(all_hops, [1.0] * len(all_hops), color="#EEF2F6", step=None, zorder=0)
        for policy, (label, colour, dash, width) in STYLES.items():
            names = {h: best_fixed(h) if policy == "best fixed" else policy for h in all_hops}
            points = [(h, cells[h, name]) for h, name in names.items() if (h, name) in cells]
            if not points:
                continue
            hops = [h for h, _ in points]
            shares = [cell.goodput_bps.value / bounds_bps[all_hops.index(h)] for h, cell in points]
            halves = [cell.goodput_bps.half / bounds_bps[all_hops.index(h)] for h, cell in points]
            above = 3 if policy == COMBINED else 2
            style = {"color": colour, "linestyle": dash, "linewidth": width, "zorder": above}
            goodput.errorbar(hops, shares, yerr=halves, capsize=2, label=label, marker="o", markersize=3, **style)
            rtt.plot(hops, [cell.rtt_ms.value for _, cell in points], marker="o", markersize=3, **style)
        goodput.axhline(1, color="#1B232C", linewidth=1.4)
        goodput.text(all_hops[-1], 1.005, "airtime bound", ha="right", va="bottom", fontsize=9)
        goodput.set_ylim(0, 1.06)
        goodput.set_title("Goodput, share of the airtime bound", loc="left")
        rtt.set_yscale("log")
        rtt.set_title("Mean round trip, ms", loc="left")
        rtt.yaxis.set_major_formatter("{x:.0f}")
        for axis in (goodput, rtt):
            axis.set_xlabel("hops")
            axis.set_xticks(all_hops)
        figure.legend(loc="outside lower center", ncols=5)
        write_figure(figure, file)
