# SPDX-License-Identifier: GPL-2.0-or-later
"""`make attack`: hostile packets, peers and accidents at a live network of its own, a verdict each. Needs root.

Each case is a file of this folder; `--only NAME` runs one, `--list` names them. All happens in network namespaces of
its own, bounded in count and time, and an interrupt leaves nothing behind. Exit status: 0 all pass, 1 a case fails,
2 a live network is impossible here, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from bench import Bench, NotSo, Outcome
from perhop import paths
from perhop.errors import PerhopError
from perhop.live import namespaces
from perhop.report.result_line import print_result

# What must hold, in the order in which it is tried; the number is the most seconds that a case may take.
CASES = {
    "oversize_frames": 180,
    "forged_syns": 240,
    "tcp_md5": 300,
    "interface_deleted": 90,
    "idle_clients": 90,
    "full_disk": 120,
    "dlep_flood": 120,
    "policy_kept": 180,
    "forged_neighbours": 180,
}


class TooLong(BaseException):
    """Of a case; no handler of its own may take it for something else."""


def _too_long(*_: object) -> NoReturn:
    raise TooLong


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def attempt(name: str) -> Outcome:
    """One case; what keeps it from its end is what does not hold."""
    case = importlib.import_module(name)
    outcome = Outcome()
    signal.alarm(CASES[name])
    try:
        with Bench() as bench:
            case.run(bench, outcome)
    except TooLong:
        outcome.wrong.append(f"not over after {CASES[name]} s")
    except (PerhopError, NotSo, OSError, AssertionError, KeyError, ValueError, subprocess.SubprocessError) as error:
        outcome.wrong.append(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
    finally:
        signal.alarm(0)
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=list(CASES), help="this case; may come several times")
    parser.add_argument("--list", action="store_true", help="name the cases and what they prove")
    arguments = parser.parse_args()
    if arguments.list:
        for name in CASES:
            print(f"{name:18} {(importlib.import_module(name).__doc__ or '').splitlines()[0]}")
        return 0
    try:
        namespaces.check_host()
        for program in ("perhop-live-air", "perhop-node"):
            paths.program(program)
    except PerhopError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGALRM, _too_long)
    signal.signal(signal.SIGTERM, _interrupted)
    signal.signal(signal.SIGINT, _interrupted)
    result: dict[str, Any] = {"cases": {}, "figures": {}, "does_not_hold": {}, "version": paths.version()}
    try:
        for name in arguments.only or CASES:
            begun_s = time.monotonic()
            outcome = attempt(name)
            result["cases"][name] = "fail" if outcome.wrong else "pass"
            result["figures"] |= {f"{name}: {figure}": value for figure, value in outcome.figures.items()}
            if outcome.wrong:
                result["does_not_hold"][name] = outcome.wrong
            figures = ", ".join(f"{figure} {value:g}" for figure, value in outcome.figures.items())
            took_s = time.monotonic() - begun_s
            print(
                f"{result['cases'][name]}  {name:18} {took_s:4.0f} s  {'; '.join(outcome.wrong) or figures}", flush=True
            )
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    print_result("attack", result)
    return 1 if "fail" in result["cases"].values() else 0


if __name__ == "__main__":
    sys.exit(main())
