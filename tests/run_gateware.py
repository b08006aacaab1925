# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs every test of the gateware with counters in the RTL and reports what they covered: `make test-gateware`.

Three figures: lines (and branches) of gateware/rtl that were executed, bits that went up and down, and the bins of the
frame exchange (cocotbext/perhop/exchange_bins.py): every step, with everything that can interrupt it, and every way it
can end. The register block that PeakRDL-regblock writes is counted apart: its code is not ours.

Writes out/test-gateware/report.md and result.json. Exit status 1 when a test fails, fewer than 98 % of the lines were
executed, or a reachable bin of the exchange was missed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cocotbext.perhop.exchange_bins import GROUPS, SHOWN_BY, Group
from perhop.report.result_line import print_result
from rich.console import Console
from rich.table import Table
from testbench.line_coverage import FileCoverage, by_file, ranges_of, read_counts

ROOT = Path(__file__).resolve().parent.parent
RTL = ROOT / "gateware" / "rtl"
OUT = ROOT / "out" / "test-gateware"
GENERATED = "common/registers/"
LEAST_LINES_PERCENT = 98.0
TIMEOUT_S = 3600


@dataclass
class Tests:
    """Counts of pytest cases."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


def percent(met: int, of: int) -> float:
    """Rounded down: 99.99 % of something is not all of it."""
    return 100.0 if met == of else int(10000 * met / of) / 100


def share(points: Sequence[bool]) -> tuple[int, int]:
    return sum(points), len(points)


def run_tests(selection: Sequence[str], jobs: int) -> Tests:
    """Runs pytest over the gateware's tests; the counters lie in out/test-gateware/coverage then."""
    counters = OUT / "coverage"
    shutil.rmtree(counters, ignore_errors=True)
    counters.mkdir(parents=True)
    junit = OUT / "gateware.xml"
    junit.unlink(missing_ok=True)
    environment = os.environ | {"PERHOP_COVERAGE": str(counters), "PERHOP_TEST_OUT": str(OUT / "build")}
    command = [sys.executable, "-m", "pytest", "-q", "tests/gateware", "-n", str(jobs), f"--junitxml={junit}"]
    if selection:
        command += ["-k", " or ".join(selection)]
    status = subprocess.run(command, cwd=ROOT, env=environment, timeout=TIMEOUT_S).returncode
    tests = Tests()
    if junit.is_file():
        for case in ET.parse(junit).getroot().iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                tests.failed += 1
            elif case.find("skipped") is not None:
                tests.skipped += 1
            else:
                tests.passed += 1
    if status and not tests.failed:
        tests.failed = 1
    return tests


def exchange_hits() -> Counter[str]:
    """What the simulations wrote about the exchange, added up."""
    hits: Counter[str] = Counter()
    for path in (OUT / "coverage").glob("*.json"):
        hits.update(json.loads(path.read_text()))
    return hits


def modules_without_points(files: dict[str, FileCoverage]) -> list[str]:
    """Files of the RTL that no simulation contained. A package of constants and types has nothing to count."""
    every = {str(path.relative_to(RTL)) for path in RTL.rglob("*.sv") if not path.stem.endswith("_pkg")}
    return sorted(every - set(files))


def line_table(files: dict[str, FileCoverage]) -> list[tuple[str, ...]]:
    """A row a file: lines, branches and bits met and all."""
    rows = []
    for name, coverage in sorted(files.items()):
        row = [name]
        for points in (coverage.lines, coverage.branches, coverage.bits):
            met, of = share(list(points.values()))
            row += [f"{met}/{of}", f"{percent(met, of):.1f}" if of else "-"]
        rows.append(tuple(row))
    return rows


def totals(files: dict[str, FileCoverage]) -> dict[str, tuple[int, int]]:
    """Met and all, of lines, branches and bits together."""
    found = {}
    for kind in ("lines", "branches", "bits"):
        found[kind] = share([met for coverage in files.values() for met in getattr(coverage, kind).values()])
    return found


def group_table(hits: Counter[str]) -> list[tuple[Group, int, int, list[str]]]:
    """Of each group of bins: met, reachable, and the reachable ones that were missed."""
    rows = []
    for group in GROUPS:
        reachable = group.reachable()
        missed = [name for name in reachable if not hits[name]]
        rows.append((group, len(reachable) - len(missed), len(reachable), missed))
    return rows


def source_line(name: str, line: int) -> str:
    return (RTL / name).read_text().splitlines()[line - 1].strip()


