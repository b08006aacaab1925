# SPDX-License-Identifier: GPL-2.0-or-later
"""What a program is made of: its own file and the libraries that the loader gives it, each with its hash.

Two machines whose parts are equal make the same run to the byte. The standard library only.
"""

from __future__ import annotations

import functools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from perhop.experiment.program import hash_of

ELF = b"\x7fELF"


@dataclass(frozen=True)
class Part:
    """A file of a program; `sha256` is empty where there is no such file."""

    file: str
    sha256: str


def parts_of(program: Path) -> dict[str, Part]:
    """The parts by their names: the program's own, and those by which it asks the loader for libraries."""
    found = {program.name: _part(str(program))}
    for name, file in _libraries(_identity(str(program))):
        found[name] = _part(file) if file else Part("", "")
    return found


def _part(file: str) -> Part:
    return Part(file, _hash(_identity(file)))


def _identity(file: str) -> tuple[str, int, int, int]:
    """What changes when somebody replaces or rewrites a file."""
    status = Path(file).stat()
    return file, status.st_ino, status.st_size, status.st_mtime_ns


@functools.lru_cache(maxsize=256)
def _hash(identity: tuple[str, int, int, int]) -> str:
    return hash_of(Path(identity[0]))


@functools.lru_cache(maxsize=16)
def _libraries(identity: tuple[str, int, int, int]) -> list[tuple[str, str]]:
    """Name and file of each shared library, the file empty where the loader finds none; nothing for a script."""
    with Path(identity[0]).open("rb") as file:
        if file.read(len(ELF)) != ELF:
            return []
    environment = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    told = subprocess.run([identity[0]], env=environment, capture_output=True, text=True, check=False)
    # name => file (address), name => not found, file (address) for the loader itself
    lines = [line.split() for line in told.stdout.splitlines()]
    return [(line[0], "" if line[2] == "not" else line[2]) for line in lines if len(line) >= 4 and line[1] == "=>"]
