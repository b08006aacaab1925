# SPDX-License-Identifier: GPL-2.0-or-later
"""The formats of traces that can be read, by the word of topology.kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from perhop.mobility import bonnmotion, eel, setdest, sumo
from perhop.mobility.trace_file import Read

LOADERS: dict[str, Callable[[Path], Read]] = {
    "setdest": lambda file: Read(setdest.load(file), left_out=(setdest.LEFT_OUT,)),
    "bonnmotion": bonnmotion.load,
    "sumo": sumo.load,
    "eel": eel.load,
}


def load(kind: str, file: Path) -> Read:
    """The trace in a file of that format. Raises ExperimentError."""
    return LOADERS[kind](file)
