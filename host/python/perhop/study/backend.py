# SPDX-License-Identifier: GPL-2.0-or-later
"""What a backend is: the place where the runs of an experiment are made. The simulators are one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from perhop.errors import FieldError
from perhop.experiment.load import Point, located
from perhop.experiment.program import Programs
from perhop.experiment.resolve import Run
from perhop.experiment.rules import check_no_programs, check_no_told_rates
from perhop.study import runner

# Simulated, with Linux kernels in virtual time, in namespaces in real time, on hosts with radios: as they are shown.
NAMES = ("sim", "kernel", "live", "radio")
# What commands without an option for it take, the benches among them.
SCHEDULER_VARIABLE = "PERHOP_SCHEDULER"


class Backend(Protocol):
    """What differs between the places."""

    name: str
    note: Callable[[str], None]  # is told what a user may want to know; to be set

    def adapt(self, points: list[Point], runs: list[Run]) -> list[Run]:
        """The runs as they are made here. Raises ExperimentError for what this place cannot do."""

    def jobs(self, asked: int | None) -> int | None:
        """How many runs at a time."""

    def scheduler(self, asked: str | None) -> str | None:
        """The Dask scheduler whose workers make the runs, None where they are made here. Raises PerhopError."""

    def ready(self, runs: list[Run]) -> Any:
        """A context manager that gives the programs, while what they need is held. Raises PerhopError."""


class Sim:
    """The simulators, as many at a time as there are processors."""

    name = "sim"

    def __init__(self) -> None:
        self.note: Callable[[str], None] = lambda text: None

    def adapt(self, points: list[Point], runs: list[Run]) -> list[Run]:
        for point in points:
            try:
                check_no_programs(point.experiment)
                check_no_told_rates(point.experiment)
            except FieldError as error:
                raise located(point.document, error) from None
        return runs

    def jobs(self, asked: int | None) -> int | None:
        return asked

    def scheduler(self, asked: str | None) -> str | None:
        return asked if asked is not None else os.environ.get(SCHEDULER_VARIABLE) or None

    @contextmanager
    def ready(self, runs: list[Run]) -> Iterator[Programs]:
        yield runner.simulators(runs)
