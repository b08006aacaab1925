# SPDX-License-Identifier: GPL-2.0-or-later
"""A simulator's process: started in a session of its own, then followed until it ends."""

from __future__ import annotations

import collections
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from perhop.experiment.program import Program
from perhop.own import files as own_files

STDERR_TAIL_LINES = 12


@dataclass(frozen=True)
class Ended:
    """How a simulator ended: its exit code, the last lines of its standard error, and how long it took."""

    code: int
    tail: str
    wall_s: float


def start(program: Program, run_file: Path) -> subprocess.Popen[str]:
    """Start a simulator on a run.json. Ctrl-C at the terminal reaches perhop alone, which passes it on once."""
    return subprocess.Popen(
        [*program.command, str(run_file)],
        env={**own_files.environment(), **program.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )


def follow(process: subprocess.Popen[str], on_progress: Callable[[float], None]) -> Ended:
    """Wait for a simulator's end; `on_progress` is told the seconds that it has simulated."""
    begun = time.monotonic()
    tail: collections.deque[str] = collections.deque(maxlen=STDERR_TAIL_LINES)
    assert process.stdout is not None and process.stderr is not None
    with process.stdout, process.stderr:
        errors = threading.Thread(target=tail.extend, args=(process.stderr,), daemon=True)
        errors.start()
        for line in process.stdout:
            words = line.split()
            if len(words) >= 2 and words[0] == "PROGRESS":
                on_progress(float(words[1]))
        errors.join()
    code = process.wait()
    return Ended(code, "".join(tail).strip(), time.monotonic() - begun)
