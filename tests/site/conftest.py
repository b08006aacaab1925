# SPDX-License-Identifier: GPL-2.0-or-later
"""Small trees with pages, and the modules of docs/site."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))


@pytest.fixture
def root() -> Path:
    return ROOT


@pytest.fixture
def tree(tmp_path) -> Callable[..., Path]:
    """Makes tree({"a/README.md": "text"}) a repository of its own."""

    def make(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / "tree" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        subprocess.run(["git", "init", "-q"], cwd=tmp_path / "tree", check=True)
        return tmp_path / "tree"

    return make
