# SPDX-License-Identifier: GPL-2.0-or-later
"""The state of an output folder: whose it is, which runs have finished, and that one perhop at a time works in it."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perhop import files, paths
from perhop.errors import PerhopError
from perhop.experiment.resolve import OPTIONAL_OUTPUTS, Run
from perhop.study.outcomes import Owner, Study

STATE_PERIOD_S = 1.0
# Of the time, for writing the state.
STATE_SHARE = 0.05

# What a study leaves in its output folder, beside runs/ and state.json.
RESULT_FILES = (
    "report.html",
    "results.parquet",
    "flows.parquet",
    "hops.parquet",
    "queues.parquet",
    "runs.parquet",
    "packets.pcapng",
    "experiment.yaml",
    "provenance.json",
)
# A folder among these, where completion records are asked for (perhop.study.records).
RECORDS = "records"


def claim(folder: Path, owner: Owner, fresh: bool) -> None:
    """Make sure that `folder` is `owner`'s, or nobody's. Raises PerhopError."""
    there = [name for name in (*RESULT_FILES, RECORDS, "runs") if (folder / name).exists()]
    if not state_exists(folder):
        if there:
            raise PerhopError(
                f"{paths.shown(folder)} holds {there[0]}, which no earlier call of this command has made",
                "give another folder with --out",
            )
        return
    known = _owner_of(folder)
    if known is None or known.is_same(owner):
        return
    if not fresh:
        raise PerhopError(
            f"{paths.shown(folder)} holds the results of another experiment: {known.name}"
            + (f" of {paths.shown(Path(known.file))}" if known.file else "")
            + f", not {owner.name} of {paths.shown(Path(owner.file))}",
            "give another folder with --out, give the experiment another name, or replace those results with --fresh",
        )
    for name in RESULT_FILES:
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / RECORDS, ignore_errors=True)


def _owner_of(folder: Path) -> Owner | None:
    """What the state says; what was made before states said it is known by its name alone, if at all."""
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        if "owner" in state:
            return Owner(**state["owner"])
        told = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        text = (folder / "experiment.yaml").read_bytes()
        return Owner(told["experiment"]["name"], "", hashlib.sha256(text).hexdigest())
    except (OSError, ValueError, KeyError, TypeError):
        return None


def state_exists(folder: Path) -> bool:
    """Whether `folder` holds the state of an earlier `execute`."""
    return (folder / "state.json").is_file()


def read_result(folder: Path) -> dict[str, Any] | None:
    try:
        value = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def entry(folder: Path, run_id: str) -> dict[str, Any]:
    """What the state of an output folder says of a run; empty where it says nothing."""
    return _known(folder).get(run_id, {})


def _known(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / "state.json").read_text(encoding="utf-8"))["runs"]
    except (OSError, ValueError, KeyError):
        return {}


def borrow(folder: Path, lender: Path, runs: list[Run], program_hashes: dict[str, str]) -> None:
    """Take over the runs that `folder` lacks and another output folder has, finished and of the same program."""
    known, theirs = _known(folder), _known(lender)
    borrowed = {}
    for run in runs:
        sha256 = program_hashes[run.program]
        lent = theirs.get(run.id, {})
        if _is_finished(known.get(run.id, {}), sha256) or not _is_finished(lent, sha256):
            continue
        there, here = lender / "runs" / run.id, folder / "runs" / run.id
        if read_result(there) is not None and _has_outputs(there, run):
            shutil.rmtree(here, ignore_errors=True)
            shutil.copytree(there, here)
            borrowed[run.id] = lent
    if borrowed:
        files.write_json(folder / "state.json", {"runs": known | borrowed})


def _is_finished(entry: dict[str, Any], program_sha256: str) -> bool:
    return entry.get("status") == "finished" and entry.get("program_sha256") == program_sha256


def reuse(study: Study) -> None:
    known = _known(study.folder)
    ours = {outcome.run.id for outcome in study.outcomes}
    study.earlier = {
        name: entry for name, entry in known.items() if name not in ours and (study.folder / "runs" / name).is_dir()
    }
    for outcome in study.outcomes:
        run = outcome.run
        folder = study.folder / "runs" / run.id
        entry = known.get(run.id, {})
        finished = _is_finished(entry, study.program_hashes[run.program])
        study.outdated += entry.get("status") == "finished" and not finished
        result = read_result(folder) if finished else None
        if result is None or not _has_outputs(folder, run):
            shutil.rmtree(folder, ignore_errors=True)
            continue
        outcome.status, outcome.reused, outcome.folder, outcome.result = "finished", True, folder, result
        outcome.simulated_s = float(run.config["duration_s"])
        outcome.wall_s = float(entry.get("wall_s", 0.0))


def _has_outputs(folder: Path, run: Run) -> bool:
    """Whether a finished run wrote all that is asked for now."""
    try:
        written = json.loads((folder / "run.json").read_text(encoding="utf-8"))["outputs"]
    except (OSError, ValueError, KeyError):
        return False
    wanted = run.config["outputs"]
    if wanted["pcapng"] and written.get("pcapng_nodes") != wanted.get("pcapng_nodes"):
        return False
    return all(written.get(name, False) for name in OPTIONAL_OUTPUTS if wanted.get(name))


def write_state(study: Study) -> None:
    files.write_json(
        study.folder / "state.json",
        {
            **({"owner": asdict(study.owner)} if study.owner is not None else {}),
            "runs": study.earlier
            | {
                outcome.run.id: {
                    "label": outcome.run.label,
                    # A run that has only started is, for a later call, one still to make.
                    "status": "pending" if outcome.status == "running" else outcome.status,
                    "program": outcome.run.program,
                    "program_sha256": study.program_hashes[outcome.run.program],
                    "wall_s": round(outcome.wall_s, 3),
                    "message": outcome.message,
                }
                for outcome in study.outcomes
            },
        },
    )


class Keeper:
    """Writes the state while runs are made: each second, or, with very many runs, as often as takes little of the time.

    What is lost with perhop itself, what ended since the last time, is made again.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._due_s = 0.0

    def keep(self) -> None:
        """Write the state if it is time to."""
        begun_s = time.monotonic()
        if begun_s >= self._due_s:
            write_state(self._study)
            now_s = time.monotonic()
            self._due_s = now_s + max(STATE_PERIOD_S, (now_s - begun_s) / STATE_SHARE)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second perhop out of `folder`; the lock goes with the process that holds it."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PerhopError(
                f"another perhop is running in {paths.shown(folder)}", "wait for it, or give another --out"
            ) from None
        yield
