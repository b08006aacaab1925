# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the repository, its build and its programs are."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from perhop import __version__
from perhop.errors import PerhopError

# Program -> its place below the build folder.
PROGRAMS = {
    "perhop-air": "sim/run/perhop-air",
    "perhop-sim": "sim/ns3/perhop-sim",
    "perhop-kernel": "sim/kernel/perhop-kernel",
    "perhop-exact": "sim/exact/perhop-exact",
    "perhop-live-air": "sim/live/perhop-live-air",
    "perhop-node": "host/node/perhop-node",
}

# Compiled parts of this package -> what builds them.
BINDINGS = {
    "core": "run `make bindings`",
    "modem": "run `make bindings`",
    "station": "run `make flowgraphs`",
}


def repository() -> Path:
    """The checkout this package runs from (it is installed editable), or else the working directory."""
    for folder in (Path(__file__).resolve().parents[3], *Path.cwd().resolve().parents, Path.cwd().resolve()):
        if (folder / "gateware" / "spec").is_dir():
            return folder
    return Path.cwd()


def build() -> Path:
    """The build folder: PERHOP_BUILD, or out/build of the repository."""
    override = os.environ.get("PERHOP_BUILD")
    return Path(override).resolve() if override else repository() / "out" / "build"


def output() -> Path:
    """Where commands leave results unless told: `out` of the folder in which they are called."""
    return Path.cwd() / "out"


def program(name: str) -> Path:
    """The executable called `name`. Raises PerhopError when it has not been built."""
    folder = build()
    for candidate in (folder / PROGRAMS[name], folder / name, folder / "bin" / name):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    raise PerhopError(f"{name} is not built (looked in {shown(folder)})", "run `make build`, or set PERHOP_BUILD")


def shown(path: Path) -> str:
    """`path` as a person would write it: relative to the working directory if it lies below it."""
    try:
        return str(path.resolve().relative_to(Path.cwd().resolve())) or "."
    except ValueError:
        return str(path)


def version() -> dict[str, str | None]:
    """The version of the package and, in a git checkout, of the tree (`git describe --always --dirty`)."""
    described = None
    if shutil.which("git"):
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--tags"],
            cwd=repository(),
            capture_output=True,
            text=True,
            check=False,
        )
        described = done.stdout.strip() or None
    return {"perhop": __version__, "git": described}
