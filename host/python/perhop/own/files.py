# SPDX-License-Identifier: GPL-2.0-or-later
"""The file of a policy of one's own: which parts of a flow's policy it takes, and the copy that a run has of it.

A run is named by what the file holds, not by where it lies, and runs a copy in its own folder: what is built or written
anew while runs are made changes none of them.
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perhop import files, paths
from perhop.errors import PerhopError, from_os
from perhop.own import words

PROGRAM = "perhop-policy"
# Long enough for whatever a Python file imports.
PATIENCE_S = 60.0
# Where a policy's file does not say otherwise, the policy in Python has the packages of the Python that runs perhop.
PYTHON = {"PERHOP_PYTHON": sys.executable}


def environment() -> dict[str, str]:
    """What a program finds that may load policies."""
    return {**os.environ, **PYTHON}


def look(text: str, folder: Path) -> tuple[dict[str, str], frozenset[str]]:
    """Of FILE:NAME: {file, name, sha256} as run.json has them, and the keys of the parts that it takes.

    It runs the file, in a process of its own. Raises PerhopError.
    """
    file, name = words.parted(words.found_from(text, folder))
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        problem = from_os(error).problem
        raise PerhopError(problem, f"name a file from {folder} on: {words.FORM}") from None
    digest = hashlib.sha256(content).hexdigest()
    return {"file": file, "name": name, "sha256": digest}, _parts(file, name, digest)


def cost_ns(text: str, folder: Path) -> dict[str, int]:
    """CPU time of a call of each of its functions, told of a flow over three hops. Raises PerhopError."""
    file, name = words.parted(words.found_from(text, folder))
    return {function: int(ns) for function, ns in (line.split() for line in _said("--cost", file, name))}


@functools.cache
def _parts(file: str, name: str, _digest: str) -> frozenset[str]:
    return frozenset(_said(file, name))


def _said(*arguments: str) -> list[str]:
    """The lines that perhop-policy prints. Raises PerhopError."""
    try:
        told = subprocess.run(
            [str(paths.program(PROGRAM)), *arguments],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise PerhopError(
            f"{arguments[-2]} is not done after {PATIENCE_S:g} s", "let it define the policy and do nothing else"
        ) from None
    if told.returncode != 0:
        problem, _, remedy = told.stderr.strip().rpartition("\n  remedy: ")
        ended = f"{PROGRAM} ended with {told.returncode}: {told.stderr}"
        raise PerhopError(problem or ended, remedy if problem else "mend the file")
    return told.stdout.splitlines()


def placed(policy: dict[str, Any], folder: Path) -> dict[str, Any]:
    """An object `policy` whose own policy's file is a copy in `folder`, which is made. Raises PerhopError."""
    own = policy.get("own")
    if own is None:
        return policy
    source = Path(own["file"])
    try:
        content = source.read_bytes()
        if hashlib.sha256(content).hexdigest() != own["sha256"]:
            raise PerhopError(f"{source} is another one than when the run was planned", "begin again")
        copy = folder / "own" / own["sha256"][:16] / source.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists():
            files.write_whole(copy, lambda temporary: temporary.write_bytes(content) and None)
    except OSError as error:
        raise from_os(error) from None
    return {**policy, "own": {**own, "file": str(copy.resolve())}}


def run_placed(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The same for the flows of a run.json."""
    return _with_policies(config, lambda policy: placed(policy, folder))


def _with_policies(config: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    flows = [{**flow, "policy": change(flow["policy"])} if "policy" in flow else flow for flow in config["flows"]]
    return {**config, "flows": flows}


def contents(config: dict[str, Any]) -> dict[str, bytes]:
    """The own policies' files of a run.json, for where they do not lie: by their hashes. Raises OSError."""
    named = [flow["policy"]["own"] for flow in config["flows"] if "own" in flow.get("policy", {})]
    return {own["sha256"]: Path(own["file"]).read_bytes() for own in named}


def unpacked(config: dict[str, Any], held: dict[str, bytes], folder: Path) -> dict[str, Any]:
    """A run.json with the files that `contents` gave, written in `folder`."""

    def there(policy: dict[str, Any]) -> dict[str, Any]:
        own = policy.get("own")
        if own is None:
            return policy
        file = folder / own["sha256"][:16] / Path(own["file"]).name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(held[own["sha256"]])
        return {**policy, "own": {**own, "file": str(file)}}

    return _with_policies(config, there)


def nameless(config: dict[str, Any]) -> dict[str, Any]:
    """A run.json without the folders of its own policies' files, which are no part of what it says."""

    def without(policy: dict[str, Any]) -> dict[str, Any]:
        own = policy.get("own")
        return policy if own is None else {**policy, "own": {**own, "file": Path(own["file"]).name}}

    return _with_policies(config, without)