def write_report(
    tests: Tests, ours: dict[str, FileCoverage], generated: dict[str, FileCoverage], hits: Counter[str], seconds: float
) -> Path:
    """The whole of it as Markdown."""
    lines = ["# Tests of the gateware: what they covered", ""]
    lines += [f"`make test-gateware`: {tests.passed} passed, {tests.failed} failed, {seconds:.0f} s.", ""]
    for title, files in (("RTL written by hand", ours), ("Generated register block", generated)):
        lines += [f"## {title}", "", "| file | lines | % | branches | % | bits up and down | % |"]
        lines += ["|---|--:|--:|--:|--:|--:|--:|"]
        rows = line_table(files)
        summed = totals(files)
        last = ["all"]
        for kind in ("lines", "branches", "bits"):
            met, of = summed[kind]
            last += [f"{met}/{of}", f"{percent(met, of):.1f}" if of else "-"]
        lines += ["| " + " | ".join(row) + " |" for row in [*rows, tuple(last)]] + [""]
    lines += ["A line counts when every statement and every arm of a condition on it was executed.", ""]
    lines += ["### Lines that no test executed", ""]
    for name, coverage in sorted(ours.items()):
        lines += [f"- `{name}:{line}` `{source_line(name, line)}`" for line in coverage.missed_lines()]
    lines += ["", "### Arms of conditions that no test took", ""]
    for name, coverage in sorted(ours.items()):
        lines += [f"- `{name}:{line}` column {column}, {what}" for line, column, what in coverage.missed_branches()]
    lines += ["", "### Bits that never went up and down", ""]
    for name, coverage in sorted(ours.items()):
        still = ranges_of(point for point, met in coverage.bits.items() if not met)
        if still:
            lines += [f"- `{name}`: {'; '.join(still)}"]
    lines += ["", "## The frame exchange", ""]
    for group, met, of, missed in group_table(hits):
        lines += [f"### {group.name}: {met} of {of} reachable bins", "", group.about, ""]
        lines += ["| bin | times |", "|---|--:|"]
        lines += [f"| {name} | {hits[name]} |" for name in group.reachable()] + [""]
        if missed:
            lines += ["Missed: " + "; ".join(missed), ""]
        if group.unreachable():
            lines += ["Not reachable:", ""]
            by_reason: dict[str, list[str]] = {}
            for name, reason in group.unreachable().items():
                by_reason.setdefault(reason, []).append(name)
            lines += [
                f"- {reason} ({'; '.join(SHOWN_BY[reason])}): {len(names)} bins, {'; '.join(names)}"
                for reason, names in by_reason.items()
            ]
            lines += [""]
        surprises = [name for name in group.unreachable() if hits[name]]
        if surprises:
            lines += ["Said to be unreachable, and reached: " + "; ".join(surprises), ""]
    path = OUT / "report.md"
    path.write_text("\n".join(lines) + "\n")
    return path


def main() -> int:
    """Returns the exit status that the module's text promises."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report-only", action="store_true", help="read the counters of the last run again")
    parser.add_argument("selection", nargs="*", help="only tests whose names contain one of these words")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    start_s = time.monotonic()
    tests = Tests() if arguments.report_only else run_tests(arguments.selection, arguments.jobs)
    seconds = time.monotonic() - start_s
    files = by_file(read_counts((OUT / "coverage").glob("*.dat")), RTL)
    ours = {name: coverage for name, coverage in files.items() if not name.startswith(GENERATED)}
    generated = {name: coverage for name, coverage in files.items() if name.startswith(GENERATED)}
    absent = modules_without_points(files)
    hits = exchange_hits()
    report = write_report(tests, ours, generated, hits, seconds)

    console = Console()
    table = Table("file", "lines", "%", "branches", "%", "bits", "%", title="gateware/rtl")
    for row in line_table(ours):
        table.add_row(*row)
    console.print(table)
    bins = Table("frame exchange", "bins met", "reachable", "unreachable")
    surprises = []
    for group, met, of, _ in group_table(hits):
        bins.add_row(group.name, str(met), str(of), str(len(group.unreachable())))
        surprises += [name for name in group.unreachable() if hits[name]]
    console.print(bins)
    summed = totals(ours)
    line_coverage = percent(*summed["lines"]) if summed["lines"][1] else 0.0
    all_bins = [(met, of) for _, met, of, _ in group_table(hits)]
    exchange_coverage = percent(sum(met for met, _ in all_bins), sum(of for _, of in all_bins))
    missed = [name for *_, names in group_table(hits) for name in names]
    for name in missed:
        console.print(f"missed: {name}", highlight=False)
    for name in surprises:
        console.print(f"said to be unreachable, and reached: {name}", highlight=False)
    for name in absent:
        console.print(f"in no simulation: {name}", highlight=False)
    console.print(f"report: {report.relative_to(ROOT)}", highlight=False)
    good = not tests.failed and line_coverage >= LEAST_LINES_PERCENT and not missed and not surprises and not absent
    print_result(
        "test-gateware",
        {
            "line_coverage": line_coverage,
            "branch_coverage": percent(*summed["branches"]) if summed["branches"][1] else 0.0,
            "toggle_coverage": percent(*summed["bits"]) if summed["bits"][1] else 0.0,
            "generated_line_coverage": percent(*totals(generated)["lines"]) if generated else 0.0,
            "exchange_coverage": exchange_coverage,
            "exchange_bins": sum(of for _, of in all_bins),
            "exchange_bins_unreachable": sum(len(group.unreachable()) for group in GROUPS),
            "exchange_bins_missed": missed,
            "tests": tests.passed,
            "failed": tests.failed,
            "seconds": round(seconds, 1),
            "report": str(report.relative_to(ROOT)),
        },
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
