# SPDX-License-Identifier: GPL-2.0-or-later
"""Plants the defects of tests/mutations.py, one at a time, in a copy of this tree; each must fail a test.

Prints each mutation with the test that caught it. Writes out/mutate/result.json. Exit status 1 when a mutation
survives, 2 when one cannot be judged: its original text is not there any more, or what it makes does not build.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutations import DEFECTS, MUTATIONS, Edit, Mutation
from perhop.report.result_line import print_result
from rich.console import Console
from rich.markup import escape

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out" / "mutate"
TIMEOUT_S = 3600  # of a mutation that stops the simulation; a busy machine must not look like one


class CannotJudge(Exception):
    """A mutation that no longer can be planted, or one that keeps tests from running; the message says which."""


@dataclass(frozen=True)
class Verdict:
    """The test that caught a mutation; None: it survived."""

    test: str | None
    seconds: float


def edited(edit: Edit, text: str) -> str:
    """The text of a file with an edit made.

    Raises:
        CannotJudge: its original text is not there, or not once.
    """
    found = text.count(edit.original)
    if found != 1:
        raise CannotJudge(f"{edit.file} holds {edit.original!r} {found} times and not once")
    return text.replace(edit.original, edit.replacement)


def mutated_files(mutation: Mutation) -> dict[str, str]:
    """The files that a mutation changes, as they become."""
    texts: dict[str, str] = {}
    for edit in mutation.edits:
        path = ROOT / edit.file
        if not path.is_file():
            raise CannotJudge(f"{mutation.name}: there is no {edit.file}")
        try:
            texts[edit.file] = edited(edit, texts.get(edit.file, path.read_text()))
        except CannotJudge as error:
            raise CannotJudge(f"{mutation.name}: {error}") from None
    return texts


def plant(mutation: Mutation, tree: Path) -> None:
    """Makes a copy of this tree with the mutation in it; files that stay as they are share their storage."""
    shutil.rmtree(tree, ignore_errors=True)
    texts = mutated_files(mutation)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        source, target = ROOT / name, tree / name
        if not name or not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        # What a generator may write again must not be shared.
        if mutation.generate:
            shutil.copy2(source, target)
        elif name not in texts:
            os.link(source, target)
    for name, text in texts.items():
        (tree / name).unlink(missing_ok=True)
        (tree / name).write_text(text)
    if mutation.generate:
        done = subprocess.run(
            [sys.executable, "gateware/spec/generate.py"],
            cwd=tree,
            capture_output=True,
            text=True,
            env=environment(tree),
        )
        if done.returncode:
            raise CannotJudge(f"{mutation.name}: the generator refuses it: {done.stderr.strip()}")


def environment(tree: Path) -> dict[str, str]:
    """The tests of a copy see its own Python and build into it."""
    changes = {
        "PYTHONPATH": str(tree / "host" / "python"),
        "PERHOP_TEST_OUT": str(tree / "out" / "gateware-tests"),
        "CCACHE_BASEDIR": str(tree),
    }
    return {
        name: value for name, value in os.environ.items() if name not in ("PERHOP_COVERAGE", "PERHOP_RTL")
    } | changes


def caught_by(mutation: Mutation, junit: Path, status: int, log: str) -> str | None:
    """The first test that failed; None if all passed.

    Raises:
        CannotJudge: no test ran, or what failed is not about the mutation.
    """
    if status not in (0, 1) or not junit.is_file():
        raise CannotJudge(f"{mutation.name}: pytest ended with {status}:\n{log[-2000:]}")
    cases = list(ET.parse(junit).getroot().iter("testcase"))
    for case in cases:
        failure = case.find("failure")
        if case.find("error") is not None or (failure is not None and "BuildError" in (failure.text or "")):
            raise CannotJudge(f"{mutation.name}: {case.get('name')} did not get as far as a verdict:\n{log[-2000:]}")
        if failure is not None:
            return f"{case.get('classname', '').removeprefix('tests.')}.{case.get('name')}"
    if not cases:
        raise CannotJudge(f"{mutation.name}: no test is called {' '.join(mutation.tests)}")
    return None


def judge(mutation: Mutation) -> Verdict | CannotJudge:
    """Plants a mutation and runs its tests up to the first that fails."""
    start_s = time.monotonic()
    tree = OUT / mutation.name
    junit, log = OUT / f"{mutation.name}.xml", OUT / f"{mutation.name}.log"
    junit.unlink(missing_ok=True)
    try:
        plant(mutation, tree)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutation.tests]
        with log.open("w") as sink:
            status = subprocess.run(
                [*command, f"--junitxml={junit}"],
                cwd=tree,
                env=environment(tree),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                timeout=TIMEOUT_S,
            ).returncode
        test = caught_by(mutation, junit, status, log.read_text(errors="replace"))
    except CannotJudge as error:
        return error
    except subprocess.TimeoutExpired:
        return CannotJudge(f"{mutation.name}: no verdict within {TIMEOUT_S} s")
    if test:
        shutil.rmtree(tree, ignore_errors=True)
    return Verdict(test, time.monotonic() - start_s)


def main() -> int:
    """Returns the exit status that the module's text promises."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("mutation", nargs="*", help="only these")
    arguments = parser.parse_args()
    unknown = set(arguments.mutation) - {mutation.name for mutation in MUTATIONS}
    if unknown:
        parser.error(f"no such mutation: {' '.join(sorted(unknown))}")
    chosen = [mutation for mutation in MUTATIONS if not arguments.mutation or mutation.name in arguments.mutation]
    OUT.mkdir(parents=True, exist_ok=True)
    console = Console(width=160, highlight=False)
    verdicts: dict[str, str | None] = {}
    troubles: list[str] = []
    start_s = time.monotonic()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for mutation, verdict in zip(chosen, pool.map(judge, chosen), strict=True):
            console.print(f"defect {mutation.defect:2}  {mutation.name}: {mutation.about}")
            if isinstance(verdict, CannotJudge):
                troubles.append(str(verdict))
                console.print(f"           [red]CANNOT BE JUDGED[/red] {escape(str(verdict))}")
                continue
            verdicts[mutation.name] = verdict.test
            word = (
                f"caught by {escape(verdict.test)}"
                if verdict.test
                else "[red]SURVIVED[/red] " + " ".join(mutation.tests)
            )
            console.print(f"           {word}  ({verdict.seconds:.0f} s)")
    survivors = [name for name, test in verdicts.items() if test is None]
    without = sorted(set(DEFECTS) - {mutation.defect for mutation in chosen}) if not arguments.mutation else []
    for defect in without:
        console.print(f"defect {defect:2}  [red]no mutation[/red]: {DEFECTS[defect]}")
    print_result(
        "mutate",
        {
            "mutations": verdicts,
            "defects_without_mutation": without,
            "survived": survivors,
            "not_judged": troubles,
            "seconds": round(time.monotonic() - start_s, 1),
        },
    )
    return 2 if troubles else 1 if survivors or without else 0


if __name__ == "__main__":
    sys.exit(main())
