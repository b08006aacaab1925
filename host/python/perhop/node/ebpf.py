# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether congestion windows can be clamped here (host/bpf); the daemon itself is asked."""

from __future__ import annotations

import subprocess
from pathlib import Path

from perhop import paths
from perhop.errors import PerhopError

MOUNTS = Path("/proc/self/mountinfo")


def cgroup() -> str:
    """The folder of the cgroup of version 2 that holds all processes. Raises PerhopError."""
    for line in MOUNTS.read_text().splitlines():
        place, _, kind = line.partition(" - ")
        if kind.startswith("cgroup2 "):
            return place.split()[4]
    raise PerhopError(
        "eBPF: no cgroup of version 2 is mounted here",
        "mount one (mount -t cgroup2 none FOLDER), or enforce the limit by `window`",
    )


def check(folder: str) -> None:
    """Raises PerhopError for the first thing that is missing; nothing stays."""
    program = paths.program("perhop-node")
    done = subprocess.run([str(program), "--check-ebpf", folder], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        what, _, remedy = done.stderr.strip().rpartition("; ")
        raise PerhopError(f"eBPF: {what or done.stderr}", f"{remedy}, or enforce the limit by `window`")
