# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command tells without making a run: its version, the schema of experiment files, whether one can be run."""

from __future__ import annotations

import json
from typing import Any

import typer

from perhop import paths


def version_text(found: dict[str, str | None]) -> str:
    return f"perhop {found['perhop']}" + (f" ({found['git']})" if found["git"] else "")


def print_version(asked: bool) -> None:
    """Of `--version`."""
    if asked:
        print(version_text(paths.version()))
        raise typer.Exit


def print_schema(asked: bool) -> None:
    """Of `perhop run --schema`."""
    if asked:
        from perhop.experiment.json_schema import json_schema

        print(json.dumps(json_schema(), indent=1))
        raise typer.Exit


def print_checked(planned: Any, json_: bool) -> None:
    """What `perhop run --check` says of an experiment in which nothing is wrong."""
    from perhop.experiment.cautions import cautions

    warnings = list(dict.fromkeys(text for point in planned.points for text in cautions(point.experiment)))
    told = {
        "name": planned.name,
        "points": len(planned.points),
        "runs": len(planned.runs),
        "programs": sorted({run.program for run in planned.runs}),
        "out": paths.shown(planned.folder),
        "warnings": warnings,
    }
    if json_:
        print(json.dumps(told))
        return
    for text in warnings:
        print(f"warning: {text}")
    print(f"{told['name']}: nothing is wrong. {told['runs']} runs by {', '.join(told['programs'])}, into {told['out']}")
