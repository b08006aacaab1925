# SPDX-License-Identifier: GPL-2.0-or-later
"""The backend `kernel`: Linux kernels' TCP in virtual time, the daemon's packet path, the simulator's medium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from perhop import paths
from perhop.errors import FieldError, PerhopError
from perhop.experiment import resolve
from perhop.experiment import schema as ex
from perhop.experiment.load import Point, located
from perhop.experiment.program import Program, Programs, hash_of, joint_hash
from perhop.experiment.resolve import Run
from perhop.kernel import image

# Lie beside the program, and are a part of what makes a run.
BESIDE = ("perhop-flow-end.cpio.gz", "libperhop_seeded_random.so")
WHERE = "--backend kernel"
FEWER = "or use --backend sim"


class Kernel:
    """As many runs at a time as there are processors, each on one of its own."""

    name = "kernel"

    def __init__(self) -> None:
        self.note: Callable[[str], None] = lambda text: None

    def adapt(self, points: list[Point], runs: list[Run]) -> list[Run]:
        for point in points:
            try:
                _check(point.experiment)
            except FieldError as error:
                raise located(point.document, error) from None
        return [resolve.made_by(run, image.PROGRAM) for run in runs]

    def jobs(self, asked: int | None) -> int | None:
        return asked

    def scheduler(self, asked: str | None) -> str | None:
        if asked is not None:
            raise PerhopError(
                f"--scheduler {asked} with {WHERE}: kernels run on this machine, whose program and image are known",
                "leave it out",
            )
        return None

    @contextmanager
    def ready(self, runs: list[Run]) -> Iterator[Programs]:
        kernel, program = image.check(), paths.program(image.PROGRAM)
        archives = sorted({entry["initramfs"] for run in runs for entry in run.config.get("programs", [])})
        parts = [program, kernel, *(program.parent / name for name in BESIDE), *map(Path, archives)]
        command = [str(program), "--kernel", str(kernel)]
        yield {image.PROGRAM: Program(command, joint_hash([hash_of(part) for part in parts]))}


def _check(experiment: ex.Experiment) -> None:
    """What a kernel, or the program around it, has not. Raises FieldError."""
    if experiment.wires:
        raise FieldError(("wires",), f"is not empty, and {WHERE} has no wired links", f"leave it out, {FEWER}")
    if experiment.routing != ex.Routing():
        raise FieldError(("routing",), f"is not static, which {WHERE} has", f"use static, {FEWER}")
    if experiment.mac.fidelity == "samples":
        raise FieldError(("mac", "fidelity"), f"is samples, which carries no TCP with {WHERE}", "use core or bytes")
    if not experiment.mac.path_header:
        raise FieldError(
            ("mac", "path_header"), f"is false; the daemon of {WHERE} has one in each packet", "leave it out"
        )
    if experiment.mac.four_address:
        raise FieldError(("mac", "four_address"), f"is true, which {WHERE} has not", f"leave it out, {FEWER}")
    if experiment.exact.silent_routers:
        raise FieldError(
            ("exact", "silent_routers"), f"names nodes; with {WHERE} all have a shim", f"leave it out, {FEWER}"
        )
    for index, flow in enumerate(experiment.flows):
        here = ("flows", index)
        if not isinstance(flow, ex.TcpFlow):
            raise FieldError((*here, "kind"), f"is {flow.kind}, which {WHERE} has not", f"use tcp, {FEWER}")
        if flow.variant == "bsd":
            raise FieldError((*here, "variant"), f"is bsd; {WHERE} has Linux' TCP", f"use newreno, {FEWER}")
        for field in ("max_rto_ms", "transfer_bytes", "rate_bps"):
            if getattr(flow, field) != ex.TcpFlow.model_fields[field].default:
                raise FieldError(
                    (*here, field),
                    f"is set, which {WHERE} has not: its TCP is Linux', its data without end",
                    f"leave it out, {FEWER}",
                )
        for field in ("sack", "ecn"):
            if getattr(flow, field) != getattr(_first_tcp(experiment), field):
                raise FieldError(
                    (*here, field), "differs from that of the first flow; a kernel has one for all", "use one for all"
                )
    if len({flow.policy for flow in experiment.flows if isinstance(flow, ex.TcpFlow)}) > 1:
        raise FieldError(("flows",), f"have policies of their own; with {WHERE} all have one", "use `policies`")


def _first_tcp(experiment: ex.Experiment) -> ex.TcpFlow:
    return next(flow for flow in experiment.flows if isinstance(flow, ex.TcpFlow))
