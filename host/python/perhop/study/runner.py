# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the simulators, several at a time, so that what is finished is kept whatever happens.

In the output folder each run has runs/<id>/ once it has finished, runs/<id>.partial/ after an interruption and
runs/<id>.failed/ after a crash. state.json says which, and with which program (by its hash) a run was made: a
finished run of the same program, with the outputs that are asked for, is not made again.
"""

from __future__ import annotations

import collections
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from perhop import paths
from perhop.experiment.program import Program, hash_of
from perhop.experiment.resolve import Run
from perhop.study import run_folder, simulator
from perhop.study.outcomes import Outcome, Owner, Study
from perhop.study.state import Keeper, borrow, claim, locked, reuse, write_state

# After this long without an answer to SIGINT a simulator is killed.
STOP_PATIENCE_S = 20.0


def execute(
    runs: list[Run],
    folder: Path,
    jobs: int | None = None,
    fresh: bool = False,
    on_change: Callable[[Study], None] = lambda study: None,
    programs: dict[str, Program] | None = None,
    owner: Owner | None = None,
    scheduler: str | None = None,
    note: Callable[[str], None] = lambda text: None,
    lenders: Iterable[Path] = (),
) -> Study:
    """Make the runs that `folder` does not hold yet; `on_change` is called whenever something moved.

    `programs` make the runs, by the name that they have there; by default the simulators of this build. Results of
    somebody else than `owner` are replaced only if `fresh`. What other output folders, the `lenders`, have of these
    runs is copied. With `scheduler`, the address of a Dask scheduler or a file that holds it, its workers make the
    runs; `note` is told of workers that come, go and are refused.

    SIGINT or SIGTERM in the main thread stops the simulators and returns with `interrupted` set. Raises PerhopError
    before anything is written when a program is missing, when no scheduler answers or no worker is fit, when another
    perhop works in the folder, and when the folder holds something else.
    """
    start = time.monotonic()
    if programs is None:
        programs = simulators(runs)
    study = Study(folder, [Outcome(run) for run in runs], owner=owner)
    study.program_hashes = {name: program.sha256 for name, program in programs.items()}
    if scheduler is not None:
        # Loading Dask takes longer than a small study.
        from perhop.study import cluster

        cluster.examine(scheduler, programs)
    with locked(folder), _stop_signals() as stop:
        if owner is not None:
            claim(folder, owner, fresh)
        if fresh:
            shutil.rmtree(folder / "runs", ignore_errors=True)
        else:
            for lender in lenders:
                borrow(folder, lender, runs, study.program_hashes)
        reuse(study)
        write_state(study)
        try:
            if scheduler is not None:
                cluster.Pool(study, programs, jobs, stop, on_change, scheduler, note).work()
            else:
                _Pool(study, programs, jobs or os.cpu_count() or 1, stop, on_change).work()
        finally:
            study.interrupted = stop.is_set() and not study.complete
            study.wall_s = time.monotonic() - start
            write_state(study)
    return study


def simulators(runs: list[Run]) -> dict[str, Program]:
    """The programs of this build that the runs name. Raises PerhopError."""
    files_of = {name: paths.program(name) for name in {run.program for run in runs}}
    return {name: Program([str(file)], hash_of(file)) for name, file in files_of.items()}


class _Pool:
    """A thread a simulator reads its output; everything else happens in the caller's thread."""

    def __init__(
        self,
        study: Study,
        programs: dict[str, Program],
        jobs: int,
        stop: threading.Event,
        on_change: Callable[[Study], None],
    ) -> None:
        self._study = study
        self._programs = programs
        self._jobs = jobs
        self._stop = stop
        self._on_change = on_change
        self._ended: queue.Queue[Outcome] = queue.Queue()
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._threads: list[threading.Thread] = []
        self._keeper = Keeper(study)
        # What kept a thread from keeping a run's results.
        self._problem: Exception | None = None

    def work(self) -> None:
        self._on_change(self._study)
        try:
            self._work(self._study.waiting)
        finally:
            if self._processes:
                # Only after an error of ours is a simulator still there.
                self._stop.set()
                self._signal(signal.SIGKILL)
            for thread in self._threads:
                thread.join()

    def _work(self, waiting: collections.deque[Outcome]) -> None:
        told_at: float | None = None
        while waiting or self._processes:
            while waiting and len(self._processes) < self._jobs and not (self._stop.is_set() or self._study.stopped):
                self._start(waiting.popleft())
            if self._study.stopped:
                waiting.clear()
            if self._stop.is_set():
                waiting.clear()
                now = time.monotonic()
                if told_at is None:
                    told_at = now
                    self._signal(signal.SIGINT)
                elif now - told_at > STOP_PATIENCE_S:
                    self._signal(signal.SIGKILL)
            self._collect()
            self._on_change(self._study)

    def _start(self, outcome: Outcome) -> None:
        work = run_folder.prepare(self._study.folder, outcome.run)
        process = simulator.start(self._programs[outcome.run.program], work / run_folder.RUN_FILE)
        outcome.status = "running"
        self._processes[outcome.run.id] = process
        thread = threading.Thread(target=self._watch, args=(outcome, process, work), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _watch(self, outcome: Outcome, process: subprocess.Popen[str], work: Path) -> None:
        try:
            ended = simulator.follow(process, lambda simulated_s: setattr(outcome, "simulated_s", simulated_s))
            if ended.code == run_folder.EXIT_NODE:
                self._study.stopped = True
            run_folder.settle(outcome, ended, work, stopped=self._stop.is_set())
        except Exception as error:  # whatever it is, or the main thread would wait for this run for ever
            self._problem = error
        self._ended.put(outcome)

    def _collect(self) -> None:
        """Take note of simulators that have ended; wait at most a moment for the next."""
        try:
            outcome = self._ended.get(timeout=0.1)
        except queue.Empty:
            return
        while True:
            del self._processes[outcome.run.id]
            try:
                outcome = self._ended.get_nowait()
            except queue.Empty:
                break
        if self._problem is not None:
            raise self._problem
        self._keeper.keep()

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.send_signal(number)


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """An event that SIGINT or SIGTERM sets; the handlers that were there come back afterwards."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
