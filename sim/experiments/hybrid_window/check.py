# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows S-06, S-07 and S-09: the window at which two flows over a multihop network and a wire are fast and fair."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from perhop.report.figures import drawing, means_line
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row, jain
from perhop.study.summaries import Mean, mean

# Where the wireless path ends: one-way delay of the wire behind the gateway in ms; 0 is the gateway itself.
DELAY_OF_END = {3: 0, 7: 10, 8: 30, 9: 100}
UNLIMITED, MEASURED = "no limit", "delay"

FAIR_LEAST = 0.9
FAST_LEAST = 0.95  # of the largest sum that any window gives (S-06)
NO_GAIN_MOST = 1.05  # S-07
DELAYS_LEAST = 2  # S-06: so many of the three have a best window
MEASURED_LEAST = 0.9  # of the best fixed window (S-09)


@dataclass(frozen=True)
class Cell:
    """Both flows under one policy: means over seeds."""

    sum_bps: Mean
    jain: Mean
    limits: tuple[float | None, float | None]  # mean limit of the flow in and the flow out

    @property
    def fair(self) -> bool:
        return self.jain.value > FAIR_LEAST


def window_of(policy: str) -> int | None:
    match = re.match(r"cwl (\d+)$", policy)
    return int(match[1]) if match else None


def check(results: Results | None, folder: Path) -> Check:
    """A window is fast and fair at two delays at least; without a wire 2 are enough; the measured limit finds it."""
    assert results is not None
    cells = _cells(results)
    delays = sorted(delay for delay in cells if delay)
    best = {delay: _smallest_fast_and_fair(row) for delay, row in cells.items()}
    rows = {"S-06": _best_window(best, delays), "S-07": _without_wire(cells[0]), "S-09": _measured(cells, delays)}
    lines = []
    for delay, row in cells.items():
        for policy, cell in row.items():
            limits = ", ".join("-" if limit is None else f"{limit:.1f}" for limit in cell.limits)
            lines.append(
                f"{'no wire' if not delay else f'{delay} ms':<8} {policy:<9} {cell.sum_bps.value / 1e3:4.0f} kb/s, "
                f"Jain's index {cell.jain.value:.3f} ± {cell.jain.half:.3f}, limits in, out: {limits}"
            )
    figure = folder / "S-06_windows.svg"
    with drawing(figure, columns=2, height=4.0) as (drawn, axes):
        for index, (delay, row) in enumerate(cells.items()):
            name = f"wire of {delay} ms" if delay else "no wire"
            windows = [(window, cell) for policy, cell in row.items() if (window := window_of(policy)) is not None]
            means_line(axes[0], [(window, cell.sum_bps) for window, cell in windows], index, name, 1e-3)
            means_line(axes[1], [(window, cell.jain) for window, cell in windows], index, name, 1.0)
        axes[0].set(xlabel="window limit, packets", ylabel="both flows, kb/s")
        axes[1].set(xlabel="window limit, packets", ylabel="Jain's index")
        drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    numbers = {f"{delay} ms": window for delay, window in best.items()}
    passed = all(row.verdict != "fail" for row in rows.values())
    return Check(passed, lines, {"best_window": numbers}, [figure], rows)


def _cells(results: Results) -> dict[int, dict[str, Cell]]:
    """By delay of the wire, then by policy."""
    runs: dict[str, list[Row]] = {}
    for row in results.flows:
        runs.setdefault(row["run"], []).append(row)
    found: dict[int, dict[str, list[list[Row]]]] = {}
    for rows in runs.values():
        found.setdefault(DELAY_OF_END[rows[0]["src"]], {}).setdefault(rows[0]["policy"], []).append(rows)
    return {
        delay: {
            policy: Cell(
                _mean([sum(row["goodput_bps"] for row in rows) for rows in samples]),
                _mean([jain([row["goodput_bps"] for row in rows]) for rows in samples]),
                (_limit(samples, 0), _limit(samples, 1)),
            )
            for policy, samples in row.items()
        }
        for delay, row in sorted(found.items())
    }


def _limit(samples: list[list[Row]], flow: int) -> float | None:
    found = mean(rows[flow]["cwl_packets"] for rows in samples)
    return None if found is None else found.value


def _fixed(row: dict[str, Cell]) -> dict[int, Cell]:
    return {window: cell for policy, cell in row.items() if (window := window_of(policy)) is not None}


