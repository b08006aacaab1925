# SPDX-License-Identifier: GPL-2.0-or-later
"""From an experiment file or folder to results on disk: what `perhop run` does, without a terminal.

An experiment folder holds experiment.yaml and may hold check.py with
  check(results: perhop.study.results.Results, folder: pathlib.Path) -> perhop.study.studies.Check
which compares the results with what the experiment claims; it may draw into `folder`. A folder of arithmetic alone has
no experiment.yaml, and its check gets None for the results (`perhop reproduce` calls it).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from perhop import files, paths
from perhop.errors import ExperimentError, PerhopError
from perhop.experiment import resolve
from perhop.experiment.load import Point, load
from perhop.report import beside
from perhop.report import study_page as report
from perhop.study import backends, runner
from perhop.study.backends import Backend
from perhop.study.results import Results, collect, write
from perhop.study.summaries import Summary, summarise


@dataclass(frozen=True)
class RowVerdict:
    """What was measured for one row of sim/experiments/rows.yaml.

    A `finding` contradicts the paper: `evidence` says what was tried and what other simulators give. `interval` is the
    confidence interval of `measured` in words, empty for what has none.
    """

    verdict: Literal["pass", "fail", "finding"]
    measured: str
    interval: str = ""
    evidence: str = ""


@dataclass(frozen=True)
class Check:
    """What an experiment's check found.

    `lines` are for a person, `numbers` for a program, `figures` are files for the report (SVG or PNG), `rows` the
    verdicts on rows of sim/experiments/rows.yaml by their id.
    """

    passed: bool
    lines: list[str]
    numbers: dict[str, Any] = field(default_factory=dict)
    figures: list[Path] = field(default_factory=list)
    rows: dict[str, RowVerdict] = field(default_factory=dict)


Judge = Callable[[Results | None, Path], Check]


@dataclass(frozen=True)
class Plan:
    """A loaded experiment: nothing has been run or written."""

    source: Path
    points: list[Point]
    runs: list[resolve.Run]
    folder: Path
    check_file: Path | None
    backend: Backend = field(default_factory=backends.Sim)
    others: dict[str, Path] = field(default_factory=dict)  # backend: folder with its results, if there are any

    @property
    def name(self) -> str:
        return self.points[0].experiment.name


@dataclass(frozen=True)
class Finished:
    """Everything that a study gave."""

    plan: Plan
    study: runner.Study
    results: Results
    summaries: list[Summary]
    written: dict[str, Path]
    check: Check | None
    places: list[beside.Place] = field(default_factory=list)


def plan(
    target: Path,
    overrides: list[str] | None = None,
    quick: bool = False,
    out: Path | None = None,
    backend: str | None = None,
    inventory: Path | None = None,
    others: dict[str, Path] | None = None,
) -> Plan:
    """Load and resolve an experiment file, or the folder of one. Raises PerhopError; writes nothing.

    `backend` is the file's unless it is given. `others` are folders with results of other backends, for the report;
    where `out` is not given either, these are where results go by default.
    """
    source = target / "experiment.yaml" if target.is_dir() else target
    if target.is_dir() and not source.is_file():
        remedy = "give an experiment file or its folder"
        if (target / "check.py").is_file():
            remedy = f"it is arithmetic alone: `perhop reproduce {target.name}`"
        raise ExperimentError("holds no experiment.yaml", remedy, file=str(target))
    points = load(source, overrides or [], quick)
    chosen = backends.choose(backend or points[0].experiment.backend, inventory)
    runs = chosen.adapt(points, resolve.resolve(points))
    name = points[0].experiment.name
    folder = out or default_folder(name, chosen.name)
    # A file by another name is somebody's copy; the check beside it is not about that.
    check_file = source.with_name("check.py") if source.name == "experiment.yaml" else None
    if check_file is not None and not check_file.is_file():
        check_file = None
    if others is not None:
        beside.demand(points, chosen.name, others)
    else:
        others = {} if out else {word: default_folder(name, word) for word in backends.NAMES}
    return Plan(source, points, runs, folder.resolve(), check_file, chosen, others)


def default_folder(name: str, backend: str) -> Path:
    """Where the results of an experiment go."""
    return paths.repository() / "out" / "runs" / (name if backend == "sim" else f"{name}-{backend}")


def run(
    planned: Plan,
    jobs: int | None = None,
    fresh: bool = False,
    command: list[str] | None = None,
    on_change: Callable[[runner.Study], None] = lambda study: None,
    check: bool = True,
) -> Finished:
    """Make the runs and write tables and report.

    With `check`, and when all runs finished, the experiment's own check is applied, if it has one.

    Raises PerhopError when nothing could be run.
    """
    # Before the runs: a check that lacks something would be told of only after hours.
    judge = load_check(planned.check_file) if check and planned.check_file is not None else None
    with planned.backend.ready(planned.runs) as programs:
        jobs = planned.backend.jobs(jobs)
        owner = runner.Owner.of(planned.name, planned.source)
        study = runner.execute(planned.runs, planned.folder, jobs, fresh, on_change, programs, owner)
    results = collect(study)
    if not results.flows:
        return Finished(planned, study, results, [], {}, None)
    written = write(study, results, planned.points, command or [], planned.source)
    summaries = summarise(results)
    verdict = None
    if judge is not None and study.complete:
        verdict = _apply(judge, results, planned)
    written["report"] = planned.folder / "report.html"
    experiment = planned.points[0].experiment
    here = beside.Place(
        planned.backend.name, planned.folder, summaries, float(experiment.duration_s), len(experiment.seeds)
    )
    others = beside.find(experiment.model_dump(), here.backend, planned.others)
    places = sorted([here, *others], key=lambda place: backends.NAMES.index(place.backend))
    files.write_text(written["report"], report.render(planned, study, summaries, command or [], verdict, places))
    return Finished(planned, study, results, summaries, written, verdict, places)


def _apply(check: Judge, results: Results, planned: Plan) -> Check:
    """The check's verdict. One that breaks, such as when --set took away what it compares, does not hold."""
    try:
        return check(results, planned.folder)
    except Exception as error:
        assert planned.check_file is not None
        place = paths.shown(planned.check_file)
        return Check(False, [f"{place} cannot judge these results: {type(error).__name__}: {error}"])


