# SPDX-License-Identifier: GPL-2.0-or-later
"""The best of several policies: chosen on some seeds, judged on others, in each condition by itself."""

from random import Random

import pytest
from perhop.study.tuning import best_in_each_condition


def cell(*values, first=1):
    return {first + index: float(value) for index, value in enumerate(values)}


CELLS = {
    (4, "cwl 2"): cell(10, 10, 7, 7),
    (4, "cwl 3"): cell(9, 9, 99, 99),  # better where it is judged, not where it is chosen
    (4, "dca"): cell(50, 50, 50, 50),
    (8, "cwl 2"): cell(1, 1, 1, 1),
    (8, "cwl 3"): cell(2, 2, 2, 3),
    (8, "cwl 3 + tcp-ap"): cell(8, 8, 8, 8),
}


def test_each_condition_has_its_own_best_and_is_judged_on_the_other_seeds():
    best = best_in_each_condition(CELLS, tuning_seeds=(1, 2))
    assert {condition: tuned.policy for condition, tuned in best.items()} == {(4,): "cwl 2", (8,): "cwl 3"}
    assert best[4,].judged == {3: 7.0, 4: 7.0}
    assert best[8,].judged == {3: 2.0, 4: 3.0}
    assert best[4,].chosen_by == {"cwl 2": 10.0, "cwl 3": 9.0}


def test_a_family_is_what_its_expression_matches_as_a_whole():
    cells = {key: values for key, values in CELLS.items() if key[0] == 8}
    assert best_in_each_condition(cells, (1, 2), r"cwl \d+ \+ tcp-ap")[8,].policy == "cwl 3 + tcp-ap"


def test_swept_values_are_a_part_of_the_condition():
    cells = {(4, policy, error): cell(*([value] * 4)) for policy, error, value in
             (("cwl 1", "0.0", 1), ("cwl 2", "0.0", 2), ("cwl 1", "0.1", 2), ("cwl 2", "0.1", 1))}  # fmt: skip
    best = best_in_each_condition(cells, (1, 2))
    assert {condition: tuned.policy for condition, tuned in best.items()} == {(4, "0.0"): "cwl 2", (4, "0.1"): "cwl 1"}


@pytest.mark.parametrize(
    ("cells", "seeds", "said"),
    [
        (CELLS, (), "no tuning seeds"),
        ({(4, "dca"): cell(1, 2, 3)}, (1,), "no policy to choose from"),
        ({(4, "cwl 1"): cell(1, 2, 3), (4, "cwl 2"): cell(1, 2, first=2)}, (1,), "cwl 2 has no result with"),
        ({(4, "cwl 1"): cell(1, 2)}, (1, 2), "no seed is left"),
    ],
)
def test_what_would_choose_or_judge_on_the_wrong_seeds_is_refused(cells, seeds, said):
    with pytest.raises(ValueError, match=said):
        best_in_each_condition(cells, seeds)


@pytest.mark.parametrize("windows", [2, 12])
def test_luck_of_the_tuning_seeds_does_not_reach_the_judged_value(windows):
    """Of policies that are all alike, the chosen one is above the mean where it was chosen, and nowhere else."""
    random = Random(windows)
    cells = {
        (condition, f"cwl {window}"): {number: random.gauss(100, 10) for number in range(4)}
        for condition in range(200)
        for window in range(1, windows + 1)
    }
    best = best_in_each_condition(cells, (0, 1)).values()
    judged = [value for tuned in best for value in tuned.judged.values()]
    chosen = [max(tuned.chosen_by.values()) for tuned in best]
    assert sum(chosen) / len(chosen) > 102
    assert abs(sum(judged) / len(judged) - 100) < 3 * 10 / len(judged) ** 0.5
