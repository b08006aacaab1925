# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs of a study and what became of each, and whose results they are."""

from __future__ import annotations

import collections
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from perhop.experiment.program import hash_of
from perhop.experiment.resolve import Run

Status = Literal["pending", "running", "finished", "interrupted", "failed"]


@dataclass(frozen=True)
class Owner:
    """Whose results a folder holds: an experiment by its name, and the file that says it."""

    name: str
    file: str
    sha256: str

    @staticmethod
    def of(name: str, file: Path) -> Owner:
        return Owner(name, str(file.resolve()), hash_of(file))

    def is_same(self, other: Owner) -> bool:
        """The same file, whatever has been changed in it since, or the same text elsewhere."""
        return self.name == other.name and (self.file == other.file or self.sha256 == other.sha256)


@dataclass
class Outcome:
    """What became of a run. `reused` says that an earlier call had finished it."""

    run: Run
    status: Status = "pending"
    reused: bool = False
    simulated_s: float = 0.0
    wall_s: float = 0.0
    message: str = ""
    folder: Path | None = None
    result: dict[str, Any] | None = None

    @property
    def work_done(self) -> float:
        """How much of the run's work is done, in the measure of `Run.work`."""
        if self.status in ("finished", "failed", "interrupted"):
            return self.run.work
        return self.run.work * self.simulated_s / float(self.run.config["duration_s"])

    @property
    def title(self) -> str:
        """The run's label, with what became of it where it has not finished."""
        return self.run.label + ("" if self.status == "finished" else f" ({self.status})")


@dataclass
class Study:
    """The runs of one experiment and its output folder; `execute` fills the rest.

    `owner` is whose results these are, None where nobody asks. `stopped` says that runs were not begun because they
    could not be made now. `workers_lost` counts those of a Dask scheduler that went away.
    `earlier` holds the entries of state.json of runs that are not among these, such as those of another --set;
    `outdated` counts the finished runs of another build of the program, which are made again.
    """

    folder: Path
    outcomes: list[Outcome]
    interrupted: bool = False
    stopped: bool = False
    wall_s: float = 0.0
    program_hashes: dict[str, str] = field(default_factory=dict)
    earlier: dict[str, Any] = field(default_factory=dict)
    outdated: int = 0
    workers_lost: int = 0
    owner: Owner | None = None

    @property
    def waiting(self) -> collections.deque[Outcome]:
        """What is to be made, long runs first: the last ones then end together. Ties keep the order of the file."""
        pending = [outcome for outcome in self.outcomes if outcome.status == "pending"]
        return collections.deque(sorted(pending, key=lambda outcome: -outcome.run.work))

    @property
    def failed(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.status == "failed"]

    @property
    def complete(self) -> bool:
        return all(outcome.status == "finished" for outcome in self.outcomes)

    @property
    def reused(self) -> int:
        return sum(outcome.reused for outcome in self.outcomes)

    def total(self, name: str) -> int:
        """The sum over the results of a count of result.json, such as `completions_checked`."""
        return sum(int(outcome.result.get(name, 0)) for outcome in self.outcomes if outcome.result is not None)
