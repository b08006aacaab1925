# SPDX-License-Identifier: GPL-2.0-or-later
"""What paper 002 measures of a run in which flows of TFRC and of TCP share a path.

A throughput is what the receivers got. Ratios are TFRC's over TCP's, each the mean over its flows.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perhop.study import tfrc_logs
from perhop.study.results import Results, Row
from perhop.study.summaries import Mean, mean

# Equation (2): the weights of the eight intervals before.
WEIGHTS = tuple(weight / 6 for weight in (1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2))
TCP, TFRC = "tcp", "tfrc"


@dataclass(frozen=True)
class Measured:
    """One run. None is what cannot be told: a class of flows that got nothing, or too few loss intervals."""

    fairness: float | None  # Fig. 1
    tcp_changes_more: float | None  # Fig. 2: share of steps between bins in which TCP's mean rate changes more
    smoothness: float | None  # Fig. 3
    loss: float | None  # Fig. 4
    prediction_error: float | None  # Fig. 5, mean over the TFRC flows
    correlation: float | None  # Fig. 7, mean over the TFRC flows
    loss_event_variation: float | None  # Fig. 9: coefficient of variation of the predicted intervals
    tfrc_bps: float
    tcp_bps: float
    tfrc_loss: float
    tcp_loss: float

    def told(self, name: str) -> float | None:
        value = getattr(self, name)
        assert value is None or isinstance(value, float)
        return value


def ratio(above: float, below: float) -> float | None:
    return above / below if below > 0 else None


def loss_share(row: Row) -> float:
    """Of the data packets that the source sent, those that did not reach the receiver: alike for TCP and TFRC.

    What a MAC gives up is not lost where DSR sends it another way; TCP ACKs are not among them.
    """
    return row["loss_share"] or 0.0


def smoothness_index(rates: Sequence[float]) -> float | None:
    """Mean of |r' - r| / r over the bins; those that follow a bin without a packet say nothing and are left out."""
    changes = [abs(after - before) / before for before, after in itertools.pairwise(rates) if before > 0]
    return statistics.fmean(changes) if changes else None


def changes_more(tcp: Sequence[float], tfrc: Sequence[float]) -> float | None:
    """Share of the steps between bins in which TCP's rate changes by more than TFRC's."""
    steps = [
        abs(tcp_after - tcp_before) > abs(tfrc_after - tfrc_before)
        for (tcp_before, tcp_after), (tfrc_before, tfrc_after) in zip(
            itertools.pairwise(tcp), itertools.pairwise(tfrc), strict=True
        )
    ]
    return sum(steps) / len(steps) if steps else None


def correlation(intervals: Sequence[float], weights: Sequence[float] = WEIGHTS) -> float | None:
    """Equation (3) over sigma of both: how a weighted mean of the intervals before goes with each interval.

    From the intervals' autocovariance. None with fewer than twice as many intervals as weights.
    """
    count = len(intervals)
    if count < 2 * len(weights):
        return None
    middle = statistics.fmean(intervals)
    apart = [value - middle for value in intervals]
    covariance = [
        sum(one * other for one, other in zip(apart, apart[lag:], strict=False)) / count
        for lag in range(len(weights) + 1)
    ]
    with_estimate = sum(weight * covariance[lag] for lag, weight in enumerate(weights, start=1))
    of_estimate = sum(
        one * other * covariance[abs(early - late)]
        for early, one in enumerate(weights)
        for late, other in enumerate(weights)
    )
    sigmas = math.sqrt(covariance[0] * of_estimate) if covariance[0] > 0 and of_estimate > 0 else 0.0
    return with_estimate / sigmas if sigmas else None


def variation(values: Sequence[float]) -> float | None:
    """Standard deviation over mean."""
    return statistics.pstdev(values) / statistics.fmean(values) if len(values) > 1 and sum(values) > 0 else None


def mean_or_none(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return statistics.fmean(found) if found else None


def measure(results: Results, folder: Path) -> dict[str, Measured]:
    """Each run by its id; the loss intervals are those that its folder records."""
    flows: dict[str, list[Row]] = {}
    for row in results.flows:
        flows.setdefault(row["run"], []).append(row)
    bins: dict[str, dict[tuple[str, int], list[tuple[float, float]]]] = {}
    for row in results.intervals:
        key = (row["kind"], row["flow"])
        bins.setdefault(row["run"], {}).setdefault(key, []).append((row["t_start_s"], row["goodput_bps"] or 0.0))
    return {run: _measure(rows, bins.get(run, {}), folder / "runs" / run) for run, rows in flows.items()}


def _measure(rows: list[Row], bins: Mapping[tuple[str, int], list[tuple[float, float]]], run: Path) -> Measured:
    of = {kind: [row for row in rows if row["kind"] == kind] for kind in (TCP, TFRC)}
    rates = {
        kind: [[rate for _, rate in sorted(spans)] for (other, _), spans in sorted(bins.items()) if other == kind]
        for kind in (TCP, TFRC)
    }
    bps = {kind: statistics.fmean(row["goodput_bps"] for row in of[kind]) for kind in of}
    losses = {kind: statistics.fmean(map(loss_share, of[kind])) for kind in of}
    indices = {kind: mean_or_none(map(smoothness_index, rates[kind])) for kind in of}
    together = {kind: [statistics.fmean(spans) for spans in zip(*rates[kind], strict=True)] for kind in of}
    recorded = list(tfrc_logs.loss_intervals(run).values())
    return Measured(
        fairness=ratio(bps[TFRC], bps[TCP]),
        tcp_changes_more=changes_more(together[TCP], together[TFRC]),
        smoothness=ratio(indices[TFRC], indices[TCP]) if indices[TFRC] is not None and indices[TCP] else None,
        loss=ratio(losses[TFRC], losses[TCP]),
        prediction_error=mean_or_none(row["loss_prediction_error"] for row in of[TFRC]),
        correlation=mean_or_none(correlation([one.true_packets for one in flow]) for flow in recorded),
        loss_event_variation=mean_or_none(variation([one.predicted_packets for one in flow]) for flow in recorded),
        tfrc_bps=bps[TFRC],
        tcp_bps=bps[TCP],
        tfrc_loss=losses[TFRC],
        tcp_loss=losses[TCP],
    )


def over_runs(runs: Iterable[Measured], name: str) -> Mean | None:
    """The mean over the runs of a scenario that have it, with its interval."""
    return mean(one.told(name) for one in runs)
