# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps the processes of a live network running: `python -m perhop.live.supervisor FOLDER`.

Every process is started again when it ends, sooner after a long life than after a short one; a node whose interface is
gone gets it back before. Traffic does not need the supervisor: when it dies, the others go on. The player of scripted
events runs once, from when the network is up.

The folder may be on a disk that is full. Then processes are started all the same, and what could not be recorded is
recorded when there is room.
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
from typing import Any, BinaryIO

from perhop import files
from perhop.live import state_files
from perhop.own import files as own_files

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0
# Who has lived so long is no longer taken for one that cannot start.
LONG_LIFE_S = 5.0
PLAYER = "events"
# How long until what could not be recorded is tried again.
RECORD_AGAIN_S = 1.0
# A log that is longer when its process is started becomes the old one, in the place of the one before.
MOST_LOG_BYTES = 1 << 20
IP_TIMEOUT_S = 5


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
        self.nodes = {f"node-{node['index']}": node for node in state["nodes"]}
        self.children = [Child(name, command) for name, command in state["commands"].items()]
        if state["events"]:
            self.children.append(Child(PLAYER, [sys.executable, "-m", "perhop.live.events", str(folder)]))
        self.ended = False
        self.recorded = True
        self.said: dict[str, str] = {}

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
            waits += [] if self.recorded else [time.monotonic() + RECORD_AGAIN_S]
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
        for child in self.children:
            if child.process is not None or child.due_s > time.monotonic() or not self._wanted(child):
                continue
            if child.starts > 0:
                self._restore_interface(child.name)
            child.started_s = time.monotonic()
            try:
                with self._log_of(child.name) as log:
                    child.process = subprocess.Popen(
                        child.command, env=own_files.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
                    )
            except OSError as error:
                self._say(child.name, f"cannot be started: {error}")
                self._put_off(child)
                continue
            self._say(child.name, "")
            child.starts += 1
            self.recorded = False
        if not self.recorded:
            self._record()

    def _log_of(self, name: str) -> BinaryIO:
        """The log of a process; nothing where no file can be had: who runs without a log is better than nobody."""
        path = self.folder / f"{name}.log"
        try:
            if path.exists() and path.stat().st_size > MOST_LOG_BYTES:
                path.replace(path.with_suffix(".log.old"))
            return path.open("ab")
        except OSError as error:
            self._say(f"{name}.log", str(error))
            return Path(os.devnull).open("ab")

    def _restore_interface(self, name: str) -> None:
        """A daemon whose interface was deleted ends. Give the node another one, with what belonged to it."""
        node = self.nodes.get(name)
        if node is None:
            return
        ip = ["ip", "-n", node["namespace"]]
        try:
            shown = subprocess.run(
                [*ip, "-o", "addr", "show", "to", node["ipv4"]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=IP_TIMEOUT_S,
                check=False,
            )
            if shown.returncode == 0 and not shown.stdout.strip():
                lines = state_files.interface_file(self.folder, name)
                subprocess.run([*ip, "-force", "-batch", str(lines)], timeout=IP_TIMEOUT_S, check=False)
                self._say(f"{name}: interface", "restored", again=True)
        except (OSError, subprocess.TimeoutExpired) as error:
            self._say(f"{name}: interface", f"cannot be restored: {error}")

    def _say(self, about: str, what: str, again: bool = False) -> None:
        """One line in the supervisor's own log, if that is news."""
        if self.said.get(about, "") == what and not again:
            return
        self.said[about] = what
        with contextlib.suppress(OSError):
            print(f"{about}: {what or 'as it should be again'}", file=sys.stderr, flush=True)

    def _reap(self) -> None:
        for child in self.children:
            if child.process is None or child.process.poll() is None:
                continue
            child.ends.append(child.process.returncode)
            child.finished = child.process.returncode == 0
            del child.ends[:-10]
            child.process = None
            self._put_off(child)

    def _put_off(self, child: Child) -> None:
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
        try:
            files.write_text(self.folder / "processes.json", json.dumps(state))
        except OSError as error:
            self._say("processes.json", str(error))
            return
        self.recorded = True
        self._say("processes.json", "")

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
