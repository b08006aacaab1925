# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that runs a flowgraph: GNU Radio's Python, and flowgraphs/examples/run.py."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.errors import PerhopError

MODULES = ("modem", "station")


def command(
    flowgraph: str, settings: dict[str, Any], seconds: float, window: bool = False
) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment. Raises PerhopError where `make flowgraphs` has not been run."""
    paths.demand_checkout()
    root = paths.repository()
    python = root / ".venv-gnuradio" / "bin" / "python"
    if not os.access(python, os.X_OK):
        raise PerhopError(f"GNU Radio is not set up: there is no {paths.shown(python)}", "run `make flowgraphs`")
    package = root / "host" / "python" / "perhop"
    missing = [name for name in MODULES if not list(package.glob(f"{name}.*.so"))]
    if missing:
        raise PerhopError(f"perhop.{missing[0]} is not built", "run `make flowgraphs`")
    words = [f"{name}={value}" for name, value in settings.items()]
    compiled = root / "out" / "flowgraphs"
    line = [str(python), str(root / "flowgraphs/examples/run.py"), flowgraph, *words, "--compiled", str(compiled)]
    line += ["--seconds", str(seconds), "--status", *(["--window"] if window else [])]
    # What is there already may lead to modules outside of GNU Radio's own folders, such as gr-ieee802-11's.
    folders = [str(root / "host" / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    return line, environment


def make_folder(folder: Path) -> None:
    """Raises PerhopError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PerhopError(f"{folder} cannot be made: {error.strerror}", "choose another folder with --out") from None
