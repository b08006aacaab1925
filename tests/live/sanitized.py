# SPDX-License-Identifier: GPL-2.0-or-later
"""`make live-sanitized`: the live tests with a daemon that has address, undefined behaviour and leak sanitizers.

PERHOP_BUILD names the folder whose programs `perhop live` starts; here it holds links: to the sanitized perhop-node of
out/sanitized (the build of tests/fuzz), and to the other programs as they are. Whatever a sanitizer says goes to a file
of its own, so a daemon that dies and is started again by its supervisor does not hide it. Any such file fails the run.

Tests that measure a daemon's memory (mark `resident_memory`) are left out: AddressSanitizer keeps what is freed, to see
whether anybody uses it. What is lost LeakSanitizer tells when a daemon ends; it works without capabilities, too. So is
the test that wants a DLEP router of others (mark `other_router`). Any other test that is skipped fails the run.

Before the tests the daemon is built with faults, one that reads beyond its memory and one that forgets some, and a
network of it is started and ended: both must be seen.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/fuzz"))

import fuzz  # noqa: E402
from perhop import paths  # noqa: E402
from perhop.report.result_line import print_result  # noqa: E402

OUT = ROOT / "out/live-sanitized"
DAEMON = "host_node/perhop-node"
PROGRAM = "import sys; from perhop.cli import main; sys.argv[0] = 'perhop'; main()"
ONE_HOP = ["sim/experiments/chain", "--set", "topology.hops=1"]
MARKS = "not long and not resident_memory and not other_router"
FAULT_AT = "  const path_counters& c = path.counters();\n"


@dataclass(frozen=True)
class Planted:
    """A line that is put into the answer to `status`, which every network asks for, and what is said of it."""

    name: str
    line: str
    said: str


PLANTED = (
    Planted(
        "a read beyond its memory",
        "  static const char* volatile few = new char[8]{};\n  if (few[8 + (now & 1)] != 0) return {};\n",
        "AddressSanitizer: heap-buffer-overflow",
    ),
    Planted(
        "memory that nobody has",
        "  static void* volatile kept;\n  kept = ::operator new(24);\n  kept = nullptr;\n",
        "LeakSanitizer: detected memory leaks",
    ),
)


def programs(daemon: Path, folder: Path) -> Path:
    """A folder for PERHOP_BUILD: this daemon, and the other programs of the ordinary build."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in paths.PROGRAMS:
        (folder / name).symlink_to(daemon if name == "perhop-node" else paths.program(name))
    return folder


def environment(folder: Path, reports: Path) -> dict[str, str]:
    """Of everything that starts daemons: `folder` is PERHOP_BUILD, and what sanitizers say goes to `reports`."""
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    said = f"log_path={reports}/report:log_exe_name=1"
    return {
        **os.environ,
        "PERHOP_BUILD": str(folder),
        "ASAN_OPTIONS": f"{said}:detect_leaks=1:malloc_context_size=12",
        "UBSAN_OPTIONS": f"{said}:print_stacktrace=1:halt_on_error=1",
    }


def read_reports(reports: Path) -> list[str]:
    """What the sanitizers have said, a text a process."""
    return [path.read_text(errors="replace") for path in sorted(reports.iterdir())]


def first_line(report: str) -> str:
    """What a report is about."""
    found = re.search(r"runtime error: .*|(ERROR: )?\w+Sanitizer: .*|\w+Sanitizer.*", report)
    return found.group() if found else report.strip().splitlines()[0] if report.strip() else "an empty report"


