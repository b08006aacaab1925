# SPDX-License-Identifier: GPL-2.0-or-later
"""What was run and judged: the grades, and one condition with its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robust.conditions import Condition
from robust.judgement import Verdict


@dataclass(frozen=True)
class Grade:
    """How long and how often. No seed is one with which the policy was made."""

    name: str
    duration_s: float
    verdict_seeds: tuple[int, ...]
    tuning_seeds: tuple[int, ...]  # of rivals that have several candidates
    more_seeds: tuple[int, ...] = ()  # of the verdict, too, where chance decides which of several flows goes first

    def seeds_of(self, condition: Condition) -> tuple[int, ...]:
        """Those of the verdict on this condition."""
        return self.verdict_seeds + (self.more_seeds if condition.by_chance else ())


QUICK = Grade("quick", 95, tuple(range(101, 106)), (21, 22), tuple(range(106, 111)))
FULL = Grade("full", 245, tuple(range(101, 111)), (21, 22, 23), tuple(range(111, 121)))


@dataclass(frozen=True)
class Judged:
    """A condition with its verdict. `chosen` says which candidate of a tuned rival was judged."""

    condition: Condition
    verdict: Verdict
    chosen: dict[str, str]
    above_bound: list[dict[str, Any]]
    bounds_known: int  # runs that have a bound

    def name_of(self, rival: str) -> str:
        """The rival, or the candidate of it that was judged."""
        return self.chosen.get(rival, rival)
