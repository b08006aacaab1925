# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong with a radio: before it runs (RadioError), and while it runs (Faults)."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from gnuradio import gr


class RadioError(ValueError):
    """A radio that is missing, or cannot do what is asked. `field`: of a link's file; `remedy`: what to do."""

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field}: {problem}\n  remedy: {remedy}")
        self.field, self.problem, self.remedy = field, problem, remedy


@dataclass(frozen=True)
class Fault:
    """One thing that happened, in words."""

    kind: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.problem}\n  remedy: {self.remedy}"


class Faults:
    """What happened so far. `stopped` is set by the first fault, when it shall end the flowgraph."""

    def __init__(self, stop: bool = True) -> None:
        self.counts: dict[str, int] = {}
        self.first: Fault | None = None
        self.stopped = threading.Event()
        self._stop = stop
        self._lock = threading.Lock()

    def tell(self, kind: str, problem: str, remedy: str) -> None:
        """Counts it; the first of each kind is logged."""
        fault = Fault(kind, problem, remedy)
        with self._lock:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if self.counts[kind] == 1:
                gr.log.error(f"USRP: {fault}")
            if self.first is None:
                self.first = fault
                if self._stop:
                    self.stopped.set()
