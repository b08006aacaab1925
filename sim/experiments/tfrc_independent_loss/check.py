# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 8 of paper 002: loss events without memory make TFRC conservative (row X-22); what follows for its use (X-20).

Vojnovic and Le Boudec, whom the paper follows: a source that sends at f(mean of the last intervals) gets less than f
of the true mean when an interval tells nothing of the next, because f is not linear and the mean varies. Where the
intervals are all equal it gets f, and the more of them it averages, the nearer it comes. The same is asked here of
host/core's estimator and equation, fed with intervals of one mean, and of TFRC on the air, whose packets are lost
independently.
"""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import dataclass
from pathlib import Path

from perhop import core
from perhop.report.figures import COLOURS, MARKERS, drawing
from perhop.study import exact_logs, tfrc_logs
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row
from perhop.study.summaries import Mean, mean

PACKET_BYTES = 1000
MEMORIES = (2, 8, 64)
MEMORY = 8  # the paper's and RFC 5348's
INTERVALS = 2000
SEED = 1
EQUAL_WITHIN = 0.01
CORRELATION_MOST = 0.3  # row X-11's
# A TFRC flow whose share is this far from TCP's is of no use where strict fairness is asked for.
FAIR_WITHIN = 0.10
KINDS = ("equal", "independent")


@dataclass(frozen=True)
class Flow:
    """One run of TFRC on the air."""

    memory: int
    p_lost: float
    sent_bytes_per_s: float
    equation_bytes_per_s: float  # at the mean of the intervals that there were
    error: float
    correlation: float

    @property
    def ratio(self) -> float:
        return self.sent_bytes_per_s / self.equation_bytes_per_s


def rate_bytes_per_s(interval_packets: float, round_trip_s: float) -> float:
    return core.tfrc_rate(
        core.TfrcEquationInput(
            packet_bytes=PACKET_BYTES, round_trip_s=round_trip_s, loss_event_rate=min(1.0, 1 / interval_packets)
        )
    )


def ratio_of(intervals: list[int], memory: int, round_trip_s: float) -> float:
    """What a source gets over these intervals, of what the equation gives at their mean."""
    estimator = core.TfrcLossIntervals(memory)
    estimator.on_first_loss_event(statistics.fmean(intervals))
    sent, elapsed_s = 0, 0.0
    for number, interval in enumerate(intervals):
        for _ in range(interval):
            estimator.on_packets(1)
            # The history fills with intervals first.
            if number >= 2 * memory:
                sent += 1
                elapsed_s += PACKET_BYTES / rate_bytes_per_s(estimator.mean_packets, round_trip_s)
        estimator.on_loss_event()
    counted = intervals[2 * memory :]
    return sent * PACKET_BYTES / elapsed_s / rate_bytes_per_s(statistics.fmean(counted), round_trip_s)


def intervals_of(kind: str, p_lost: float) -> list[int]:
    """Intervals whose mean is 1/p: all alike, or drawn independently."""
    if kind == "equal":
        return [round(1 / p_lost)] * INTERVALS
    draw = random.Random(SEED)
    return [1 + int(math.log(1 - draw.random()) / math.log(1 - p_lost)) for _ in range(INTERVALS)]


def check(results: Results | None, folder: Path) -> Check:
    """Less than the equation where losses are independent, by the rules and on the air; as much at equal intervals."""
    assert results is not None
    flows = [_flow(results, row, folder) for row in results.flows if row["kind"] == "tfrc"]
    rates = sorted({flow.p_lost for flow in flows})
    round_trip_s = statistics.fmean(row["rtt_ms"] for row in results.flows if row["kind"] == "tfrc") / 1e3
    model = {
        (kind, p, memory): ratio_of(intervals_of(kind, p), memory, round_trip_s)
        for kind in KINDS
        for p in rates
        for memory in MEMORIES
    }
    air = {
        (p, memory): _mean(flow.ratio for flow in flows if (flow.p_lost, flow.memory) == (p, memory))
        for p in rates
        for memory in MEMORIES
    }
    lines = [f"{'p':>5} {'L':>3}  of the equation's rate: equal intervals, independent; on the air, independent"]
    for p in rates:
        for memory in MEMORIES:
            told = "".join(f"{model[kind, p, memory]:>8.3f}" for kind in KINDS)
            lines.append(f"{p:>5} {memory:>3}  {told} {air[p, memory].value:>10.3f} ± {air[p, memory].half:.3f}")
    wrong = [
        f"equal intervals give {r:.3f}" for (k, *_), r in model.items() if k == "equal" and abs(r - 1) > EQUAL_WITHIN
    ]
    for p in rates:
        if model["independent", p, MEMORY] >= 1 - EQUAL_WITHIN:
            wrong.append(f"p = {p}: {model['independent', p, MEMORY]:.3f} by the rules")
        if not model["independent", p, 2] < model["independent", p, 8] < model["independent", p, 64]:
            wrong.append(f"p = {p}: a longer memory does not help")
        if air[p, MEMORY].value + air[p, MEMORY].half >= 1:
            wrong.append(f"p = {p}: {air[p, MEMORY].value:.3f} of the equation's rate on the air")
    judged = [flow for flow in flows if flow.memory == MEMORY]
    correlation = statistics.fmean(flow.correlation for flow in judged)
    error = statistics.fmean(flow.error for flow in judged)
    if abs(correlation) >= CORRELATION_MOST:
        wrong.append(f"correlation of an interval and its prediction {correlation:.2f}")
    measured = (
        "independent losses, L = 8: "
        + ", ".join(
            f"{air[p, MEMORY].value:.2f} of the equation's rate on the air at p = {p} "
            f"({model['independent', p, MEMORY]:.2f} by its rules)"
            for p in rates
        )
        + "; equal intervals give 1.00; with L = 64 on the air "
        + ", ".join(f"{air[p, 64].value:.2f}" for p in rates)
        + f"; an interval and its prediction correlate by {correlation:+.2f}, prediction error {error:.0%}"
    )
    interval = ", ".join(f"± {air[p, MEMORY].half:.2f}" for p in rates)
    rows = {
        "X-22": RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, measured]), interval),
        "X-20": _use(results, rates),
    }
    lines += [f"{row}: {verdict.measured}: {verdict.verdict}" for row, verdict in rows.items()]
    figure = folder / "X-22_independent_loss.svg"
    _draw(figure, rates, model, air)
    return Check(all(row.verdict == "pass" for row in rows.values()), lines, {}, [figure], rows)


def _flow(results: Results, row: Row, folder: Path) -> Flow:
    run = exact_logs.run_folder(folder, row)
    found = tfrc_logs.loss_intervals(run)[row["flow"]]
    mean_packets = statistics.fmean(interval.true_packets for interval in found)
    predicted = [interval.predicted_packets for interval in found]
    true = [interval.true_packets for interval in found]
    swept = row["sweep.flows"]
    return Flow(
        memory=int(swept[0]["loss_intervals"]),
        p_lost=row["sweep.medium.frame_error_rate"],
        sent_bytes_per_s=row["goodput_bps"] / 8 / (1 - row["loss_share"]),
        equation_bytes_per_s=rate_bytes_per_s(mean_packets, row["rtt_ms"] / 1e3),
        error=statistics.fmean(interval.error for interval in found),
        correlation=statistics.correlation(predicted, true),
    )


def _mean(values) -> Mean:
    found = mean(values)
    assert found is not None
    return found


def _use(results: Results, rates: list[float]) -> RowVerdict:
    """TFRC's share of what TCP gets at the same loss, each alone on the air."""
    share: dict[float, Mean] = {}
    for p in rates:
        goodput: dict[str, dict[int, float]] = {"tfrc": {}, "tcp": {}}
        for row in results.flows:
            if row["sweep.medium.frame_error_rate"] == p and _is_judged(row):
                goodput[row["kind"]][row["seed"]] = row["goodput_bps"]
        share[p] = _mean(rate / goodput["tcp"][seed] for seed, rate in goodput["tfrc"].items())
    unfair = all(abs(value.value - 1) > FAIR_WITHIN for value in share.values())
    measured = "at equal loss, each alone, TFRC gets " + ", ".join(f"{share[p].value:.2f} (p = {p})" for p in rates)
    return RowVerdict(
        "pass" if unfair else "fail",
        f"{measured} of TCP-SACK's rate, none within {FAIR_WITHIN:.0%} of it; see sim/experiments/README.md",
        ", ".join(f"± {share[p].half:.2f}" for p in rates),
    )


