# SPDX-License-Identifier: GPL-2.0-or-later
"""Where perhop's own files are: programs, experiments, specification. No other module knows.

A checkout, whose .venv is led to host/python, has its programs in out/build. An installed package (`make
wheel` makes one) has them below its own folder, in bin and lib, and in tree what it brings of the checkout's files.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from perhop import __version__
from perhop.errors import PerhopError

_PACKAGE = Path(__file__).resolve().parent

# Program -> its place below the build folder.
PROGRAMS = {
    "perhop-air": "sim/run/perhop-air",
    "perhop-sim": "sim/ns3/perhop-sim",
    "perhop-kernel": "sim/kernel/perhop-kernel",
    "perhop-exact": "sim/exact/perhop-exact",
    "perhop-live-air": "sim/live/perhop-live-air",
    "perhop-node": "host/node/perhop-node",
    "perhop-policy": "host/own/perhop-policy",
}

# Compiled parts of this package -> the make target that builds them in a checkout.
BINDINGS = {
    "core": "bindings",
    "modem": "bindings",
    "station": "flowgraphs",
}

EXPERIMENT_FILE = "experiment.yaml"

_CLONE = "clone perhop's repository, `make build` there, and use its .venv/bin/perhop"


def checkout() -> Path | None:
    """The checkout this package runs from; None where it is an installed one."""
    root = _PACKAGE.parents[2]
    return root if (root / "gateware" / "spec").is_dir() else None


def demand_checkout() -> Path:
    """The checkout this package runs from. Raises PerhopError where it is an installed one."""
    root = checkout()
    if root is None:
        raise PerhopError(f"this needs a checkout of perhop, and {_PACKAGE} is an installed package", _CLONE)
    return root


def repository() -> Path:
    """The tree: the checkout this package runs from, or what of it an installed package brings."""
    return checkout() or _PACKAGE / "tree"


def again(target: str) -> str:
    """A remedy for what is not there and should be: the make target of a checkout, or pip for an installed package."""
    if checkout():
        return f"run `make {target}`"
    # No wheel has what is built for GNU Radio's Python.
    return _CLONE if target == BINDINGS["station"] else "install perhop again: pip install --force-reinstall perhop"


def build() -> Path:
    """Where programs are: PERHOP_BUILD, out/build of the checkout, or bin of the installed package."""
    override = os.environ.get("PERHOP_BUILD")
    if override:
        return Path(override).resolve()
    root = checkout()
    return root / "out" / "build" if root else _PACKAGE / "bin"


def libraries() -> Path | None:
    """Where an installed package has the libraries of its programs; None in a checkout."""
    return None if checkout() else _PACKAGE / "lib"


def experiments() -> Path:
    """The experiments that perhop brings, a folder each, and rows.yaml."""
    return repository() / "sim" / "experiments"


def policy_headers() -> tuple[Path, Path]:
    """Where a policy of one's own finds perhop_policy.h, the interface, and perhop_policy.hpp, for C++."""
    return repository() / "host" / "core" / "policy" / "own", repository() / "host" / "own"


def specification() -> Path:
    """The folder of registers.rdl, protocol.yaml and frames.yaml, from which registers, constants and layouts come."""
    return repository() / "gateware" / "spec"


def experiment(target: Path) -> Path:
    """What `target` names: a file or a folder, or by its name alone an experiment that perhop brings."""
    brought = experiments() / target
    return brought if len(target.parts) == 1 and not target.exists() and brought.is_dir() else target


def experiment_file(target: Path) -> Path:
    """The file of what `target` names; whether it is there is told by whoever reads it."""
    found = experiment(target)
    return found / EXPERIMENT_FILE if found.is_dir() else found


def example() -> str:
    """An experiment file to start from, for a remedy."""
    return shown(experiments() / "chain" / EXPERIMENT_FILE)


def output() -> Path:
    """Where commands leave results unless told: `out` of the folder in which they are called."""
    return Path.cwd() / "out"


def program(name: str) -> Path:
    """The executable called `name`. Raises PerhopError when it is not there."""
    folder = build()
    for candidate in (folder / PROGRAMS[name], folder / name, folder / "bin" / name):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    raise PerhopError(f"{name} is not built (looked in {shown(folder)})", f"{again('build')}, or set PERHOP_BUILD")


def shown(path: Path) -> str:
    """`path` as a person would write it: relative to the working directory if it lies below it."""
    try:
        return str(path.resolve().relative_to(Path.cwd().resolve())) or "."
    except ValueError:
        return str(path)


def version() -> dict[str, str | None]:
    """The version of the package, and the tree's as git describes it: of the checkout, or of that of the wheel."""
    root = checkout()
    if root is None:
        return {"perhop": __version__, "git": _built_from()}
    described = None
    if shutil.which("git"):
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--tags"], cwd=root, capture_output=True, text=True, check=False
        )
        described = done.stdout.strip() or None
    return {"perhop": __version__, "git": described}


def _built_from() -> str | None:
    """What the build of an installed package noted; nothing where it was built without git."""
    try:
        return json.loads((_PACKAGE / "tree" / "built_from.json").read_text(encoding="utf-8"))["git"] or None
    except OSError:
        return None
