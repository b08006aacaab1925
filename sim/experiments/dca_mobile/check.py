# SPDX-License-Identifier: GPL-2.0-or-later
"""The abstract of paper 001: up to 30 % in static networks, more in mobile ones (row D-30)."""

from __future__ import annotations

import statistics
from pathlib import Path

from perhop.report.figures import COLOURS, drawing
from perhop.reproduce.checks import STANDARD, percent
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, mean

DCA, NO_RESEND = "dca", "dca no resend"
ROUTINGS = ("aodv", "dsr")
STATIC_LEAST, STATIC_MOST = 0.20, 0.35  # row D-24's band of "up to 30 %"
TRACES_LEAST = 5

# (routing, speed in m/s, 0 for the chain) -> policy -> (trace, run's seed) -> goodput
Case = tuple[str, float]
Rates = dict[Case, dict[str, dict[tuple[int, int], float]]]


def check(results: Results | None, folder: Path) -> Check:
    """DCA's gain over standard TCP on the chain and at each speed; traces are compared with themselves."""
    assert results is not None
    rates = _rates(results)
    gains = {
        case: {policy: _gain(of[policy], of[STANDARD]) for policy in (DCA, NO_RESEND)} for case, of in rates.items()
    }
    speeds = sorted({speed for _, speed in rates if speed})
    lines = [f"{'':>5} {'m/s':>4}   standard, kb/s; gain of DCA, without the timer that repeats a TCP ACK"]
    for (routing, speed), of in sorted(gains.items()):
        standard = statistics.fmean(rates[routing, speed][STANDARD].values()) / 1e3
        lines.append(f"{routing:>5} {speed:>4g}   {standard:.0f}; {percent(of[DCA])}, {percent(of[NO_RESEND])}")
    wrong = []
    for case, of in rates.items():
        if case[1] and len({trace for trace, _ in of[STANDARD]}) < TRACES_LEAST:
            wrong.append(f"{case[0]} at {case[1]:g} m/s has fewer than {TRACES_LEAST} traces")
    static = max(gains[routing, 0.0][DCA].value for routing in ROUTINGS)
    if not STATIC_LEAST <= static <= STATIC_MOST:
        wrong.append(f"largest static gain {static:+.1%}")
    mobile = {routing: _mean(gains[routing, speed][DCA].value for speed in speeds) for routing in ROUTINGS}
    for routing in ROUTINGS:
        if mobile[routing].value <= gains[routing, 0.0][DCA].value:
            wrong.append(f"{routing}: mobile gain {mobile[routing].value:+.1%} no larger than the chain's")
    measured = "; ".join(
        f"{routing.upper()} chain {percent(gains[routing, 0.0][DCA])}, "
        + ", ".join(f"{speed:g} m/s {percent(gains[routing, speed][DCA])}" for speed in speeds)
        for routing in ROUTINGS
    )
    row = RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, measured]))
    lines.append(f"D-30: {row.measured}: {row.verdict}")
    figure = folder / "D-30_static_and_mobile.svg"
    _draw(figure, gains, speeds)
    return Check(row.verdict == "pass", lines, {}, [figure], {"D-30": row})


def _mean(values) -> Mean:
    found = mean(values)
    assert found is not None
    return found


def _rates(results: Results) -> Rates:
    found: Rates = {}
    for row in results.flows:
        topology = row["sweep.topology"]
        speed = float(topology.get("max_speed_mps") or 0.0)
        of = found.setdefault((row["sweep.routing"], speed), {}).setdefault(row["policy"], {})
        of[int(topology.get("seed") or 0), row["seed"]] = row["goodput_bps"] or 0.0
    return found


def _gain(cell: dict[tuple[int, int], float], base: dict[tuple[int, int], float]) -> Mean:
    """Over the sum of a trace's runs; the interval is over the traces, or over the seeds of the chain."""
    traces = {trace for trace, _ in base}
    if len(traces) == 1:
        return _mean(cell[key] / base[key] - 1 for key in base if base[key] > 0)

    def of(rates: dict[tuple[int, int], float], trace: int) -> float:
        return sum(rate for key, rate in rates.items() if key[0] == trace)

    return _mean(of(cell, trace) / of(base, trace) - 1 for trace in traces if of(base, trace) > 0)


def _draw(file: Path, gains: dict[Case, dict[str, Mean]], speeds: list[float]) -> None:
    with drawing(file, columns=2, height=3.8) as (figure, axes):
        for axis, routing in zip(axes, ROUTINGS, strict=True):
            for index, (policy, label) in enumerate(((DCA, "DCA"), (NO_RESEND, "no repeated TCP ACKs"))):
                values = [gains[routing, speed][policy] for speed in (0.0, *speeds)]
                axis.bar(
                    [place + 0.4 * index - 0.2 for place in range(len(values))],
                    [100 * value.value for value in values],
                    yerr=[100 * value.half for value in values],
                    width=0.38,
                    color=COLOURS[index],
                    label=label,
                    capsize=2,
                    ecolor="#5B6673",
                )
            axis.set_xticks(range(len(speeds) + 1), ["chain", *(f"{speed:g} m/s" for speed in speeds)])
            axis.axhline(0, color="#000000", linewidth=1)
            axis.set_title(f"{routing.upper()}: gain over standard TCP", loc="left")
        axes[0].set_ylabel("%")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
