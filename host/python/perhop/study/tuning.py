# SPDX-License-Identifier: GPL-2.0-or-later
"""The best of several policies in each condition, as a rival: chosen on some seeds, judged on the others.

A rival with a number to choose, such as a fixed window limit, is at its best where the number was chosen for the
condition. Chosen and judged on the same seeds it would have the luck of those seeds, too.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass

# Labels of fixed window limits alone.
FIXED = r"cwl \d+"

# What `by_seed` of perhop.study.summaries returns: the key is (hops, policy, *swept values).
Cells = Mapping[tuple[Hashable, ...], Mapping[int, float]]
Condition = tuple[Hashable, ...]


@dataclass(frozen=True)
class Tuned:
    """The policy that was chosen in a condition, and what it got with the seeds that had no part in the choice."""

    policy: str
    judged: dict[int, float]
    chosen_by: dict[str, float]  # the mean over the tuning seeds of each policy that it was chosen from


def best_in_each_condition(cells: Cells, tuning_seeds: Collection[int], family: str = FIXED) -> dict[Condition, Tuned]:
    """For each (hops, *swept values), the policy with the highest mean over `tuning_seeds`, and its other seeds.

    @param family a regular expression that a label must match as a whole
    Raises ValueError where a condition has no such policy, where one of them lacks a tuning seed (it would be chosen,
    or not, by other seeds than the rest), and where no seed is left to judge the chosen one.
    """
    seeds = set(tuning_seeds)
    if not seeds:
        raise ValueError("no tuning seeds")
    family_of: dict[Condition, dict[str, Mapping[int, float]]] = {}
    for (hops, policy, *swept), by_seed in cells.items():
        candidates = family_of.setdefault((hops, *swept), {})
        if re.fullmatch(family, str(policy)):
            candidates[str(policy)] = by_seed
    return {condition: _best(condition, candidates, seeds) for condition, candidates in family_of.items()}


def _best(condition: Condition, candidates: Mapping[str, Mapping[int, float]], seeds: set[int]) -> Tuned:
    if not candidates:
        raise ValueError(f"{condition}: no policy to choose from")
    for policy, by_seed in candidates.items():
        if missing := sorted(seeds - set(by_seed)):
            raise ValueError(f"{condition}: {policy} has no result with tuning seed {missing[0]}")
    chosen_by = {
        policy: statistics.fmean(by_seed[seed] for seed in sorted(seeds)) for policy, by_seed in candidates.items()
    }
    policy = max(chosen_by, key=lambda name: chosen_by[name])
    judged = {seed: value for seed, value in candidates[policy].items() if seed not in seeds}
    if not judged:
        raise ValueError(f"{condition}: no seed is left to judge {policy}")
    return Tuned(policy, judged, chosen_by)
