# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs that make runs, and how it is known that one is another than before."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """What makes a run: the command, to which the path of run.json is added, and a hash of all that it is made of."""

    command: list[str]
    sha256: str
    environment: dict[str, str] = field(default_factory=dict)


# By the name that a run gives.
Programs = dict[str, Program]


def hash_of(program: Path) -> str:
    with program.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def joint_hash(hashes: list[str]) -> str:
    """One hash for a program of several parts."""
    return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()
