# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulators of another git version: built in a worktree of their own, which is kept and used again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from perhop import paths
from perhop.errors import PerhopError
from perhop.experiment.program import Program, Programs, hash_of
from perhop.study.state import locked

COMMIT_DIGITS = 12
LOG_LINES = 8


@dataclass(frozen=True)
class Version:
    """A commit of the checkout, and what it was called on the command line."""

    revision: str
    commit: str

    def __str__(self) -> str:
        short = self.commit[:COMMIT_DIGITS]
        return short if self.commit.startswith(self.revision) else f"{self.revision} ({short})"


def find(revision: str) -> Version:
    """Raises PerhopError for what names no commit here."""
    paths.demand_checkout()
    repository = paths.repository()
    done = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.returncode:
        inside = _git(repository, "rev-parse", "--git-dir").returncode == 0
        raise PerhopError(
            f"there is no git version {revision!r} in {repository}",
            "give a commit, a tag or a branch that `git log` knows there"
            if inside
            else "this needs a git checkout of perhop",
        )
    return Version(revision, done.stdout.strip())


def folder(version: Version) -> Path:
    """Where a version's tree, its build and its runs are kept."""
    return paths.output() / "versions" / version.commit[:COMMIT_DIGITS]


def programs(
    version: Version, names: Iterable[str], jobs: int | None = None, note: Callable[[str], None] = lambda text: None
) -> Programs:
    """The simulators `names` of a version, built if they are not there. Raises PerhopError."""
    names = sorted(set(names))
    place = folder(version)
    with locked(place):
        if not all(_stamp(place, name).is_file() and _program(place, name).is_file() for name in names):
            note(
                f"building {', '.join(names)} of {version} in {paths.shown(place)}: some minutes, once; "
                f"{paths.shown(_log(place))} tells how far"
            )
            _build(version, place, names, jobs or os.cpu_count() or 1)
            for name in names:
                _stamp(place, name).touch()
    return {name: Program([str(_program(place, name))], hash_of(_program(place, name))) for name in names}


def build(version: Version) -> Path:
    """The build folder of a version, such as PERHOP_BUILD may name."""
    return folder(version) / "build"


def _program(place: Path, name: str) -> Path:
    # A version's own build puts programs where today's does.
    return place / "build" / paths.PROGRAMS[name]


def _stamp(place: Path, name: str) -> Path:
    """Is there when the program has been built to its end."""
    return place / f"{name}.built"


def _log(place: Path) -> Path:
    return place / "build.log"


def _build(version: Version, place: Path, names: list[str], jobs: int) -> None:
    tree = place / "tree"
    if not (tree / ".git").exists():
        # --force: git may still know a folder that has been removed since.
        added = _git(paths.repository(), "worktree", "add", "--force", "--detach", str(tree.resolve()), version.commit)
        if added.returncode:
            raise PerhopError(
                f"git makes no worktree of {version} in {paths.shown(tree)}: {added.stderr.strip()}",
                f"remove {paths.shown(place)}, then `git worktree prune`",
            )
    environment = {name: value for name, value in os.environ.items() if name not in ("VERILATOR_ROOT", "PYTHONPATH")}
    environment |= {
        "CXX": "g++",
        "PATH": f"{sys.prefix}/bin{os.pathsep}{environment.get('PATH', '')}",
        # Unchanged files come out of the compiler's cache.
        "CCACHE_BASEDIR": str(tree.resolve()),
        "CCACHE_NOHASHDIR": "1",
    }
    configure = ["cmake", "-S", str(tree), "-B", str(place / "build"), "-G", "Ninja", f"-DPERHOP_VENV={sys.prefix}"]
    configure += [f"-DPERHOP_PACKAGE_DIR={tree.resolve()}/host/python/perhop"]
    build = ["cmake", "--build", str(place / "build"), "-j", str(jobs), "--target", *names]
    with _log(place).open("w", encoding="utf-8") as log:
        for command in (configure, build):
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment, check=False
            )
            if done.returncode:
                log.flush()
                tail = _log(place).read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
                raise PerhopError(
                    f"the simulators of {version} cannot be built:\n" + "\n".join(f"    {line}" for line in tail),
                    f"see {paths.shown(_log(place))}; the tools of {sys.prefix} built it, an old one may need others",
                )


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise PerhopError("git is not installed", "install git (`perhop doctor` says what else is missing)") from None
