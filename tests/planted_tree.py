# SPDX-License-Identifier: GPL-2.0-or-later
"""A copy of the tree in which a test plants a change, to count the files that it takes and to see it work."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def copy_of_tree(folder: Path) -> Path:
    """Copies every file that is under version control, or would be, into `folder`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def changed_by_hand(folder: Path, generator: str, *arguments: object) -> set[str]:
    """Which files of the copy in `folder` differ from the tree, less those that the generator then writes."""
    by_hand = _changed(folder)
    subprocess.run([sys.executable, folder / generator, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
    assert _changed(folder) > by_hand, f"nothing follows from what {generator} reads"
    return by_hand


def _changed(folder: Path) -> set[str]:
    files = (
        path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    return {str(name) for name in files if _differs(folder / name, ROOT / name)}


def _differs(path: Path, original: Path) -> bool:
    return not original.is_file() or path.read_bytes() != original.read_bytes()


def call(folder: Path, program: str, *arguments: object) -> str:
    """What Python says with the package of the tree in `folder`."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "host/python"), "PERHOP_BUILD": str(folder / "out/build")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
