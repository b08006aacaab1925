# SPDX-License-Identifier: GPL-2.0-or-later
"""From a plan to results on disk: the runs made, collected, written as tables and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from perhop import paths
from perhop.study import runner
from perhop.study.check import Check, Judge, load_check
from perhop.study.outcomes import Owner, Study
from perhop.study.plan import Plan
from perhop.study.results import Results, collect, write
from perhop.study.summaries import Summary, summarise


@dataclass(frozen=True)
class Finished:
    """Everything that a study gave."""

    plan: Plan
    study: Study
    results: Results
    summaries: list[Summary]
    written: dict[str, Path]
    check: Check | None


def run(
    planned: Plan,
    jobs: int | None = None,
    fresh: bool = False,
    command: list[str] | None = None,
    on_change: Callable[[Study], None] = lambda study: None,
    check: bool = True,
    scheduler: str | None = None,
) -> Finished:
    """Make the runs and write the tables.

    With `scheduler`, workers of that Dask scheduler make the runs. With `check`, and when all runs finished, the
    experiment's own check is applied, if it has one.

    Raises PerhopError when nothing could be run.
    """
    scheduler = planned.backend.scheduler(scheduler)
    # Before the runs: a check that lacks something would be told of only after hours.
    judge = load_check(planned.check_file) if check and planned.check_file is not None else None
    with planned.backend.ready(planned.runs) as programs:
        jobs = planned.backend.jobs(jobs)
        owner = Owner.of(planned.name, planned.source)
        study = runner.execute(
            planned.runs, planned.folder, jobs, fresh, on_change, programs, owner, scheduler, planned.backend.note
        )
    results = collect(study)
    if not results.flows:
        return Finished(planned, study, results, [], {}, None)
    written = write(study, results, planned.points, command or [], planned.source)
    summaries = summarise(results)
    verdict = None
    if judge is not None and study.complete:
        verdict = _apply(judge, results, planned)
    return Finished(planned, study, results, summaries, written, verdict)


def _apply(check: Judge, results: Results, planned: Plan) -> Check:
    """The check's verdict. One that breaks, such as when --set took away what it compares, does not hold."""
    try:
        return check(results, planned.folder)
    except Exception as error:
        assert planned.check_file is not None
        place = paths.shown(planned.check_file)
        return Check(False, [f"{place} cannot judge these results: {type(error).__name__}: {error}"])
