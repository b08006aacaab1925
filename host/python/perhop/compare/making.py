# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs of both sides of a comparison: those that are missing are made, what both share in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from perhop.compare import versions
from perhop.compare.sides import Side
from perhop.experiment.program import Programs
from perhop.experiment.resolve import Run
from perhop.study import runner
from perhop.study.outcomes import Study
from perhop.study.results import Results, collect


@dataclass
class Made:
    """What the sides got, by their letters. `results` lacks sides where `interrupted`."""

    results: dict[str, Results]
    program_hashes: dict[str, dict[str, str]] = field(default_factory=dict)
    made: int = 0
    reused: int = 0
    interrupted: bool = False


def make(
    sides: Sequence[Side],
    seeds: list[int],
    runs_folder: Path,
    jobs: int | None,
    fresh: bool,
    on_change: Callable[[Study], None],
    note: Callable[[str], None],
    scheduler: str | None,
) -> Made:
    """The results of each side for these seeds; what both make by the same programs is made in one go.

    Raises PerhopError, before anything is made where a backend refuses the scheduler.
    """
    done = Made({side.letter: side.results for side in sides if side.results is not None})
    groups: dict[tuple[str, str], list[Side]] = {}
    schedulers: dict[str, str | None] = {}
    for side in sides:
        if side.plan is not None:
            version = side.asked.version
            groups.setdefault((side.backend, version.commit if version else ""), []).append(side)
            schedulers[side.letter] = side.plan.backend.scheduler(scheduler)
    for together in groups.values():
        runs = list({run.id: run for side in together for run in _runs_of(side, seeds)}.values())
        with _ready(together[0], runs, jobs, note) as programs:
            study = runner.execute(
                runs,
                _folder(together[0], runs_folder),
                _jobs(together[0], jobs),
                fresh,
                on_change,
                programs,
                scheduler=schedulers[together[0].letter],
                note=note,
                lenders=_lenders(together),
            )
        done.made += len(runs) - study.reused
        done.reused += study.reused
        if study.interrupted:
            done.interrupted = True
            return done
        outcomes = {outcome.run.id: outcome for outcome in study.outcomes}
        for side in together:
            own = [replace(outcomes[run.id], run=run) for run in _runs_of(side, seeds)]
            done.results[side.letter] = collect(replace(study, outcomes=own))
            done.program_hashes[side.letter] = study.program_hashes
    return done


def _runs_of(side: Side, seeds: list[int]) -> list[Run]:
    assert side.plan is not None
    return [run for run in side.plan.runs if run.seed in seeds]


@contextmanager
def _ready(side: Side, runs: list[Run], jobs: int | None, note: Callable[[str], None]) -> Iterator[Programs]:
    assert side.plan is not None
    if side.asked.version is not None:
        yield versions.programs(side.asked.version, [run.program for run in runs], jobs, note)
        return
    side.plan.backend.note = note
    with side.plan.backend.ready(runs) as programs:
        yield programs


def _jobs(side: Side, jobs: int | None) -> int | None:
    assert side.plan is not None
    return side.plan.backend.jobs(jobs)


def _folder(side: Side, runs_folder: Path) -> Path:
    """Runs of another version are kept with it, for whatever they are compared with."""
    if side.asked.version is not None:
        return versions.folder(side.asked.version) / side.name
    return runs_folder / side.backend


def _lenders(sides: list[Side]) -> list[Path]:
    """Where `perhop run` would have left these runs."""
    return [side.plan.folder for side in sides if side.plan is not None and side.asked.version is None]
