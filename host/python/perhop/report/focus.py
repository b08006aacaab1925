# SPDX-License-Identifier: GPL-2.0-or-later
"""The point of a study that the page looks at closely: that of the run whose packets were recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perhop.experiment import schema as ex
from perhop.experiment.words import swept_word
from perhop.report.study_tables import plain_name
from perhop.study import results as res
from perhop.study.outcomes import Outcome, Study
from perhop.study.plan import Plan
from perhop.study.results import Row
from perhop.study.summaries import Summary

Key = tuple[int, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Focus:
    """`runs` are its runs that have results; `outcome` is the one whose packets were recorded, or the first."""

    experiment: ex.Experiment
    summaries: list[Summary]
    runs: list[Outcome]
    outcome: Outcome
    recorded: bool

    @property
    def words(self) -> str:
        """What tells the point from others, such as `8 hops, data rate mbps 11`; empty where there is one only."""
        first = self.summaries[0]
        words = [hops_words(first.hops)] if "topology.hops" in first.swept else []
        words += [
            f"{plain_name(name)} {swept_word(value)}" for name, value in first.swept.items() if name != "topology.hops"
        ]
        return ", ".join(words)

    def rows(self, rows: list[Row]) -> list[Row]:
        """Those of the point's runs."""
        ids = {outcome.run.id for outcome in self.runs}
        return [row for row in rows if row["run"] in ids]


def hops_words(count: int) -> str:
    return "1 hop" if count == 1 else f"{count} hops"


def find(plan: Plan, study: Study, summaries: list[Summary]) -> Focus:
    """The point of the recorded run; without one the longest of those that have results, the last of equals."""
    recorded = res.packets(study)
    with_results = [outcome for outcome in study.outcomes if outcome.result is not None]
    chosen = recorded or max(reversed(with_results), key=lambda outcome: outcome.run.hops)
    wanted = _key(chosen.run.hops, chosen.run.swept)
    experiment = next(point.experiment for point in plan.points if _words(point.swept) == wanted[1])
    return Focus(
        experiment,
        [summary for summary in summaries if _key(summary.hops, summary.swept) == wanted],
        [outcome for outcome in with_results if _key(outcome.run.hops, outcome.run.swept) == wanted],
        chosen,
        recorded is not None,
    )


def _key(hops: int, swept: dict[str, Any]) -> Key:
    return hops, _words(swept)


def _words(swept: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value)) for name, value in swept.items()))
