# SPDX-License-Identifier: GPL-2.0-or-later
"""The difference of two sides over pairs of runs with the same seed: an estimate, its 95 % interval, and by which test.

Runs of a seed share its draws (of the medium's losses, of backoffs, of when flows begin), so each pair is one
observation and the pairs are independent of each other.
"""

from __future__ import annotations

import bisect
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
ALPHA = 1 - CONFIDENCE
# Fewer pairs than this cannot be significant at 5 % by their signs and ranks: 2 / 2^5 is 6.25 %.
LEAST_FOR_RANKS = 6
# The test of Shapiro and Wilk takes three values or more.
LEAST_FOR_SHAPIRO = 3

PAIRED_T = "paired t"
SIGNED_RANK = "Wilcoxon signed rank"
NO_TEST = "none"


@dataclass(frozen=True)
class Pair:
    """What both sides got with one seed."""

    seed: int
    a: float
    b: float

    @property
    def difference(self) -> float:
        return self.b - self.a


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval, which is None where there can be none."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def half(self) -> float | None:
        """Half the width of the interval."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def excludes_zero(self) -> bool:
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


@dataclass(frozen=True)
class Difference:
    """What side B has more than side A, and how sure that is.

    `relative` is of each pair's share of A's value, such as -0.05 for 5 % less; None where A has nothing in some pair.
    `p_adjusted` is `p` for as many comparisons as are made at once (Benjamini and Hochberg).
    """

    pairs: tuple[Pair, ...]
    mean_a: float
    mean_b: float
    absolute: Estimate
    relative: Estimate | None
    test: str
    why: str
    p: float | None = None
    p_adjusted: float | None = None
    normality_p: float | None = None


def compare(pairs: Sequence[Pair]) -> Difference:
    """The difference over one pair or more."""
    differences = [pair.difference for pair in pairs]
    shares = [pair.b / pair.a - 1 for pair in pairs] if all(pair.a for pair in pairs) else None
    test, why, normality_p = _choose(differences)
    absolute, p = _estimate(differences, test)
    return Difference(
        tuple(pairs),
        statistics.fmean(pair.a for pair in pairs),
        statistics.fmean(pair.b for pair in pairs),
        absolute,
        _estimate(shares, test)[0] if shares is not None else None,
        test,
        why,
        p,
        normality_p=normality_p,
    )


def adjust(differences: Sequence[Difference]) -> list[Difference]:
    """The same, each with its p for as many tests as there are."""
    tested = [difference.p for difference in differences if difference.p is not None]
    adjusted = iter(stats.false_discovery_control(tested)) if tested else iter(())
    return [
        replace(difference, p_adjusted=float(next(adjusted))) if difference.p is not None else difference
        for difference in differences
    ]


def _choose(differences: Sequence[float]) -> tuple[str, str, float | None]:
    """(test, why this one, p of the test of Shapiro and Wilk)."""
    count = len(differences)
    if count == 1:
        return NO_TEST, "one pair: neither an interval nor a test; give more seeds", None
    if all(difference == differences[0] for difference in differences):
        each = "equal" if not differences[0] else "apart by the same"
        return NO_TEST, f"each of the {count} pairs is {each}: there is nothing to test", None
    if count < LEAST_FOR_SHAPIRO:
        return (
            PAIRED_T,
            f"{count} pairs: too few to see whether their differences are normal",
            None,
        )
    normality_p = float(stats.shapiro(differences).pvalue)
    seen = "by the test of Shapiro and Wilk"
    if normality_p >= ALPHA:
        few = ", which sees little in so few pairs" if count < 2 * LEAST_FOR_RANKS else ""
        return PAIRED_T, f"{count} pairs whose differences may be normal {seen}{few}", normality_p
    if count < LEAST_FOR_RANKS:
        return (
            PAIRED_T,
            f"{count} pairs whose differences look far from normal {seen}; but fewer than {LEAST_FOR_RANKS} pairs have "
            "no 95 % interval by ranks: read it with care, or give more seeds",
            normality_p,
        )
    return SIGNED_RANK, f"{count} pairs whose differences are far from normal {seen}", normality_p


def _estimate(values: Sequence[float], test: str) -> tuple[Estimate, float | None]:
    """The middle of the values with its interval, and the p of their being around zero."""
    if test == SIGNED_RANK:
        return _by_ranks(values)
    middle = statistics.fmean(values)
    if test == NO_TEST:
        same = len(values) > 1 and all(value == values[0] for value in values)
        return (Estimate(middle, middle, middle) if same else Estimate(middle)), None
    if len(set(values)) == 1:
        return Estimate(middle, middle, middle), None
    result = stats.ttest_1samp(values, 0.0)
    interval = result.confidence_interval(CONFIDENCE)
    return Estimate(middle, float(interval.low), float(interval.high)), float(result.pvalue)


def _by_ranks(values: Sequence[float]) -> tuple[Estimate, float]:
    """Hodges and Lehmann's estimate, the median of the means of all pairs of values, and the shifts not rejected."""
    sample = np.asarray(values, dtype=float)
    first, second = np.triu_indices(len(sample))
    walsh = np.unique((sample[first] + sample[second]) / 2)
    p = float(stats.wilcoxon(sample).pvalue)
    low = _least_shift(sample, walsh)
    high = -_least_shift(-sample, -walsh[::-1])
    return Estimate(float(np.median((sample[first] + sample[second]) / 2)), low, high), p


def _least_shift(sample: np.ndarray, walsh: np.ndarray) -> float:
    """The least of the pairs' means above which a shift is not rejected. Between two of them ranks stay as they are."""

    def p_above(index: int) -> float:
        shift = (walsh[index] + walsh[index + 1]) / 2
        return float(stats.wilcoxon(sample - shift).pvalue)

    # The p grows up to the middle.
    middle = (len(walsh) - 1) // 2
    return float(walsh[bisect.bisect_right(range(middle), ALPHA, key=p_above)])
