# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs perhop-exact (sim/exact) and returns what its studies of EXACT's algorithm measured."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from perhop import paths

PROGRAM = "perhop-exact"


def run(*studies: str) -> dict[str, Any]:
    """Make the named studies, or all. Raises PerhopError when the program has not been built."""
    program = paths.program(PROGRAM)
    finished = subprocess.run([program, *studies], check=True, capture_output=True, text=True, timeout=600)
    return json.loads(finished.stdout)
