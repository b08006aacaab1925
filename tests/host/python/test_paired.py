# SPDX-License-Identifier: GPL-2.0-or-later
"""Differences of pairs, beside what textbooks and plain arithmetic give."""

import itertools
import math
import statistics

import pytest
from perhop.compare.paired import NO_TEST, PAIRED_T, SIGNED_RANK, Pair, adjust, compare

# Two-sided 95 % quantiles of Student's t, from printed tables.
T_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 9: 2.262}
# The k-th smallest and k-th largest of the means of all pairs of values end the 95 % interval of the signed ranks;
# k from printed tables of the test (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, table A.4).
RANK_95 = {6: 1, 8: 4, 10: 9, 12: 14}
# Far from normal: one seed in which everything went wrong. No two means of pairs are the same.
SKEWED = (0.11, 0.23, 0.37, 0.53, 0.79, 1.07, 1.31, 1.61, 1.97, 2.29, 2.83, 97.0)


def pairs_of(differences, base=100.0):
    return [Pair(seed, base + seed, base + seed + apart) for seed, apart in enumerate(differences)]


@pytest.mark.parametrize("differences", [(1.0, 2.5), (-3.0, 1.0, 2.0), (-12.1, -15.3, -2.2, -20.4, -14.0)])
def test_the_interval_is_the_paired_t_tests(differences):
    found = compare(pairs_of(differences))
    count = len(differences)
    half = T_95[count - 1] * statistics.stdev(differences) / math.sqrt(count)
    assert found.test == PAIRED_T
    assert found.absolute.value == pytest.approx(statistics.fmean(differences))
    assert found.absolute.half == pytest.approx(half, rel=1e-3)
    assert found.absolute.low == pytest.approx(statistics.fmean(differences) - half, rel=2e-3, abs=2e-3)


def test_shares_are_of_each_pairs_own_value():
    found = compare([Pair(1, 100, 110), Pair(2, 200, 240), Pair(3, 50, 65)])
    shares = (0.1, 0.2, 0.3)
    assert found.relative.value == pytest.approx(0.2)
    assert found.relative.half == pytest.approx(T_95[2] * statistics.stdev(shares) / math.sqrt(3), rel=1e-3)
    assert compare([Pair(1, 0, 1), Pair(2, 1, 3)]).relative is None


def test_an_interval_that_leaves_zero_out_is_a_p_below_5_percent_and_the_other_way_round():
    for shift in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0):
        found = compare(pairs_of([value + shift for value in (-1.3, 0.4, 0.1, 1.2, -0.6)]))
        assert found.absolute.excludes_zero == (found.p < 0.05)
        found = compare(pairs_of([value - 1.4 + shift for value in SKEWED]))
        assert found.test == SIGNED_RANK
        assert found.absolute.excludes_zero == (found.p < 0.05)


@pytest.mark.parametrize("count", RANK_95)
def test_far_from_normal_the_interval_is_that_of_the_signed_ranks(count):
    differences = SKEWED[-count:]
    found = compare(pairs_of(differences))
    walsh = sorted((one + other) / 2 for one, other in itertools.combinations_with_replacement(differences, 2))
    k = RANK_95[count]
    assert found.test == SIGNED_RANK and found.normality_p < 0.05
    assert found.absolute.value == pytest.approx(statistics.median(walsh))
    assert found.absolute.low == pytest.approx(walsh[k - 1])
    assert found.absolute.high == pytest.approx(walsh[-k])


def test_the_p_of_the_signed_ranks_counts_every_sign():
    differences = [value - 0.6 for value in SKEWED[-8:]]
    ranks = {value: rank for rank, value in enumerate(sorted(differences, key=abs), 1)}
    seen = sum(rank for value, rank in ranks.items() if value > 0)
    sums = [
        sum(chosen)
        for signs in itertools.product((0, 1), repeat=8)
        for chosen in [[rank for rank, sign in zip(range(1, 9), signs, strict=True) if sign]]
    ]
    least = min(sum(each <= seen for each in sums), sum(each >= seen for each in sums))
    assert compare(pairs_of(differences)).p == pytest.approx(min(1.0, 2 * least / 2**8))


def test_few_pairs_far_from_normal_keep_the_t_test_with_a_warning():
    found = compare(pairs_of(SKEWED[-5:]))
    assert found.test == PAIRED_T and "no 95 % interval by ranks" in found.why


def test_what_has_no_spread_has_no_test():
    same = compare([Pair(1, 5, 5), Pair(2, 7, 7)])
    assert (same.test, same.p, same.absolute.low, same.absolute.high) == (NO_TEST, None, 0, 0)
    assert "equal" in same.why and not same.absolute.excludes_zero
    apart = compare([Pair(1, 5, 6), Pair(2, 7, 8)])
    assert (apart.test, apart.absolute.low, apart.absolute.high) == (NO_TEST, 1, 1)
    # The shares of these differ, though the differences do not.
    assert apart.relative.value == pytest.approx((1 / 5 + 1 / 7) / 2)


def test_one_pair_has_neither_interval_nor_test():
    found = compare([Pair(1, 5, 6)])
    assert (found.test, found.absolute.low, found.absolute.half, found.p) == (NO_TEST, None, None, None)
    assert not found.absolute.excludes_zero


def test_p_is_adjusted_for_as_many_tests_as_were_made():
    found = [compare(pairs_of([value + shift for value in (-1.3, 0.4, 0.1, 1.2, -0.6)])) for shift in (0, 1, 2, 3)]
    several = adjust([*found, compare([Pair(1, 5, 6)])])
    ordered = sorted(each.p for each in found)
    # Benjamini and Hochberg: p times the number of tests over its rank, and never less than that of a smaller p.
    wanted = {p: min(ordered[at] * 4 / (at + 1) for at in range(rank, 4)) for rank, p in enumerate(ordered)}
    assert [each.p_adjusted for each in several[:4]] == pytest.approx([wanted[each.p] for each in found])
    assert several[4].p_adjusted is None
