# SPDX-License-Identifier: GPL-2.0-or-later
"""Files by which the processes of a live network tell each other what is wanted. As light as the supervisor."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perhop import files
from perhop.errors import PerhopError
from perhop.own import files as own_files

# Of the player of scripted events.
PROGRESS = "events.json"
# The policy of all TCP flows: {label, policy}. Every daemon reads it as it starts.
POLICY = "policy.json"


def state_folder() -> Path:
    """Where live networks are recorded: PERHOP_LIVE_STATE, or /run/perhop-live."""
    return Path(os.environ.get("PERHOP_LIVE_STATE", "/run/perhop-live"))


def names() -> list[str]:
    """All live networks recorded here, running or not."""
    folder = state_folder()
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []


def capture_file(folder: Path, index: int) -> Path:
    """Where a node of the network with this state folder records its packets."""
    return folder / f"capture-{index}.pcapng"


@contextlib.contextmanager
def recording(folder: Path) -> Iterator[None]:
    """What cannot be written is one message: PerhopError."""
    try:
        yield
    except OSError as error:
        raise PerhopError(
            f"{folder} cannot be written: {error.strerror or error}",
            "make room on the disk that holds it, or let PERHOP_LIVE_STATE name another folder; then try again",
        ) from error


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One at a time changes what is recorded and tells it. Raises PerhopError."""
    with recording(folder):
        lock = (folder / "lock").open("w")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def medium_socket(folder: Path) -> Path:
    """Of the emulated medium, in a folder that is its own."""
    return folder / "air" / "air.sock"


def interface_file(folder: Path, process: str) -> Path:
    """Lines of `ip -batch` by which the supervisor gives a node its interface back, with addresses and routes."""
    return folder / f"{process}.ip"


def record_routes(folder: Path, process: str, lines: list[str]) -> None:
    """Routes that hold from now on, in the place of those to the same destinations. Raises OSError."""

    def destination(line: str) -> list[str]:
        return line.split()[:3]  # route replace DESTINATION

    path = interface_file(folder, process)
    changed = [destination(line) for line in lines]
    kept = [line for line in path.read_text().splitlines() if destination(line) not in changed]
    files.write_text(path, "\n".join([*kept, *lines]) + "\n")


def read_policy(folder: Path) -> dict[str, Any]:
    """{label, policy} as recorded. Raises PerhopError."""
    try:
        found: dict[str, Any] = json.loads((folder / POLICY).read_text())
    except (OSError, ValueError) as error:
        raise PerhopError(f"{folder / POLICY} cannot be read: {error}", "`perhop live down`, then up again") from error
    return found


def record_policy(folder: Path, label: str, policy: dict[str, Any]) -> None:
    """The policy that every daemon has that starts from now on; the file of one of one's own is copied.

    Raises OSError or PerhopError, and then nothing has changed.
    """
    files.write_json(folder / POLICY, {"label": label, "policy": own_files.placed(policy, folder)})


@contextlib.contextmanager
def trying_policy(folder: Path, label: str, policy: dict[str, Any]) -> Iterator[None]:
    """Record another policy, and the old one again if what follows fails. Raises PerhopError.

    The old record is kept as a file, so that a disk that is full by then cannot keep it from coming back.
    """
    old = folder / f".{POLICY}.old"
    with recording(folder):
        old.unlink(missing_ok=True)
        old.hardlink_to(folder / POLICY)
        record_policy(folder, label, policy)
    try:
        yield
    except BaseException:
        old.replace(folder / POLICY)
        raise
    old.unlink(missing_ok=True)


def held_file(folder: Path, process: str) -> Path:
    """While it is there, the supervisor keeps the process down."""
    return folder / f"{process}.held"


def hold(folder: Path, process: str, held: bool) -> None:
    """Let the supervisor kill a process and keep it down, or start it again."""
    mark = held_file(folder, process)
    with recording(folder):
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
