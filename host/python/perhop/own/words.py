# SPDX-License-Identifier: GPL-2.0-or-later
"""How an experiment file names a policy of one's own: FILE.py:CLASS, or FILE.so:NAME."""

from __future__ import annotations

import re
from pathlib import Path

FORM = "FILE.py:CLASS, FILE.so:NAME"
WORDS = re.compile(r"(?P<file>[^+]*[^+\s/]\.(?:py|so)):(?P<name>[A-Za-z_]\w*)")
# What `perhop policy build` takes.
SOURCES = (".cpp", ".cc", ".c")


def parted(words: str) -> tuple[str, str]:
    """The file, and the policy in it."""
    file, _, name = words.rpartition(":")
    return file, name


def label(words: str) -> str:
    """What tables and reports call it: without the folder."""
    file, name = parted(words)
    return f"{Path(file).name}:{name}"


def found_from(words: str, folder: Path) -> str:
    """The same, with its file named in full."""
    file, name = parted(words)
    return f"{(folder / file).absolute()}:{name}"
