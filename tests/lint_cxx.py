# SPDX-License-Identifier: GPL-2.0-or-later
"""clang-tidy over the C++ of host/core, sim/air and sim/run, for `make lint-tidy`: prints findings, exits 1 on any.

Files of one folder that are compiled with the same flags are checked as one translation unit. Most of clang-tidy's time
goes into the headers of the standard library and of the Verilated model; so it reads them once a unit. Folders with
many lines are several units, so that all processors have work until the end. A file that takes the names of a whole
namespace is checked alone, since they would hide names of the others.

A unit that was clean is not checked again while nothing changes of which the verdict is made: clang-tidy itself, its
configuration and options, and name and bytes of every file that the preprocessor reads (a comment may be a NOLINT).
Findings are not kept.
"""

import argparse
import functools
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("host/core", "sim/air", "sim/run")
OURS = f"({'|'.join(FOLDERS)})/.*\\.(hpp|cpp)$"
WITH_ARGUMENT = {"-o", "-c", "-MF", "-MT"}
MOST_LINES = 900  # of a unit with several files
TWICE = re.compile(r"^(\S+?):\d+:\d+: error: redefinition of ('.+?').*?^(\S+?):\d+:\d+: note: previous", re.M | re.S)


def flags(command: str) -> tuple[str, ...]:
    """What of a compiler's command line a checker needs: neither files, nor what only code generation uses."""
    kept: list[str] = []
    words = iter(shlex.split(command)[1:])
    for word in words:
        if word in WITH_ARGUMENT:
            next(words)
        elif word != "-MD" and not word.startswith("-march="):
            kept.append(word)
    return tuple(kept)


def units(build: Path, files: Iterable[str]) -> dict[tuple[str, Path, tuple[str, ...]], list[str]]:
    """Files to check together: by folder (or file), directory of compilation and flags. Raises KeyError for a file that
    the build does not know."""
    commands = {entry["file"]: entry for entry in json.loads((build / "compile_commands.json").read_text())}
    found: dict[tuple[str, Path, tuple[str, ...]], list[str]] = {}
    for name in files:
        entry = commands[str(ROOT / name)]
        alone = "\nusing namespace" in (ROOT / name).read_text()
        key = (name if alone else str(Path(name).parent), Path(entry["directory"]), flags(entry["command"]))
        found.setdefault(key, []).append(name)
    return found


def parts(files: list[str]) -> Iterable[list[str]]:
    """The files of a unit, in units of at most MOST_LINES lines where they have several."""
    part: list[str] = []
    lines = 0
    for name in files:
        more = (ROOT / name).read_text().count("\n")
        if part and lines + more > MOST_LINES:
            yield part
            part, lines = [], 0
        part.append(name)
        lines += more
    yield part


@functools.cache
def clang_tidy() -> tuple[Path, bytes]:
    """The program, and what it is: its own bytes, and its version, which is also that of its libraries."""
    found = shutil.which("clang-tidy")
    if found is None:
        sys.exit("lint_cxx: there is no clang-tidy: run make setup")
    program = Path(found).resolve()
    return program, program.read_bytes() + subprocess.run(
        [program, "--version"], capture_output=True, check=True
    ).stdout


def key(unit: Path, directory: Path, options: tuple[str, ...], command: list[str], config: Path) -> str | None:
    """Of all that the verdict on a unit depends on; None where the preprocessor does not say."""
    program, tool = clang_tidy()
    # As clang-tidy's own preprocessor reads it. Files whose existence is asked for are listed, too.
    words = [program.parent / "clang++", "-w", "-D__clang_analyzer__", *options, "-M", unit]
    try:
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    names = shlex.split(done.stdout.replace("\\\n", " ").partition(":")[2])
    digest = hashlib.sha256()
    inputs = [tool, json.dumps([str(directory), *command, *names]).encode(), config.read_bytes()]
    for content in (*inputs, *((directory / name).read_bytes() for name in names)):
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()


def findings_of(command: list[str], directory: Path) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def check(unit: Path, directory: Path, options: tuple[str, ...], config: Path, clean: Path) -> str:
    """Findings in one translation unit; empty where it is clean. The folder `clean` keeps such verdicts."""
    command = [str(clang_tidy()[0]), "--quiet", f"--config-file={config}", f"--header-filter={OURS}"]
    # The unit itself includes sources, which is what this check warns of.
    command += ["--checks=-bugprone-suspicious-include", str(unit), "--", *options]
    before = key(unit, directory, options, command, config)
    if before is not None and (clean / before).exists():
        return ""
    findings = findings_of(command, directory)
    # Nor if somebody wrote a file meanwhile.
    if not findings and before is not None and key(unit, directory, options, command, config) == before:
        (clean / before).touch()
    for second, name, first in sorted(set(TWICE.findall(findings))):
        findings += f"lint_cxx: {first} and {second}, which are checked as one unit, both define {name}: make it one\n"
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "out/build", help="folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()

    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *(f"{folder}/*.cpp" for folder in FOLDERS)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    sources = [name for name in listed if (ROOT / name).exists()]
    try:
        groups = units(options.build, sources)
    except KeyError as missing:
        sys.exit(f"lint_cxx: {missing} is in no target of {options.build}: name it in a CMakeLists.txt, or delete it")

    out = ROOT / "out/lint-tidy"
    clean = out / "clean"
    clean.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        running = []
        # The largest first, so that no processor waits for the last one.
        split = [(where, part) for where, names in groups.items() for part in parts(names)]
        for (_, directory, with_flags), names in sorted(split, key=lambda item: -len(item[1])):
            text = "".join(f'#include "{ROOT / name}"\n' for name in names)
            # By this name the analyzer knows that what is included are sources; of headers it analyses nothing.
            unit = out / f"UnifiedSource-{hashlib.sha256((text + str(with_flags)).encode()).hexdigest()[:12]}.cpp"
            unit.write_text(text)
            running.append(pool.submit(check, unit, directory, with_flags, ROOT / ".clang-tidy", clean))
        findings = [text for each in running if (text := each.result())]
    print("\n".join(findings), end="")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
