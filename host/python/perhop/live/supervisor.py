# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps the processes of a live network running: `python -m perhop.live.supervisor FOLDER`.

Every process is started again when it ends, sooner after a long life than after a short one. Traffic does not need the
supervisor: when it dies, the others go on. The player of scripted events runs once, from when the network is up.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perhop.live import state_files

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0
# Who has lived so long is no longer taken for one that cannot start.
LONG_LIFE_S = 5.0
PLAYER = "events"


@dataclass
class Child:
    """A process and when it may be started again."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0
    due_s: float = 0
    pause_s: float = FIRST_PAUSE_S
    starts: int = 0
    ends: list[int] = field(default_factory=list)
    finished: bool = False


class Supervisor:
    def __init__(self, folder: Path) -> None:
        state = json.loads((folder / "state.json").read_text())
        self.folder = folder
        self.children = [Child(name, command) for name, command in state["commands"].items()]
        if state["events"]:
            self.children.append(Child(PLAYER, [sys.executable, "-m", "perhop.live.events", str(folder)]))
        self.ended = False

    def run(self) -> None:
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(waker)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        for number in (signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        while not self.ended:
            self._reap()
            self._kill_held()
            self._start_due()
            waits = [child.due_s for child in self.children if child.process is None and self._wanted(child)]
            timeout_s = max(0.0, min(waits) - time.monotonic()) if waits else None
            select.select([wake], [], [], timeout_s)
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 4096)
        self._stop()

    def _end(self, *_: Any) -> None:
        self.ended = True

    def _wanted(self, child: Child) -> bool:
        if child.name == PLAYER:
            return not child.finished and state_files.progress(self.folder) is not None
        return not state_files.held_file(self.folder, child.name).exists()

    def _kill_held(self) -> None:
        for child in self.children:
            if child.process is not None and not self._wanted(child):
                child.process.kill()

    def _start_due(self) -> None:
        changed = False
        for child in self.children:
            if child.process is not None or child.due_s > time.monotonic() or not self._wanted(child):
                continue
            with (self.folder / f"{child.name}.log").open("ab") as log:
                child.process = subprocess.Popen(child.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            child.started_s = time.monotonic()
            child.starts += 1
            changed = True
        if changed:
            self._record()

    def _reap(self) -> None:
        for child in self.children:
            if child.process is None or child.process.poll() is None:
                continue
            child.ends.append(child.process.returncode)
            child.finished = child.process.returncode == 0
            del child.ends[:-10]
            child.process = None
            long_life = time.monotonic() - child.started_s > LONG_LIFE_S
            child.pause_s = FIRST_PAUSE_S if long_life else min(2 * child.pause_s, LONGEST_PAUSE_S)
            child.due_s = time.monotonic() + child.pause_s

    def _record(self) -> None:
        state = {
            child.name: {
                "pid": child.process.pid if child.process else None,
                "starts": child.starts,
                "ends": child.ends,
            }
            for child in self.children
        }
        temporary = self.folder / ".processes.json.tmp"
        temporary.write_text(json.dumps(state))
        temporary.replace(self.folder / "processes.json")

    def _stop(self) -> None:
        running = [child.process for child in self.children if child.process is not None]
        for process in running:
            process.terminate()
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2)
            if process.poll() is None:
                process.kill()
                process.wait()


if __name__ == "__main__":
    Supervisor(Path(sys.argv[1])).run()