def find_planted(planted: Planted, jobs: int) -> str:
    """Builds the daemon with a fault, and starts and ends a network of it. Returns what the sanitizers said."""
    copy = OUT / "planted/sources"
    fuzz.copy_sources(copy)
    faulty = copy / "host/node/control.cpp"
    text = faulty.read_text()
    if FAULT_AT not in text:
        raise RuntimeError(f"a fault cannot be planted: host/node/control.cpp no longer has: {FAULT_AT}")
    faulty.write_text(text.replace(FAULT_AT, FAULT_AT + planted.line, 1))
    built = OUT / "planted/build"
    fuzz.build(built, copy, ["perhop-node"], jobs)
    reports = OUT / "planted/reports"
    named = environment(programs(built / DAEMON, OUT / "planted/programs"), reports)
    with tempfile.TemporaryDirectory(prefix="ph") as state:
        named["PERHOP_LIVE_STATE"] = state
        name = f"p{os.getpid()}"
        for words in (["up", *ONE_HOP, "--name", name], ["down", name]):
            # A daemon that dies at the first question keeps the network from coming up: only the report counts.
            subprocess.run(
                [sys.executable, "-c", PROGRAM, "live", *words], env=named, cwd=ROOT, capture_output=True, timeout=120
            )
    return "\n".join(read_reports(reports))


def run_tests(words: list[str], named: dict[str, str]) -> dict[str, list[str]]:
    """Runs the live tests. Returns their names by what came of them."""
    junit = OUT / "live.xml"
    junit.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-m", MARKS, f"--junitxml={junit}", *words]
    status = subprocess.run(command, cwd=ROOT, env=named).returncode
    outcomes: dict[str, list[str]] = {"passed": [], "failed": [], "skipped": []}
    if junit.exists():
        for case in ET.parse(junit).getroot().iter("testcase"):
            bad = case.find("failure") is not None or case.find("error") is not None
            what = "failed" if bad else "skipped" if case.find("skipped") is not None else "passed"
            outcomes[what].append(f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}")
    if status not in (0, 1) or (status == 1 and not outcomes["failed"]):
        outcomes["failed"].append(f"the run itself: exit status {status}")
    return outcomes


def main() -> int:
    """Returns 0 when all tests passed, no sanitizer said anything, and what was planted was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="of the build")
    parser.add_argument("--without-planted", action="store_true", help="only the tests")
    parser.add_argument("--only-planted", action="store_true", help="no tests")
    parser.add_argument(
        "tests", nargs="*", default=["tests/live"], help="as pytest takes them; default: all of tests/live"
    )
    arguments, more = parser.parse_known_args()
    start_s = time.monotonic()
    planted: dict[str, str | None] = {}
    outcomes: dict[str, list[str]] = {"passed": [], "failed": [], "skipped": []}
    found: list[str] = []
    try:
        fuzz.build(fuzz.BUILD, ROOT, ["perhop-node"], arguments.jobs)
        for fault in () if arguments.without_planted else PLANTED:
            said = find_planted(fault, arguments.jobs)
            seen = re.search(fault.said, said)
            planted[fault.name] = seen.group() if seen else None
            print(f"planted: {fault.name}: {planted[fault.name] or f'NOT SEEN: {first_line(said)}'}", flush=True)
        if not arguments.only_planted:
            named = environment(programs(fuzz.BUILD / DAEMON, OUT / "programs"), OUT / "reports")
            outcomes = run_tests([*arguments.tests, *more], named)
            found = [first_line(report) for report in read_reports(OUT / "reports")]
    except (RuntimeError, paths.PerhopError) as error:
        print(f"live-sanitized: {error}", file=sys.stderr)
        return 2
    for line in sorted(set(found)):
        print(f"live-sanitized: {line} (out/live-sanitized/reports)", flush=True)
    value = {
        "target": "live-sanitized",
        "sanitizers": ["address", "undefined", "leak"],
        "tests": MARKS,
        "passed": len(outcomes["passed"]),
        "failed": outcomes["failed"],
        "skipped": outcomes["skipped"],
        "reports": sorted(set(found)),
        "planted_faults": planted,
        "seconds": round(time.monotonic() - start_s, 1),
    }
    print_result("live-sanitized", value)
    tested = arguments.only_planted or (outcomes["passed"] and not outcomes["failed"] and not outcomes["skipped"])
    return 0 if tested and not found and all(planted.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
