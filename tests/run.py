# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs every group of tests and adds up what passed and failed; `make test` and `make test-long` call it.

A group is a folder of tests/ with pytest files, the lint targets of the Makefile, or the C++ tests that CTest knows.
Progress is one line a group; a failing group's output follows it, and every group's output is kept in out/<target>/.

Groups that run in real time mostly wait. They run one after the other beside the rest, which takes only the time of the
processors that they leave (SCHED_IDLE).
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINTS = ("lint-rtl", "lint-python", "lint-format", "lint-tidy", "lint-shell")
REAL_TIME = ("live", "ota")
# A group that hangs must not hang a continuous-integration machine.
GROUP_TIMEOUT_S = {"test": 1500, "test-long": 4 * 3600}


# Commands that have not ended.
running: set[subprocess.Popen[bytes]] = set()


@dataclass
class Outcome:
    """Counts of one group, in test cases."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    skip_reasons: list[str] = field(default_factory=list)
    seconds: float = 0.0
    output: str = ""


def read_junit(path: Path) -> Outcome:
    """Counts the cases of a JUnit file; raises ParseError or OSError where the run did not get as far as writing it."""
    outcome = Outcome()
    for case in ET.parse(path).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            outcome.failed += 1
        elif skipped is not None:
            outcome.skipped += 1
            outcome.skip_reasons.append(f"{case.get('name')}: {skipped.get('message') or 'no reason given'}")
        else:
            outcome.passed += 1
    return outcome


def run_command(command: list[str], log: Path, timeout_s: float) -> int:
    """Runs a command with its output in `log`; returns its exit status, 124 when it ran out of time."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, process_group=0
        )
        running.add(process)
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            sink.write(f"\nstopped after {timeout_s:.0f} s\n".encode())
            return 124
        finally:
            running.discard(process)
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Nothing that a command started outlives it: not when it hangs, and not when this program is interrupted."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_with_junit(command: list[str], junit: Path, timeout_s: float) -> Outcome:
    """Runs a test program that writes a JUnit file; a run that dies, or has no test at all, counts as one failure."""
    junit.unlink(missing_ok=True)
    log = junit.with_suffix(".log")
    status = run_command(command, log, timeout_s)
    text = log.read_text(errors="replace")
    try:
        outcome = read_junit(junit)
    except (ET.ParseError, OSError):
        outcome = Outcome()
    if outcome.failed == 0 and (status != 0 or outcome.passed + outcome.skipped == 0):
        outcome.failed = 1
        text += f"\nthe run itself failed: exit status {status}, {outcome.passed} passed before it\n"
    outcome.output = text
    return outcome


def run_lint(out: Path, timeout_s: float, prefix: list[str]) -> Outcome:
    """One case a linter, each a target of the Makefile."""
    outcome = Outcome()
    for target in LINTS:
        log = out / f"{target}.log"
        if run_command([*prefix, "make", target], log, timeout_s) == 0:
            outcome.passed += 1
        else:
            outcome.failed += 1
            outcome.output += log.read_text(errors="replace")
    return outcome


def groups(target: str, jobs: int) -> Iterator[tuple[str, list[str] | None]]:
    """Yields (name, command or None for lint) in the order of running: cheap checks of the whole first."""
    marker = "long" if target == "test-long" else "not long"
    folders = sorted({path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").glob("*/**/test_*.py")})
    folders.sort(key=lambda name: name != "repository")
    for folder in folders:
        files = (ROOT / "tests" / folder).glob("**/test_*.py")
        if target == "test-long" and not any("mark.long" in path.read_text() for path in files):
            continue
        command = [sys.executable, "-m", "pytest", "-q", f"tests/{folder}", "-m", marker, "-n", str(jobs)]
        yield folder, [*command, f"--junitxml=out/{target}/{folder}.xml"]
        if folder == "repository" and target == "test":
            yield "lint", None
            ctest = ["ctest", "--test-dir", "out/build", "-j", str(jobs), "--output-on-failure", "--no-tests=error"]
            ctest += ["-LE", "long"]
            yield "ctest", [*ctest, "--output-junit", str(ROOT / "out" / target / "ctest.xml")]


def run_groups(
    chosen: list[tuple[str, list[str] | None]],
    out: Path,
    timeout_s: float,
    prefix: list[str],
    outcomes: dict[str, Outcome],
) -> None:
    """Runs groups one after the other, each command behind `prefix`, and tells of each as it ends."""
    for name, command in chosen:
        start_s = time.monotonic()
        if command:
            outcome = run_with_junit([*prefix, *command], out / f"{name}.xml", timeout_s)
        else:
            outcome = run_lint(out, timeout_s, prefix)
        outcome.seconds = time.monotonic() - start_s
        outcomes[name] = outcome
        tell(name, outcome)


def tell(name: str, outcome: Outcome) -> None:
    skipped = f", {outcome.skipped} skipped" if outcome.skipped else ""
    lines = [f"{name:12} {outcome.passed:5} passed, {outcome.failed} failed{skipped}  ({outcome.seconds:.0f} s)"]
    lines += [outcome.output] if outcome.failed else []
    lines += [f"  SKIPPED {reason}" for reason in outcome.skip_reasons]
    print("\n".join(lines), flush=True)


def main() -> int:
    """Returns 0 when everything passed, 1 otherwise, 130 when interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", choices=tuple(GROUP_TIMEOUT_S), default="test")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("group", nargs="*", help="only these groups, such as: repository lint ctest")
    arguments = parser.parse_args()
    out = ROOT / "out" / arguments.target
    out.mkdir(parents=True, exist_ok=True)

    chosen = [
        (name, command)
        for name, command in groups(arguments.target, arguments.jobs)
        if not arguments.group or name in arguments.group
    ]
    real_time = [group for group in chosen if group[0] in REAL_TIME]
    rest = [group for group in chosen if group[0] not in REAL_TIME]
    beside = ["chrt", "--idle", "0"] if real_time and rest and shutil.which("chrt") else []
    outcomes: dict[str, Outcome] = {}
    interrupted = False
    start_s = time.monotonic()
    timeout_s = GROUP_TIMEOUT_S[arguments.target]
    waiting = threading.Thread(target=run_groups, args=(real_time, out, timeout_s, [], outcomes), daemon=True)
    waiting.start()
    try:
        run_groups(rest, out, timeout_s, beside, outcomes)
        waiting.join()
    except KeyboardInterrupt:
        print("interrupted")
        interrupted = True
        for process in tuple(running):
            end(process)

    passed = sum(outcome.passed for outcome in outcomes.values())
    failed = sum(outcome.failed for outcome in outcomes.values())
    result = {
        "passed": passed,
        "failed": failed,
        "skipped": sum(outcome.skipped for outcome in outcomes.values()),
        "seconds": round(time.monotonic() - start_s, 1),
        "interrupted": interrupted,
        "groups": {
            name: {key: getattr(outcome, key) for key in ("passed", "failed", "skipped")}
            | {"seconds": round(outcome.seconds, 1)}
            for name, outcome in outcomes.items()
        },
    }
    (out / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"{passed} passed, {failed} failed")
    print("RESULT " + json.dumps(result))
    if interrupted:
        return 130
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
