# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the sdist, and from it the wheel: dist/perhop-*.tar.gz, dist/perhop-*.whl.

The tools are those of .venv, and nothing is fetched. The wheel is made of what the sdist holds and of nothing else of
the checkout, so both are known to be complete.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
WORK = ROOT / "out" / "wheel"
DIST = ROOT / "dist"
# The C library of Debian 12: wheels are for it and for what is newer.
PLATFORM = "manylinux_2_36_x86_64"
BACKEND = "import json, sys, scikit_build_core.build as backend; "
SDIST = BACKEND + "print('FILE', backend.build_sdist(sys.argv[1]))"
WHEEL = BACKEND + "print('FILE', backend.build_wheel(sys.argv[1], json.loads(sys.argv[2])))"


def built_from() -> str:
    """The tree as git describes it; nothing where there is no git."""
    command = ["git", "describe", "--always", "--dirty", "--tags"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


def with_tools(**environment: str) -> dict[str, str]:
    """The variables of a program that finds the tools of .venv first."""
    return {**os.environ, "PATH": os.pathsep.join([str(VENV / "bin"), os.environ["PATH"]]), **environment}


def call(program: str, folder: Path, log: Path, *words: str, **environment: str) -> str:
    """Let the build backend make a file; its name."""
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=folder,
        env=with_tools(**environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    log.write_text(done.stdout, encoding="utf-8")
    if done.returncode != 0:
        raise SystemExit("\n".join([*done.stdout.splitlines()[-20:], f"the build failed; see {log}"]))
    return next(line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith("FILE "))


def build_sdist() -> Path:
    return DIST / call(SDIST, ROOT, WORK / "sdist.log", str(DIST))


def unpack(sdist: Path) -> Path:
    """The sdist's folder, always of the same name, for the compiler's cache."""
    shutil.unpack_archive(sdist, WORK)
    source = WORK / "source"
    (WORK / sdist.name.removesuffix(".tar.gz")).rename(source)
    return source


def build_wheel(source: Path, jobs: int) -> Path:
    """The wheel, judged and tagged by auditwheel."""
    raw, tagged = WORK / "raw", WORK / "tagged"
    for folder in (raw, tagged):
        shutil.rmtree(folder, ignore_errors=True)
    raw.mkdir()
    settings = {
        # Where a checkout has it, for the compiler's cache. By the dates in an sdist no older build could be continued.
        "build-dir": "out/build",
        "cmake.define.PERHOP_VENV": str(VENV),
        "cmake.define.PERHOP_BUILT_FROM": built_from(),
    }
    environment = {"CXX": "g++", "CCACHE_BASEDIR": str(source), "CMAKE_BUILD_PARALLEL_LEVEL": str(jobs)}
    name = call(WHEEL, source, WORK / "wheel.log", str(raw), json.dumps(settings), **environment)
    # Only what runs policies in Python calls it, and says what to install where it is not.
    libpython = f"libpython{sys.version_info.major}.{sys.version_info.minor}.so.1.0"
    repair = [
        str(VENV / "bin" / "auditwheel"),
        "repair",
        "--exclude",
        libpython,
        "--plat",
        PLATFORM,
        "--only-plat",
        "--wheel-dir",
        str(tagged),
        str(raw / name),
    ]
    done = subprocess.run(
        repair, env=with_tools(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"auditwheel refuses {raw / name}:\n{done.stdout}")
    (wheel,) = tagged.iterdir()
    return Path(shutil.copy2(wheel, DIST))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    for folder in (DIST, WORK / "source"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in (DIST, WORK):
        folder.mkdir(parents=True, exist_ok=True)
    sdist = build_sdist()
    source = unpack(sdist)
    for file in (sdist, build_wheel(source, arguments.jobs)):
        print(f"{file.relative_to(ROOT)}  {file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