def load_check(file: Path) -> Judge:
    """The function `check` of an experiment's check.py, which may import its neighbours.

    Raises PerhopError when something that it needs has not been built: what it imports, and the programs that it names
    in `PROGRAMS`.
    """
    spec = importlib.util.spec_from_file_location(f"perhop_check_{file.parent.name}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        raise _not_there(file, error) from error
    finally:
        sys.path.remove(str(file.parent))
        # Another folder's check may have a neighbour of the same name.
        for name, neighbour in list(sys.modules.items()):
            if (place := getattr(neighbour, "__file__", None)) and Path(place).parent == file.parent:
                del sys.modules[name]
    if not hasattr(module, "check"):
        raise PerhopError(f"{paths.shown(file)} has no function check", "define check(results, folder) in it")
    for name in getattr(module, "PROGRAMS", ()):
        paths.program(name)
    return module.check


def _not_there(file: Path, error: ImportError) -> PerhopError:
    needs = f"{paths.shown(file)} needs "
    for name, remedy in paths.BINDINGS.items():
        # `from perhop import core` says that perhop has no core; anything else names the module.
        if error.name == f"perhop.{name}" or (error.name == "perhop" and f"'{name}'" in str(error)):
            return PerhopError(f"{needs}perhop.{name}, which is not built or cannot be loaded: {error}", remedy)
    return PerhopError(f"{needs}what is not there: {error}", "install it, or mend the import; see `perhop doctor`")
