# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop.run`: what the command `perhop run` does, for a program."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from perhop import files, paths
from perhop.api.experiment import Experiment, plain
from perhop.api.results import Library, Results
from perhop.errors import PerhopError
from perhop.experiment.cautions import cautions
from perhop.study import plan, studies
from perhop.study.outcomes import Outcome, Study
from perhop.study.progress import ProgressView

FAILURES_MAX = 5


class RunsFailed(PerhopError):
    """Some runs failed. `results` has what the others measured; `results.runs` has a row for each, with its message."""

    def __init__(self, failed: list[Outcome], results: Results | None) -> None:
        told = [f"{outcome.run.label}: {outcome.message}" for outcome in failed[:FAILURES_MAX]]
        more = len(failed) - len(told)
        super().__init__(
            f"{len(failed)} runs failed\n" + "\n".join([*told, *([f"and {more} more"] if more else [])]),
            "mend what the messages tell of; the same call makes these runs again, and no others",
        )
        self.results = results


class CheckFailed(PerhopError):
    """The experiment's own check, which `check=True` asks for, does not hold. `results` has what was measured."""

    def __init__(self, lines: list[str], results: Results) -> None:
        super().__init__("the experiment's check does not hold\n" + "\n".join(lines), "see what it compares")
        self.results = results


def run(
    experiment: Experiment | str | Path,
    *,
    seeds: int | Iterable[int] | None = None,
    workers: int | None = None,
    settings: Mapping[str, Any] | None = None,
    quick: bool = False,
    out: str | Path | None = None,
    backend: str | None = None,
    inventory: str | Path | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
    check: bool = False,
    report: bool = False,
    progress: bool | None = None,
    frames: Library | None = None,
) -> Results:
    """Make the runs of an experiment, and give what they measured. Runs that have been made are not made again.

    `experiment` is an Experiment, a file or its folder, or the name of an experiment that perhop brings, such as
    "chain". `seeds` are other seeds than its own: a list, or how many from 1 on. `workers` is how many runs are made
    at a time, by default as many as there are processors. `settings` maps dotted fields to values, as `--set` does.
    `out` is the output folder, by default ./out/runs/NAME, as that of the command. `backend` is where the runs are
    made (sim, kernel, live, radio), by default what the file says; for radio, `inventory` is the file of the hosts.
    `scheduler` is a Dask scheduler, whose workers make the runs. With `check`, the experiment's own check must hold;
    `report` writes report.html. `progress` shows how far the runs are; by default it does on a terminal and in a
    notebook. `frames` is the library of the tables (see Results).

    Raises PerhopError for what cannot be run (ExperimentError: what field is wrong), RunsFailed, CheckFailed, and
    KeyboardInterrupt; what has finished is kept then.
    """
    source = source_of(experiment)
    overrides = overrides_of(settings or {})
    if seeds is not None:
        overrides += overrides_of({"seeds": list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)})
    hosts = None if inventory is None else Path(inventory)
    planned = plan.make_plan(source, overrides, quick, None if out is None else Path(out), backend, hosts)
    for text in dict.fromkeys(text for point in planned.points for text in cautions(point.experiment)):
        warnings.warn(text, stacklevel=2)
    command = _command(source, overrides, planned, hosts, quick, fresh)
    with _shown(progress) as on_change:
        done = studies.run(planned, workers, fresh, command, on_change, check=check and not quick, scheduler=scheduler)
    if report and done.results.flows:
        from perhop.report import study_page

        study_page.write(done, command)
    results = Results(planned.folder, frames) if done.written else None
    if done.study.interrupted:
        raise KeyboardInterrupt
    if done.study.failed or results is None:
        raise RunsFailed(done.study.failed, results)
    if check and done.check is not None and not done.check.passed:
        raise CheckFailed(done.check.lines, results)
    return results


def overrides_of(settings: Mapping[str, Any]) -> list[str]:
    """Values of fields as `--set` has them; YAML reads JSON."""
    return [f"{name}={json.dumps(plain(value))}" for name, value in settings.items()]


def source_of(experiment: Experiment | str | Path) -> Path:
    """The file that says the experiment: its own, or one that is written for it."""
    if not isinstance(experiment, Experiment):
        return Path(experiment)
    if experiment.file is not None:
        return experiment.file
    file = paths.output() / "experiments" / f"{experiment.name}.yaml"
    text = experiment.to_yaml()
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        files.write_text(file, text)
    return file


def _command(
    source: Path, overrides: list[str], planned: plan.Plan, hosts: Path | None, quick: bool, fresh: bool
) -> list[str]:
    """What makes the same on a command line."""
    words = ["perhop", "run", paths.shown(planned.source if planned.source.is_file() else source)]
    words += [word for override in overrides for word in ("--set", override)]
    words += ["--backend", planned.backend.name] if planned.backend.name != "sim" else []
    words += ["--inventory", paths.shown(hosts)] if hosts is not None else []
    words += ["--quick"] if quick else []
    words += ["--fresh"] if fresh else []
    return [shlex.quote(word) for word in words]


@contextmanager
def _shown(progress: bool | None) -> Iterator[Callable[[Study], None]]:
    console = Console(stderr=True)
    if progress or (progress is None and (console.is_terminal or console.is_jupyter)):
        with ProgressView(console) as view:
            yield view.update
    else:
        yield lambda study: None
