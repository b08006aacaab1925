# SPDX-License-Identifier: GPL-2.0-or-later
"""Files by which the processes of a live network tell each other what is wanted. As light as the supervisor."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from perhop import files

# Of the player of scripted events.
PROGRESS = "events.json"


def held_file(folder: Path, process: str) -> Path:
    """While it is there, the supervisor keeps the process down."""
    return folder / f"{process}.held"


def hold(folder: Path, process: str, held: bool) -> None:
    """Let the supervisor kill a process and keep it down, or start it again."""
    mark = held_file(folder, process)
    if held:
        mark.touch()
    else:
        mark.unlink(missing_ok=True)
    wake_supervisor(folder)


def wake_supervisor(folder: Path) -> None:
    with contextlib.suppress(OSError, ValueError):
        os.kill(int((folder / "supervisor.pid").read_text()), signal.SIGHUP)


def begin(folder: Path, origin_s: float | None = None) -> None:
    """The network is up: its events count from now on, or from `origin_s` of the monotonic clock."""
    origin_s = time.monotonic() if origin_s is None else origin_s
    files.write_json(folder / PROGRESS, {"origin_s": origin_s, "played": 0, "errors": []})
    wake_supervisor(folder)


def progress(folder: Path) -> dict[str, Any] | None:
    """{origin_s, played, errors} of the player; None before the network is up."""
    try:
        found: dict[str, Any] = json.loads((folder / PROGRESS).read_text())
    except (OSError, ValueError):
        return None
    return found
