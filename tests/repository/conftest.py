# SPDX-License-Identifier: GPL-2.0-or-later
"""What the repository rules look at: the files git knows or would add, never what is built."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

Finder = Callable[..., list[Path]]


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def find() -> Finder:
    """Gives find("host/core/**/*.hpp", ...): the files that match any of the patterns, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    paths = [Path(name) for name in listed if name and (ROOT / name).is_file()]

    def matches(path: Path, pattern: str) -> bool:
        if pattern.startswith("**/"):
            return path.match(pattern.removeprefix("**/"))
        folder, found, name = pattern.partition("/**/")
        return path.is_relative_to(folder) and path.match(name) if found else path.match(pattern)

    return lambda *patterns: [path for path in paths if any(matches(path, pattern) for pattern in patterns)]
