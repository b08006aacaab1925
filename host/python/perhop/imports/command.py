# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop import`: parse, call the library and print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from perhop import files, paths
from perhop.errors import PerhopError
from perhop.terminal import fail


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            readable=False,
            help="A trace of ns-2 (setdest), BonnMotion, SUMO (--fcd-output) or EMANE (EEL), or a scenario of CORE.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The experiment file; default: ./NAME.yaml. It names the trace.")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="setdest, bonnmotion, sumo, eel or core; default: by what the file holds."),
    ] = None,
    network: Annotated[
        str | None, typer.Option("--network", help="Of CORE's wireless networks the one whose nodes are meant.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an experiment file that is there.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make an experiment of another tool's file, and say what of it is not carried."""
    from perhop.imports.experiment import make

    try:
        target = out or Path(f"{file.name.split('.')[0] or 'imported'}.yaml")
        if target.exists() and target.is_file() and not force:
            raise PerhopError(f"{target} is there already", "give --out FILE, or --force to replace it")
        made = make(file, target.parent, format_, network)
        files.write_text(target, made.text)
    except PerhopError as error:
        fail(error, json_)
    if json_:
        told = {"file": str(target), "format": made.kind, "nodes": made.nodes, "not_carried": list(made.left_out)}
        print(json.dumps(told))
        return
    print(f"{paths.shown(target)}: {made.nodes} nodes, from {made.kind}")
    for each in made.left_out:
        print(f"not carried: {each}")
