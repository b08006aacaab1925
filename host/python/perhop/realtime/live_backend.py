# SPDX-License-Identifier: GPL-2.0-or-later
"""The backend `live` of `perhop run`: namespaces over the emulated medium, the Linux kernel's TCP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from perhop import paths
from perhop.errors import PerhopError
from perhop.experiment import resolve
from perhop.experiment.load import Point
from perhop.experiment.program import Program, Programs, hash_of, joint_hash
from perhop.experiment.resolve import Run
from perhop.live import namespaces, plan
from perhop.realtime.backend import check_real_time, run_command, section


class Live:
    """One network at a time unless asked: real time shares no processor."""

    name = "live"

    def __init__(self) -> None:
        self.note: Callable[[str], None] = lambda text: None

    def adapt(self, points: list[Point], runs: list[Run]) -> list[Run]:
        for point in points:
            check_real_time(point, "live")
        for run in runs:
            plan.check_size(points[0], run)
        return [resolve.elsewhere(run, "live", section("live", run)) for run in runs]

    def jobs(self, asked: int | None) -> int | None:
        return asked or 1

    def scheduler(self, asked: str | None) -> str | None:
        if asked is not None:
            raise PerhopError(
                f"--scheduler {asked} with --backend {self.name}: a live network is of this machine's namespaces",
                "leave it out",
            )
        return None

    @contextmanager
    def ready(self, runs: list[Run]) -> Iterator[Programs]:
        namespaces.check_host()
        parts = [paths.program("perhop-live-air"), paths.program("perhop-node")]
        yield {
            "live": Program(run_command("perhop.realtime.live_nodes"), joint_hash([hash_of(part) for part in parts]))
        }
