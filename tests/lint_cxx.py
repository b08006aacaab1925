# SPDX-License-Identifier: GPL-2.0-or-later
"""clang-tidy over the C++ of host/core, sim/air and sim/run, for `make lint-tidy`: prints findings, exits 1 on any.

Files of one folder that are compiled with the same flags are checked as one translation unit. Most of clang-tidy's time
goes into the headers of the standard library and of the Verilated model; so it reads them once a folder. A file that
takes the names of a whole namespace is checked alone, since they would hide names of the others.
"""

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("host/core", "sim/air", "sim/run")
OURS = f"({'|'.join(FOLDERS)})/.*\\.(hpp|cpp)$"
WITH_ARGUMENT = {"-o", "-c", "-MF", "-MT"}


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


def check(unit: Path, directory: Path, options: tuple[str, ...]) -> str:
    """Findings in one translation unit; empty where it is clean."""
    command = ["clang-tidy", "--quiet", f"--config-file={ROOT / '.clang-tidy'}", f"--header-filter={OURS}"]
    # The unit itself includes sources, which is what this check warns of.
    command += ["--checks=-bugprone-suspicious-include", str(unit), "--", *options]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


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
    out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        running = []
        # The largest first, so that no processor waits for the last one.
        ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
        for number, ((_, directory, with_flags), names) in enumerate(ordered):
            # By this name the analyzer knows that what is included are sources; of headers it analyses nothing.
            unit = out / f"UnifiedSource-{number}.cpp"
            unit.write_text("".join(f'#include "{ROOT / name}"\n' for name in names))
            running.append(pool.submit(check, unit, directory, with_flags))
        findings = [text for each in running if (text := each.result())]
    print("\n".join(findings), end="")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
