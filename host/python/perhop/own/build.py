# SPDX-License-Identifier: GPL-2.0-or-later
"""A policy of one's own in C++ or C, from one file to a shared object."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from perhop import files, paths
from perhop.errors import PerhopError, from_os
from perhop.own import words

FLAGS = ("-O2", "-Wall", "-Wextra", "-fPIC", "-shared")


def build(source: Path, output: Path | None = None) -> tuple[Path, str]:
    """Compile `source` to `output`, beside it by default. @return what was made, and what the compiler said

    Raises PerhopError: what was there before then stays as it was.
    """
    if source.suffix not in words.SOURCES:
        raise PerhopError(f"{source} is no C++ or C ({', '.join(words.SOURCES)})", "Python needs no building")
    if not source.is_file():
        raise PerhopError(f"{source} is no file", "name the policy's source")
    made = output or source.with_suffix(".so")
    if made.suffix != ".so":
        raise PerhopError(f"{made} does not end in .so", "name what is made FILE.so")
    compiler = _compiler(source)
    language = ("-std=c11",) if source.suffix == ".c" else ("-std=c++20",)
    said = ""

    def compile_to(target: Path) -> None:
        nonlocal said
        headers = [f"-I{folder}" for folder in paths.policy_headers()]
        command = [compiler, *language, *FLAGS, *headers, str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        said = done.stderr
        if done.returncode != 0:
            raise PerhopError(f"{source} does not compile:\n{said.strip()}", "mend the source")

    try:
        files.write_whole(made, compile_to)
    except OSError as error:
        raise from_os(error) from None
    return made, said


def _compiler(source: Path) -> str:
    variable, usual = ("CC", "gcc") if source.suffix == ".c" else ("CXX", "g++")
    wanted = os.environ.get(variable, usual)
    found = shutil.which(wanted)
    if found is None:
        raise PerhopError(f"there is no compiler {wanted}", f"install Debian's g++, or set {variable}")
    return found
