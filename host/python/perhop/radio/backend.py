# SPDX-License-Identifier: GPL-2.0-or-later
"""The backend `radio` of `perhop run`: hosts are checked and held for the whole study, runs are made one by one."""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perhop.doctor import Finding
from perhop.errors import PerhopError
from perhop.experiment import resolve
from perhop.experiment.load import Point
from perhop.experiment.program import Program, Programs, joint_hash
from perhop.experiment.resolve import Run
from perhop.experiment.schema import Experiment
from perhop.live.plan import make_node
from perhop.radio import checks
from perhop.radio import inventory as inv
from perhop.radio.checks import Looked, Wanted
from perhop.realtime.backend import check_real_time, check_slow_down, run_command, section

TOKEN = "PERHOP_RADIO_TOKEN"


class Radio:
    name = "radio"

    def __init__(self, inventory: Path | None) -> None:
        if inventory is None:
            raise PerhopError(
                "--backend radio needs the hosts", f"say --inventory HOSTS.YML; {inv.EXAMPLE} is an example"
            )
        self.file = inventory
        self.inventory, self.document = inv.load(inventory)
        self.note: Callable[[str], None] = lambda text: None
        self._experiment: Experiment | None = None

    def adapt(self, points: list[Point], runs: list[Run]) -> list[Run]:
        for point in points:
            check_real_time(point, "radio")
        self._experiment = points[0].experiment
        for run in runs:
            inv.check_size(self.inventory, self.document, len(run.config["nodes"]))
        nodes = [
            {
                "name": self.inventory.name(index),
                "address": host.address,
                "access": self.inventory.access(index).model_dump(),
                "radio": host.radio.model_dump(exclude_none=True),
            }
            for index, host in enumerate(self.inventory.nodes)
        ]
        more: dict[str, Any] = {"network": self.inventory.network, "nodes": nodes}
        if self.inventory.slow_down > 1:
            for point in points:
                check_slow_down(point)
            more["slow_down"] = self.inventory.slow_down
        return [resolve.elsewhere(run, "radio", section("radio", run, **more)) for run in runs]

    def jobs(self, asked: int | None) -> int | None:
        if asked not in (None, 1):
            raise PerhopError(f"--jobs {asked}: a radio makes one run at a time", "leave it out")
        return 1

    def scheduler(self, asked: str | None) -> str | None:
        if asked is not None:
            raise PerhopError(
                f"--scheduler {asked} with --backend {self.name}: the inventory says which hosts make the runs",
                "leave it out",
            )
        return None

    @contextmanager
    def ready(self, runs: list[Run]) -> Iterator[Programs]:
        token = checks.new_token()
        found = checks.look(self.inventory, self.wanted(self._experiment), token, f"perhop run, {len(runs)} runs")
        try:
            failed = [finding for looked in found for finding in looked.failed]
            if failed:
                raise PerhopError(
                    failing_lines(failed), f"mend these; `perhop doctor --inventory {self.file}` looks again"
                )
            self._tell(found)
            joint = joint_hash([looked.sha256 for looked in found])
            yield {"radio": Program(run_command("perhop.radio.nodes"), joint, {TOKEN: token})}
        finally:
            close(found)

    def wanted(self, experiment: Experiment | None) -> Wanted:
        """What the hosts are compared with."""
        network = ipaddress.IPv4Network(self.inventory.network)
        nodes = [make_node("radio", index, network) for index in range(len(self.inventory.nodes))]
        return Wanted(checks.our_version(), nodes, experiment.mac if experiment else None)

    def _tell(self, found: list[Looked]) -> None:
        count = sum(len(looked.findings) for looked in found)
        clocks = [looked.clock for looked in found if looked.clock is not None]
        bound_ms = max(clock.bound_ns for clock in clocks) / 1e6
        offset_ms = max(abs(clock.time_of_day_ns) for clock in clocks) / 1e6
        self.note(
            f"{len(found)} hosts, {count} checks, all well; clocks: time of day within {offset_ms:.3f} ms of ours, "
            f"flows begin within {bound_ms:.3f} ms of the common moment"
        )
        if self.inventory.slow_down > 1:
            self.note(
                f"virtual radios, {self.inventory.slow_down} times slower than real ones: "
                "all times and rates are told in the radios' time"
            )


def failing_lines(findings: list[Finding]) -> str:
    """For a terminal: what is wrong and what to do, a finding a line."""
    return "\n".join(f"{finding.name}: {finding.detail}\n    -> {finding.remedy}" for finding in findings)


def close(found: list[Looked]) -> None:
    sessions = [looked.session for looked in found if looked.session is not None]
    threads = [threading.Thread(target=session.close) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
