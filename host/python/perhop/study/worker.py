# SPDX-License-Identifier: GPL-2.0-or-later
"""What a Dask worker does for a study: it says what programs it has, makes a run in a folder of its own, stops runs.

Workers load this file from their own perhop; its hash is among those that must be equal. What is called is told and
answers in plain values, so that another version's answer can at least be told to be another's.
"""

from __future__ import annotations

import functools
import hashlib
import json
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.errors import PerhopError
from perhop.experiment.program import Program, hash_of
from perhop.own import files as own_files
from perhop.study import simulator
from perhop.study.parts import parts_of

# How often a run in progress tells so, and asks whether anybody still wants it.
TELL_PERIOD_S = 0.5
WANTED_PERIOD_S = 1.0

# Why this worker is not to make a run, where its programs are the reason.
OTHER_PROGRAM = "other program"

_lock = threading.Lock()
_processes: dict[str, set[subprocess.Popen[str]]] = {}  # by study
_stopped: set[str] = set()


def look(programs: list[str]) -> dict[str, Any]:
    """Where this worker is, and what it has: {host, programs: {name: {part: {file, sha256}} or {problem, remedy}}}."""
    return {"host": socket.gethostname(), "perhop": own_hash(), "programs": {name: _parts(name) for name in programs}}


@functools.cache
def own_hash() -> str:
    """The hash of the text by which workers make runs."""
    return hash_of(Path(__file__))


def _parts(name: str) -> dict[str, Any]:
    try:
        return {"parts": {part: asdict(found) for part, found in parts_of(paths.program(name)).items()}}
    except PerhopError as error:
        return error.as_dict()


def make_run(task: dict[str, Any]) -> dict[str, Any]:
    """Make a run of `task`: {study, run, program, parts: {name: sha256}, config, config_sha256, own}.

    Answers {code, tail, wall_s, files} of a simulator that has ended, {unfit} where this worker is none to make it, or
    {stopped} where the study was stopped before.
    """
    from distributed import get_worker

    worker = get_worker()
    here = {"worker": worker.address}
    try:
        found = _parts(task["program"])
        if {name: part["sha256"] for name, part in found.get("parts", {}).items()} != task["parts"]:
            return {**here, "unfit": OTHER_PROGRAM}
        if hashlib.sha256(task["config"].encode()).hexdigest() != task["config_sha256"]:
            return {**here, "unfit": f"run.json of {task['run']} came damaged"}
        with (
            tempfile.TemporaryDirectory(prefix="perhop-", dir=worker.local_directory) as folder,
            tempfile.TemporaryDirectory(prefix="perhop-own-", dir=worker.local_directory) as own,
        ):
            return {**here, **_make(task, worker, Path(folder), Path(own))}
    except OSError as error:
        return {**here, "unfit": str(error)}


def _make(task: dict[str, Any], worker: Any, folder: Path, own: Path) -> dict[str, Any]:
    config = own_files.unpacked(json.loads(task["config"]), task["own"], own)
    config["outputs"] = {**config["outputs"], "directory": str(folder)}
    # Apart from the outputs, and with a name of its own: what a run writes is all that goes back.
    with tempfile.NamedTemporaryFile("w", suffix=".json", dir=worker.local_directory) as run_file:
        json.dump(config, run_file)
        run_file.flush()
        with _lock:
            if task["study"] in _stopped:
                return {"stopped": True}
            process = simulator.start(Program([str(paths.program(task["program"]))], ""), Path(run_file.name))
            _processes.setdefault(task["study"], set()).add(process)
        ended = threading.Event()
        watch = threading.Thread(target=_kill_unwanted, args=(process, ended, worker, worker.get_current_task()))
        watch.daemon = True
        watch.start()
        try:
            end = simulator.follow(process, _teller(task, worker))
        finally:
            ended.set()
            with _lock:
                _processes[task["study"]].discard(process)
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {"code": end.code, "tail": end.tail, "wall_s": end.wall_s, "files": files}


def _teller(task: dict[str, Any], worker: Any) -> Callable[[float], None]:
    """Tells whoever asked for the run that it has begun, and then how far it is."""
    told_at = 0.0

    def tell(simulated_s: float) -> None:
        nonlocal told_at
        now = time.monotonic()
        if now - told_at >= TELL_PERIOD_S:
            told_at = now
            worker.log_event(topic(task["study"]), {"run": task["run"], "simulated_s": simulated_s})

    tell(0.0)
    return tell


def topic(study: str) -> str:
    """Under which name the runs of a study tell of themselves."""
    return f"perhop-{study}"


def _kill_unwanted(process: subprocess.Popen[str], ended: threading.Event, worker: Any, key: Any) -> None:
    """End a simulator when nobody waits for it any more: who asked for it is gone, or the scheduler is."""
    while not ended.wait(WANTED_PERIOD_S):
        state = worker.state.tasks.get(key)
        if state is None or state.state == "cancelled" or worker.status.name != "running":
            process.kill()
            return


def stop(study: str, number: int) -> None:
    """Send a signal to the runs of a study that are being made here, and begin none of it any more."""
    with _lock:
        _stopped.add(study)
        for process in _processes.get(study, ()):
            if process.poll() is None:
                process.send_signal(number)
