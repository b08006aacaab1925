# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian systems in folders, with nothing but their required packages: made by debootstrap, as root."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Authorities that this machine trusts besides Debian's, such as that of a proxy.
AUTHORITIES = Path("/usr/local/share/ca-certificates")


class StepError(Exception):
    """A command that should have gone well; the end of what it said."""


def call(log: Path, *command: str | Path, **variables: str) -> str:
    """Its standard output; all that it says is added to the log. Raises StepError."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, env={**os.environ, **variables}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    with log.open("a", encoding="utf-8") as sink:
        sink.write(f"$ {' '.join(words)}\n{done.stdout}{done.stderr}")
    if done.returncode != 0:
        end = "\n".join((done.stdout + done.stderr).splitlines()[-5:])
        raise StepError(f"{' '.join(words[:4])} ... ends with {done.returncode}, see {log.relative_to(ROOT)}:\n{end}")
    return done.stdout


def bare_system(folder: Path, release: str, log: Path) -> Path:
    """A system of a Debian release in `folder`; it is made once. Raises StepError."""
    root, done = folder / release, folder / f"{release}.done"
    if not (root / "etc/debian_version").is_file() or not done.is_file():
        shutil.rmtree(root, ignore_errors=True)
        call(log, "debootstrap", "--variant=minbase", release, root)
        if AUTHORITIES.is_dir():
            shutil.copytree(AUTHORITIES, root / AUTHORITIES.relative_to("/"), dirs_exist_ok=True)
        done.touch()
    return root
