# SPDX-License-Identifier: GPL-2.0-or-later
"""The errors a user of perhop sees: what is wrong, where, and what to do about it.

The standard library only: flowgraphs and hosts with radios use it without the packages of .venv.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable


class PerhopError(Exception):
    """Something outside perhop is wrong and the user can mend it.

    `remedy` says what to do. The text of the exception is one message for a terminal.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem}\n  remedy: {self.remedy}"

    def as_dict(self) -> dict[str, object]:
        return {"problem": self.problem, "remedy": self.remedy}


class ExperimentError(PerhopError):
    """An experiment file asks for something that cannot be.

    `line` counts from 1 and is None when the value came from the command line; `field` is dotted, such as
    `topology.hops`.
    """

    def __init__(self, problem: str, remedy: str, *, file: str = "", line: int | None = None, field: str = "") -> None:
        super().__init__(problem, remedy)
        self.file = file
        self.line = line
        self.field = field

    def __str__(self) -> str:
        place = self.file + (f":{self.line}" if self.line is not None else "")
        where = ": ".join(part for part in (place, self.field) if part)
        return f"{where}: {super().__str__()}" if where else super().__str__()

    def as_dict(self) -> dict[str, object]:
        return {"file": self.file, "line": self.line, "field": self.field, **super().as_dict()}


_REMEDIES = {
    errno.ENOSPC: "make room on that disk, or name another folder",
    errno.EDQUOT: "make room within your quota, or name another folder",
    errno.EFBIG: "allow larger files there, or name another folder",
    errno.EACCES: "name a place that you may write, or ask for the rights",
    errno.EPERM: "name a place that you may write, or ask for the rights",
    errno.EROFS: "name a place that you may write: this file system is read-only",
    errno.EEXIST: "a file is where a folder must be: name another folder",
    errno.ENOTDIR: "a file is where a folder must be: name another folder",
    errno.EISDIR: "a folder is where a file must be: name another file",
    errno.ENOENT: "make the folder, or name another one",
    errno.ENAMETOOLONG: "name another place, with shorter names",
    errno.EMFILE: "allow more open files (`ulimit -n`)",
}


def from_os(error: OSError) -> PerhopError:
    """What the operating system refused, for a person."""
    what = (error.strerror or str(error) or type(error).__name__).strip()
    what = what[:1].lower() + what[1:]
    problem = f"{error.filename}: {what}" if error.filename is not None else what
    return PerhopError(problem, _REMEDIES.get(error.errno or 0, "see what is wrong with it, or name another place"))


class FieldError(Exception):
    """A rule that spans several fields is broken; the loader turns it into an ExperimentError with a line.

    `path` is the tuple of keys and list indices that leads to the field at fault.
    """

    def __init__(self, path: tuple[str | int, ...], problem: str, remedy: str) -> None:
        super().__init__(path, problem, remedy)
        self.path = path
        self.problem = problem
        self.remedy = remedy


def near_miss(word: object, known: Iterable[str]) -> str | None:
    """The known word that `word` was most likely meant to be, or None."""
    matches = difflib.get_close_matches(str(word).lower(), list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def choose_from(word: object, known: Iterable[str]) -> str:
    """A remedy for a word that is none of the known ones, with the near miss first."""
    known = list(known)
    meant = near_miss(word, known)
    listing = ", ".join(known)
    return f"did you mean {meant!r}? Known: {listing}" if meant else f"use one of: {listing}"
