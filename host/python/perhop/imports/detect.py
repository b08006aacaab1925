# SPDX-License-Identifier: GPL-2.0-or-later
"""Which tool a file is of, by what it holds; names of files are not believed."""

from __future__ import annotations

import re
from pathlib import Path

from perhop.errors import ExperimentError
from perhop.imports import core_xml
from perhop.mobility import bonnmotion, sumo, trace_file
from perhop.mobility.formats import LOADERS

CORE = "core"
KINDS = (*LOADERS, CORE)
WHAT = "a file of ns-2 (setdest), BonnMotion, SUMO (--fcd-output), EMANE (EEL) or CORE (XML)"

_ROOTS = {sumo.ROOT: "sumo", core_xml.ROOT: CORE}
_ROOT = re.compile(r"(?:\s|<\?.*?\?>|<!--.*?-->)*<([A-Za-z][\w.-]*)", re.DOTALL)
_SETDEST = re.compile(r"\$node_\(|\$ns_\s|\$god_\s|set\s+god_")
_EEL = re.compile(r"\S+\s+nem:\d")
_NUMBERS = re.compile(r"[-+.\deE\s]+")


def detect(file: Path) -> str:
    """The word of the file's format. Raises ExperimentError."""
    text = trace_file.read_bytes(file, WHAT).decode("utf-8", errors="replace").lstrip("\ufeff")
    if text.lstrip().startswith("<"):
        root = _ROOT.match(text)
        if root is not None and root[1] in _ROOTS:
            return _ROOTS[root[1]]
        shown = f"<{root[1][:40]}>" if root is not None else "no element"
        raise _unknown(file, f"is XML that begins with {shown}")
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped == bonnmotion.MARK_3D:
            return "bonnmotion"
        if not stripped or stripped.startswith("#"):
            continue
        for kind, look in (("setdest", _SETDEST.match), ("eel", _EEL.match), ("bonnmotion", _NUMBERS.fullmatch)):
            if look(stripped):
                return kind
        raise _unknown(file, f"is of no format that is known: {stripped[:40]!r}")
    raise _unknown(file, "says nothing")


def _unknown(file: Path, problem: str) -> ExperimentError:
    return ExperimentError(problem, f"give {WHAT}, or say which with --format", file=str(file))
