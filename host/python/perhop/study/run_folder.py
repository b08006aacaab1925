# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's folder: made before its simulator starts, and named after what became of the run when that has ended."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

from perhop import files
from perhop.experiment.resolve import Run
from perhop.own import files as own_files
from perhop.study.outcomes import Outcome
from perhop.study.simulator import Ended
from perhop.study.state import read_result

RUN_FILE = "run.json"
# A run in real time that ends so found a node that failed: so would the next.
EXIT_NODE = 75


def prepare(folder: Path, run: Run) -> Path:
    """The folder of a run that is about to be made, with its run.json, below that of the study."""
    work = folder / "runs" / f"{run.id}.running"
    for stale in (work, work.with_suffix(".partial"), work.with_suffix(".failed")):
        shutil.rmtree(stale, ignore_errors=True)
    work.mkdir(parents=True)
    files.write_json(work / RUN_FILE, with_directory(run.config, work))
    return work


def with_directory(config: dict[str, Any], work: Path) -> dict[str, Any]:
    """What run.json says of a run that is made in `work`, where its own policies' files are copied to."""
    config = own_files.run_placed(config, work)
    return {**config, "outputs": {"directory": str(work), **config["outputs"]}}


def settle(outcome: Outcome, ended: Ended, work: Path, stopped: bool) -> None:
    """Decide from the exit code and result.json what became of a run, and name its folder after that.

    `stopped` says that we told it to stop, or killed it: one that stops or dies without that has failed.
    """
    result = read_result(work)
    code = ended.code
    outcome.wall_s = ended.wall_s
    if code == 0 and result is not None and not result.get("interrupted", False):
        outcome.status = "finished"
        outcome.simulated_s = float(outcome.run.config["duration_s"])
        target = work.with_suffix("")
    elif stopped and code in (130, -signal.SIGINT, -signal.SIGKILL, -signal.SIGTERM):
        outcome.status = "interrupted"
        target = work.with_suffix(".partial")
    elif code == EXIT_NODE:
        outcome.status = "failed"
        outcome.message = ended.tail
        target = work.with_suffix(".failed")
    else:
        outcome.status = "failed"
        silent = "" if code == -signal.SIGKILL else ", silently"
        outcome.message = f"{outcome.run.program} {_ending(code)}" + (f":\n{ended.tail}" if ended.tail else silent)
        target = work.with_suffix(".failed")
    if target.exists():
        shutil.rmtree(target)
    work.rename(target)
    outcome.folder = target
    # What a run measured until a node failed is kept as that of an interrupted one.
    outcome.result = result if outcome.status != "failed" or code == EXIT_NODE else None


def _ending(code: int) -> str:
    """How a run ended that should not have, from its exit code."""
    if code == -signal.SIGKILL:
        return (
            f"died of signal {-code} (SIGKILL), which perhop did not send; if the machine ran out of memory "
            "(see `dmesg`), make fewer runs at a time with --jobs"
        )
    if code < 0:
        return f"died of signal {-code} ({signal.Signals(-code).name})"
    if code == 130:
        return "was stopped by a signal that perhop did not send (exit 130)"
    if code == 0:
        return "failed (exit 0 without a result.json that can be read)"
    return f"failed (exit {code})"
