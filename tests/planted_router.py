# SPDX-License-Identifier: GPL-2.0-or-later
"""Routers of host/core built with a fault, together with their tests over hand-made topologies."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What has no fault is the same in each process that runs tests, and in the next run.
COMPILE = (*(("ccache",) if shutil.which("ccache") else ()), "g++", "-std=c++20", "-O0", "-w", "-c")


def compiled(folder: Path, source: Path, *include: Path) -> Path:
    """The object file of a C++ source, made in `folder`; headers are looked for in `include` first."""
    made = folder / f"{source.stem}.o"
    where = [f"-I{path}" for path in (*include, ROOT)]
    subprocess.run([*COMPILE, *where, source, "-o", made], check=True)
    return made


def planted(folder: Path, right: dict[str, Path], source: Path, as_is: str, wrong: str) -> list[Path]:
    """The object files, those of `source` made of a copy with the fault."""
    text = source.read_text()
    assert text.count(as_is) == 1, f"{source.name} no longer has what the fault changes"
    copy = folder / source.name
    copy.write_text(text.replace(as_is, wrong))
    return list({**right, source.name: compiled(folder, copy)}.values())


def failures(folder: Path, objects: list[Path]) -> str:
    """What the tests say that fail, without those over random networks; empty: none does."""
    subprocess.run(["g++", *objects, "-lgtest", "-lgtest_main", "-o", folder / "tests"], check=True)
    ran = subprocess.run(
        [folder / "tests", "--gtest_filter=-*Properties.*"], capture_output=True, text=True, timeout=60, check=False
    )
    return ran.stdout if ran.returncode else ""