def _smallest_fast_and_fair(row: dict[str, Cell]) -> int | None:
    most_bps = max(cell.sum_bps.value for policy, cell in row.items() if policy != MEASURED)
    there = [
        window for window, cell in _fixed(row).items() if cell.fair and cell.sum_bps.value >= FAST_LEAST * most_bps
    ]
    return min(there, default=None)


def _best_window(best: dict[int, int | None], delays: list[int]) -> RowVerdict:
    without = best[0]
    larger = [delay for delay in delays if best[delay] is not None and without is not None and best[delay] > without]
    words = ", ".join(f"{best[delay] or 'none'} at {delay} ms" for delay in delays)
    return RowVerdict(
        "pass" if len(larger) >= DELAYS_LEAST else "fail",
        f"smallest window with {FAST_LEAST:.0%} of the largest sum and Jain's index above {FAIR_LEAST}: {words}; "
        f"{without or 'none'} without a wire",
    )


def _without_wire(row: dict[str, Cell]) -> RowVerdict:
    fixed = _fixed(row)
    two_bps = fixed[2].sum_bps.value
    larger = {window: cell.sum_bps.value / two_bps for window, cell in fixed.items() if window > 2}
    larger_unlimited = row[UNLIMITED].sum_bps.value / two_bps
    top = max([*larger.values(), larger_unlimited])
    fair = fixed[1].fair or fixed[2].fair
    return RowVerdict(
        "pass" if fair and top <= NO_GAIN_MOST else "fail",
        f"Jain's index {fixed[1].jain.value:.2f} at a window of 1, {fixed[2].jain.value:.2f} at 2; "
        f"larger ones have at most {top:.2f} of the throughput of 2",
        interval=f"± {fixed[1].jain.half:.2f}, ± {fixed[2].jain.half:.2f}",
    )


def _measured(cells: dict[int, dict[str, Cell]], delays: list[int]) -> RowVerdict:
    """The limit by A-12 beside the fastest fixed window that is fair."""
    words, held = [], []
    for delay in delays:
        fair = {window: cell for window, cell in _fixed(cells[delay]).items() if cell.fair}
        own = cells[delay][MEASURED]
        if not fair:
            words.append(f"{delay} ms: no fixed window is fair")
            continue
        window = max(fair, key=lambda each: fair[each].sum_bps.value)
        ratio = own.sum_bps.value / fair[window].sum_bps.value
        words.append(
            f"{delay} ms: {ratio:.2f} of the best fair window ({window}), Jain's index {own.jain.value:.2f} "
            f"(± {own.jain.half:.2f})"
        )
        if ratio >= MEASURED_LEAST and own.fair:
            held.append(delay)
    if len(held) == len(delays):
        return RowVerdict("pass", "; ".join(words))
    if not held:
        return RowVerdict("fail", "; ".join(words))
    return RowVerdict("finding", "; ".join(words), evidence=_evidence(cells, delays, held))


def _evidence(cells: dict[int, dict[str, Cell]], delays: list[int], held: list[int]) -> str:
    limits = []
    for delay in delays:
        inward, outward = ("none" if limit is None else f"{limit:.1f}" for limit in cells[delay][MEASURED].limits)
        limits.append(f"{inward} and {outward} at {delay} ms")
    missed = [delay for delay in delays if delay not in held]
    unfair = [f"{delay} ms" for delay in missed if not cells[delay][MEASURED].fair]
    slow = [f"{delay} ms" for delay in missed if cells[delay][MEASURED].fair]
    text = f"Mean limits of the flow in and the flow out: {', '.join(limits)}. "
    if slow:
        text += (
            f"Too slow at {', '.join(slow)}: the wire's round trip is taken for the least round trip less the least "
            "wireless delays of the same 10 to 20 s. Those are means, and a single round trip meets less contention, "
            "so that a short wire may be taken for shorter than it is, which was not measured. Less the mean delays of "
            "the present the limit gave 0.82 of the best at 10 ms (limits 1.3 and 1.0; quick, 2 seeds). "
        )
    if unfair:
        text += (
            f"Unfair at {', '.join(unfair)}: the wire's round trip is divided by the slowest hop's delay, which holds "
            "the contention of the branch that the flow takes. The flow with less of it gets the larger limit, and the "
            "more so the more the wire holds. Fixed windows as large are as unfair. "
        )
    return (
        text
        + "Branches of two hops in place of three, less the mean delays: 0.93 and 0.97 of the best at 10 and 30 ms, "
        "and unfair at 100 ms."
    )


def _mean(values: list[float | None]) -> Mean:
    found = mean(values)
    return found if found is not None else Mean(0.0, 0.0, 0)
