# SPDX-License-Identifier: GPL-2.0-or-later
"""A planned study: an experiment file or folder, loaded and resolved, with where its results go. Writes nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from perhop import paths
from perhop.errors import ExperimentError
from perhop.experiment import resolve
from perhop.experiment.load import Point, load
from perhop.study import backends
from perhop.study.backend import NAMES, Backend, Sim


@dataclass(frozen=True)
class Plan:
    """A loaded experiment: nothing has been run or written."""

    source: Path
    points: list[Point]
    runs: list[resolve.Run]
    folder: Path
    check_file: Path | None
    backend: Backend = field(default_factory=Sim)
    others: dict[str, Path] = field(default_factory=dict)  # backend: folder with its results, if there are any

    @property
    def name(self) -> str:
        return self.points[0].experiment.name


def make_plan(
    target: Path,
    overrides: list[str] | None = None,
    quick: bool = False,
    out: Path | None = None,
    backend: str | None = None,
    inventory: Path | None = None,
    others: dict[str, Path] | None = None,
) -> Plan:
    """Load and resolve an experiment file, its folder, or by its name one that perhop brings. Writes nothing.

    Raises PerhopError.

    `backend` is the file's unless it is given. `others` are folders with results of other backends, for the report;
    where `out` is not given either, these are where results go by default.
    """
    target = paths.experiment(target)
    source = paths.experiment_file(target)
    if target.is_dir() and not source.is_file():
        remedy = "give an experiment file or its folder"
        if (target / "check.py").is_file():
            remedy = f"it is arithmetic alone: `perhop reproduce {target.name}`"
        raise ExperimentError(f"holds no {paths.EXPERIMENT_FILE}", remedy, file=str(target))
    points = load(source, overrides or [], quick)
    chosen = backends.choose(backend or points[0].experiment.backend, inventory)
    runs = chosen.adapt(points, resolve.resolve(points))
    name = points[0].experiment.name
    folder = out or default_folder(name, chosen.name)
    # A file by another name is somebody's copy; the check beside it is not about that.
    check_file = source.with_name("check.py") if source.name == paths.EXPERIMENT_FILE else None
    if check_file is not None and not check_file.is_file():
        check_file = None
    if others is None:
        others = {} if out else {word: default_folder(name, word) for word in NAMES}
    return Plan(source, points, runs, folder.resolve(), check_file, chosen, others)


def default_folder(name: str, backend: str) -> Path:
    """Where the results of an experiment go."""
    return paths.output() / "runs" / (name if backend == "sim" else f"{name}-{backend}")