def _is_judged(row: Row) -> bool:
    return row["kind"] != "tfrc" or int(row["sweep.flows"][0]["loss_intervals"]) == MEMORY


def _draw(
    file: Path, rates: list[float], model: dict[tuple[str, float, int], float], air: dict[tuple[float, int], Mean]
) -> None:
    with drawing(file, columns=len(rates), height=3.8) as (figure, axes):
        for axis, p in zip(axes, rates, strict=True):
            places = range(len(MEMORIES))
            for index, kind in enumerate(KINDS):
                values = [model[kind, p, memory] for memory in MEMORIES]
                axis.plot(
                    places, values, MARKERS[index] + "-", color=COLOURS[index], label=f"{kind} intervals, by the rules"
                )
            axis.errorbar(
                places,
                [air[p, memory].value for memory in MEMORIES],
                yerr=[air[p, memory].half for memory in MEMORIES],
                fmt=MARKERS[3],
                color=COLOURS[3],
                capsize=2,
                label="independent losses, on the air",
            )
            axis.set_xticks(places, [str(memory) for memory in MEMORIES])
            axis.set_title(f"p = {p}", loc="left")
            axis.set_xlabel("L, intervals remembered")
            axis.set_ylim(0, 1.2)
        axes[0].set_ylabel("share of the equation's rate")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
