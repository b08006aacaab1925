# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges the combined policy against its rivals, in one condition and over all of them.

In each condition, means over the seeds of the verdict: at least 98 % of the goodput of the best rival (the one with the
most goodput, all flows together), a mean round trip not above that rival's, Jain's index at most 0.03 below its, and no
rival better in both goodput and round trip; at home also the lead that it had, less three points. Over all conditions:
the median of the round-trip ratios is at most 0.7. Ratios are means of each seed's own; their 95 % intervals are shown
and excuse nothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from perhop.study.results import Row as FlowRow
from perhop.study.results import jain
from perhop.study.summaries import Mean, mean

LEAST_GOODPUT_RATIO = 0.98
MOST_ROUND_TRIP_RATIO = 1.0
MOST_JAIN_LOSS = 0.03
MOST_MEDIAN_ROUND_TRIP_RATIO = 0.7

GOODPUT = "goodput"
ROUND_TRIP = "round trip"
FAIRNESS = "fairness"
BETTER_IN_BOTH = "a rival better in both"
HOME_LEAD = "lead at home"


@dataclass(frozen=True)
class Sample:
    """One run: goodput of all flows together, mean round trip of their packets, Jain's index of their goodputs."""

    goodput_bps: float
    rtt_ms: float
    jain: float


@dataclass(frozen=True)
class Means:
    """One policy in one condition."""

    goodput_bps: Mean
    rtt_ms: Mean
    jain: Mean

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Means:
        listed = list(samples)
        found = [mean(getattr(one, name) for one in listed) for name in ("goodput_bps", "rtt_ms", "jain")]
        return cls(*(each for each in found if each is not None))


@dataclass(frozen=True)
class Verdict:
    """One condition. Ratios are combined over the best rival."""

    combined: Means
    rivals: dict[str, Means]
    best: str
    goodput_ratio: Mean
    rtt_ratio: Mean
    jain_difference: Mean
    better_in_both: list[str]
    failed: list[str] = field(default_factory=list)  # the judgements that do not hold

    @property
    def holds(self) -> bool:
        return not self.failed

    @property
    def rival(self) -> Means:
        return self.rivals[self.best]


def sample(flows: list[FlowRow]) -> Sample:
    """A run from its rows, one a flow. A flow that got nothing has no round trip, and a run without any is endless."""
    goodputs_bps = [row["goodput_bps"] or 0.0 for row in flows]
    timed = [(row["rtt_ms"], row["delivered_packets"]) for row in flows if row["rtt_ms"] and row["delivered_packets"]]
    packets = sum(count for _, count in timed)
    return Sample(
        goodput_bps=sum(goodputs_bps),
        rtt_ms=sum(rtt_ms * count for rtt_ms, count in timed) / packets if packets else math.inf,
        jain=jain(goodputs_bps) or 0.0,
    )


def judge(
    combined: Mapping[int, Sample], rivals: Mapping[str, Mapping[int, Sample]], least_lead: float | None = None
) -> Verdict:
    """The verdict on one condition, from runs by seed; all contenders must have the same seeds."""
    if any(set(runs) != set(combined) for runs in rivals.values()) or not combined:
        raise ValueError("contenders were not run with the same seeds")
    ours = Means.of(combined.values())
    theirs = {name: Means.of(runs.values()) for name, runs in rivals.items()}
    best = max(theirs, key=lambda name: theirs[name].goodput_bps.value)
    of_best = rivals[best]
    goodput_ratio = _mean(_ratio(run.goodput_bps, of_best[seed].goodput_bps) for seed, run in combined.items())
    rtt_ratio = _mean(_ratio(run.rtt_ms, of_best[seed].rtt_ms) for seed, run in combined.items())
    jain_difference = _mean(run.jain - of_best[seed].jain for seed, run in combined.items())
    better = [
        name
        for name, means in theirs.items()
        if means.goodput_bps.value > ours.goodput_bps.value and means.rtt_ms.value < ours.rtt_ms.value
    ]
    holds = {
        GOODPUT: goodput_ratio.value >= LEAST_GOODPUT_RATIO,
        ROUND_TRIP: rtt_ratio.value <= MOST_ROUND_TRIP_RATIO,
        FAIRNESS: jain_difference.value >= -MOST_JAIN_LOSS,
        BETTER_IN_BOTH: not better,
        HOME_LEAD: least_lead is None or goodput_ratio.value - 1 >= least_lead,
    }
    failed = [name for name, good in holds.items() if not good]
    return Verdict(ours, theirs, best, goodput_ratio, rtt_ratio, jain_difference, better, failed)


def median_rtt_ratio(verdicts: Iterable[Verdict]) -> float:
    return statistics.median(verdict.rtt_ratio.value for verdict in verdicts)


def as_row(verdict: Verdict) -> dict[str, Any]:
    """For programs."""

    def values(prefix: str, means: Means) -> dict[str, float | None]:
        return {
            f"{prefix}_bps": _rounded(means.goodput_bps.value),
            f"{prefix}_bps_95": _rounded(means.goodput_bps.half),
            f"{prefix}_rtt_ms": _rounded(means.rtt_ms.value, 1),
            f"{prefix}_jain": _rounded(means.jain.value, 4),
        }

    return {
        **values("combined", verdict.combined),
        "rival": verdict.best,
        **values("rival", verdict.rival),
        "goodput_ratio": _rounded(verdict.goodput_ratio.value, 4),
        "goodput_ratio_95": _rounded(verdict.goodput_ratio.half, 4),
        "rtt_ratio": _rounded(verdict.rtt_ratio.value, 4),
        "rtt_ratio_95": _rounded(verdict.rtt_ratio.half, 4),
        "better_in_both": verdict.better_in_both,
        "failed": verdict.failed,
        "rivals": {
            name: {
                "goodput_bps": _rounded(means.goodput_bps.value),
                "rtt_ms": _rounded(means.rtt_ms.value, 1),
                "jain": _rounded(means.jain.value, 4),
            }
            for name, means in verdict.rivals.items()
        },
    }


def _ratio(ours: float, theirs: float) -> float:
    return ours / theirs if theirs else math.inf


def _rounded(value: float, digits: int | None = None) -> float | None:
    """JSON has no infinity. Without digits a whole number."""
    return round(value, digits) if math.isfinite(value) else None


def _mean(values: Iterable[float]) -> Mean:
    found = mean(values)
    assert found is not None
    return found
