# SPDX-License-Identifier: GPL-2.0-or-later
"""A Dask scheduler and workers as processes on the loopback, to be killed and started again; and what runs wrote."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

DASK = Path(sys.executable).with_name("dask")
START_PATIENCE_S = 60.0
POLL_S = 0.02
# A simulator's own account of its CPU time, the only thing in a run's files that no two runs share.
CPU_TIME = re.compile(rb'"cpu_s": ?\{[^}]*\}')


@dataclass(frozen=True)
class Process:
    """A scheduler or a worker, the file with what it says, and the folder of its own files."""

    popen: subprocess.Popen[bytes]
    log: Path
    place: Path

    def said(self) -> str:
        return self.log.read_text()

    def end(self, number: int = signal.SIGTERM) -> None:
        self.popen.send_signal(number)
        self.popen.wait(START_PATIENCE_S)


class Network:
    """A scheduler, at a port that was free, and its workers. Use as a context manager: all end with it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes: list[Process] = []

    def __enter__(self) -> Network:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            if process.popen.poll() is None:
                process.end(signal.SIGKILL)

    @property
    def address(self) -> str:
        return str(json.loads(self.file.read_text(encoding="utf-8"))["address"])

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def scheduler(self, port: int = 0, **environment: str) -> Process:
        """Start one; `port` is the one to have again."""
        self.file.unlink(missing_ok=True)
        words = ("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", "--scheduler-file", self.file)
        started = self._start(words, environment)
        _wait(lambda: self.file.exists() and self.file.stat().st_size > 0, started)
        return started

    def workers(self, count: int = 1, **environment: str) -> list[Process]:
        """Start workers that make one run at a time each, and wait for them."""
        started = [self.start_worker(**environment) for _ in range(count)]
        for each in started:
            self.registered(each)
        return started

    def start_worker(self, **environment: str) -> Process:
        """Start a worker; `environment` is besides that of this process."""
        place = self.folder / f"worker{len(self.processes)}"
        words = ("worker", "--scheduler-file", self.file, "--no-dashboard", "--no-nanny", "--nthreads", 1)
        return self._start((*words, "--local-directory", place), environment, place)

    @staticmethod
    def registered(worker: Process) -> None:
        """Wait until the scheduler knows a worker."""
        _wait(lambda: "Registered to:" in worker.said(), worker)

    def _start(self, words: tuple[object, ...], environment: dict[str, str], place: Path | None = None) -> Process:
        log = self.folder / f"{len(self.processes)}.log"
        with log.open("wb") as sink:
            popen = subprocess.Popen(
                [str(word) for word in (DASK, *words)],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
            )
        self.processes.append(Process(popen, log, place or self.folder))
        return self.processes[-1]


def _wait(holds: Callable[[], bool], process: Process) -> None:
    start_s = time.monotonic()
    while not holds():
        if process.popen.poll() is not None or time.monotonic() - start_s > START_PATIENCE_S:
            raise SystemExit(f"a process of Dask has not come up:\n{process.said()}")
        time.sleep(POLL_S)


def contents(folder: Path) -> dict[str, bytes]:
    """What runs and tables of an output folder hold, but for the CPU time and the folder's own name."""
    found = {}
    for path in (*folder.glob("runs/*/*"), *folder.glob("*.parquet"), *folder.glob("*.pcapng")):
        told = path.read_bytes()
        if path.suffix == ".json":
            told = CPU_TIME.sub(b'"cpu_s"', told).replace(str(folder).encode(), b"FOLDER")
        found[str(path.relative_to(folder))] = told
    return found
