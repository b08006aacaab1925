# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the runs of an experiment are made: simulated (sim), in namespaces in real time (live), on hosts (radio)."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from perhop import paths
from perhop.errors import FieldError, PerhopError, choose_from
from perhop.experiment import resolve
from perhop.experiment import schema as ex
from perhop.experiment.load import Point, located
from perhop.experiment.resolve import Run
from perhop.study import runner

NAMES = ("sim", "live", "radio")

Programs = dict[str, runner.Program]


class Backend(Protocol):
    """What differs between the places."""

    name: str
    note: Callable[[str], None]  # is told what a user may want to know; to be set

    def adapt(self, points: list[Point], runs: list[Run]) -> list[Run]:
        """The runs as they are made here. Raises ExperimentError for what this place cannot do."""

    def jobs(self, asked: int | None) -> int | None:
        """How many runs at a time."""

    def ready(self, runs: list[Run]) -> Any:
        """A context manager that gives the programs, while what they need is held. Raises PerhopError."""


def _say_nothing(text: str) -> None:
    pass


class Sim:
    name = "sim"
    note = staticmethod(_say_nothing)

    def adapt(self, points: list[Point], runs: list[Run]) -> list[Run]:
        return runs

    def jobs(self, asked: int | None) -> int | None:
        return asked

    @contextmanager
    def ready(self, runs: list[Run]) -> Iterator[Programs]:
        yield runner.simulators(runs)


class Live:
    """Namespaces over the emulated medium, one network at a time unless asked: real time shares no processor."""

    name = "live"
    note = staticmethod(_say_nothing)

    def adapt(self, points: list[Point], runs: list[Run]) -> list[Run]:
        for point in points:
            check_real_time(point, "live")
        return [resolve.elsewhere(run, "live", section("live", run)) for run in runs]

    def jobs(self, asked: int | None) -> int | None:
        return asked or 1

    @contextmanager
    def ready(self, runs: list[Run]) -> Iterator[Programs]:
        from perhop.live import namespaces

        namespaces.check_host()
        parts = [paths.program("perhop-live-air"), paths.program("perhop-node")]
        yield {"live": runner.Program(RUN_COMMAND, _joint_hash([runner.hash_of(part) for part in parts]))}


RUN_COMMAND = [sys.executable, "-m", "perhop.realtime.run"]


def choose(name: str, inventory: Path | None) -> Backend:
    """Raises PerhopError."""
    if name not in NAMES:
        raise PerhopError(f"there is no backend {name!r}", choose_from(name, NAMES))
    if name != "radio" and inventory is not None:
        raise PerhopError("--inventory is for --backend radio", "leave it out, or add --backend radio")
    if name == "radio":
        from perhop.radio.backend import Radio

        return Radio(inventory)
    return Sim() if name == "sim" else Live()


def section(backend: str, run: Run, **more: Any) -> dict[str, Any]:
    """`realtime` of run.json."""
    return {"backend": backend, "policy": run.policy or "no limit", **more}


def _joint_hash(hashes: list[str]) -> str:
    return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()


def check_real_time(point: Point, backend: str) -> None:
    """Raises ExperimentError for the first thing in the file that no kernel or radio can be told."""
    try:
        _check(point.experiment, backend)
    except FieldError as error:
        raise located(point.document, error) from None


def _check(experiment: ex.Experiment, backend: str) -> None:
    where = f"--backend {backend}"
    for index, flow in enumerate(experiment.flows):
        if not isinstance(flow, resolve.IP_FLOWS):
            raise FieldError(
                ("flows", index, "kind"),
                f"is {flow.kind}, which {where} has not",
                "use tcp, cbr or exact, or --backend sim",
            )
        if isinstance(flow, ex.TcpFlow) and flow.variant == "bsd":
            raise FieldError(
                ("flows", index, "variant"), f"is bsd; {where} has Linux' TCP", "use newreno, or --backend sim"
            )
        if isinstance(flow, ex.ExactFlow) and flow.application == "audio":
            raise FieldError(
                ("flows", index, "application"),
                f"is audio, which {where} has not",
                "use greedy, or host/python/examples/audio_stream.py with `perhop live up`",
            )
    own = {flow.policy for flow in experiment.flows if isinstance(flow, ex.TcpFlow)}
    if len(own) > 1:
        raise FieldError(
            ("flows",), f"have policies of their own; with {where} all TCP flows have one", "use `policies`"
        )
    sacks = {flow.sack for flow in experiment.flows if isinstance(flow, ex.TcpFlow)}
    if len(sacks) > 1:
        raise FieldError(
            ("flows",), f"have SACK and not; a node has it for all in {where}", "use one for all TCP flows"
        )
    if experiment.routing != ex.Routing():
        raise FieldError(("routing",), f"is not static, which {where} has", "use static, or --backend sim")
    if experiment.exact.silent_routers:
        raise FieldError(("exact", "silent_routers"), f"names nodes; with {where} all have a shim", "leave it out")
    if experiment.mac.fidelity == "samples":
        raise FieldError(("mac", "fidelity"), f"is samples, slower than {where}", "use core")
    for index, event in enumerate(experiment.events):
        if backend == "radio" and event.kind != "route":
            raise FieldError(
                ("events", index, "kind"),
                f"is {event.kind}; over the air only routes can be scripted",
                "use route events",
            )
