# SPDX-License-Identifier: GPL-2.0-or-later
"""The disk below the state folder is full while a daemon ends: the supervisor lives, starts it, and recovers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from bench import NAME, STATE, Bench, Outcome, wait_until
from perhop.live import network

MOST_BACK_S = 10.0


def run(bench: Bench, outcome: Outcome) -> None:
    STATE.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "perhop-attack", str(STATE)], check=True)
    bench.at_end(subprocess.run, ["umount", str(STATE)])
    bench.up(hops=1)
    there = bench.address(1)
    supervisor = network.status(NAME)["supervisor"]
    filler = STATE / "filler"
    _fill(filler)
    killed = bench.pid("node-0")
    os.kill(killed, signal.SIGKILL)
    os.kill(bench.pid("air"), signal.SIGKILL)
    begun_s = time.monotonic()
    with contextlib.suppress(Exception):
        wait_until(lambda: bench.is_up(0) and bench.answers(0, there), MOST_BACK_S, "traffic on a full disk")
    full_s = time.monotonic() - begun_s
    outcome.figures["back_s on a full disk"] = round(full_s, 2)
    outcome.check(full_s < MOST_BACK_S, f"no traffic {MOST_BACK_S:g} s after a daemon ended on a full disk")
    alive = network.status(NAME)["supervisor"] == supervisor
    outcome.figures["supervisor alive"] = int(alive)
    outcome.check(alive, "the supervisor has ended")
    filler.unlink()
    # Once there is room, what it records is true again.
    with contextlib.suppress(ProcessLookupError):
        os.kill(_pid_of_daemon(bench) or killed, signal.SIGKILL)
    begun_s = time.monotonic()
    with contextlib.suppress(Exception):
        wait_until(
            lambda: bench.pid("node-0") == _pid_of_daemon(bench) and bench.is_up(0) and bench.answers(0, there),
            MOST_BACK_S,
            "all is as before",
        )
    back_s = time.monotonic() - begun_s
    outcome.figures["back_s with room"] = round(back_s, 2)
    outcome.check(back_s < MOST_BACK_S, f"not as before {MOST_BACK_S:g} s after there was room again")


def _pid_of_daemon(bench: Bench) -> int | None:
    """Of node 0, whatever is recorded."""
    config = str(bench.folder / "node-0.json")
    for pid in network.processes_naming(bench.folder):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if config in words and words[0].endswith("perhop-node"):
                return pid
    return None


def _fill(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 16, 1 << 10, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
