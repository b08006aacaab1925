# SPDX-License-Identifier: GPL-2.0-or-later
"""What readers of traces share: how large a file may be, which numbers a trace may have, and what reading one gives."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from perhop.errors import ExperimentError
from perhop.mobility.trace import Trace, Turn

MOST_BYTES = 50_000_000
# As in an experiment file (perhop.experiment.schema).
MOST_NODES = 65_536
# As in run.json.
MOST_M = 1e7
MOST_S = 1e9
LEAST_MPS, MOST_MPS = 1e-6, 1e6

# Makes the error of a problem and a remedy.
Refusal = Callable[[str, str], ExperimentError]


@dataclass(frozen=True)
class Presence:
    """A node of the file that is not always there: seconds at which it comes and goes."""

    node: int
    from_s: float
    until_s: float


@dataclass(frozen=True)
class Read:
    """What a file said, and what of it a trace does not carry."""

    trace: Trace
    names: tuple[str, ...] = ()  # of nodes, in order, where the file has names
    left_out: tuple[str, ...] = ()
    presences: tuple[Presence, ...] = ()


def read_bytes(file: Path, what: str) -> bytes:
    """A whole file that is not too large. Raises ExperimentError."""
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise ExperimentError(
            f"cannot be read: {error.strerror}", f"give the path of {what}", file=str(file)
        ) from error
    if content.startswith(b"\x1f\x8b"):
        content = _unzipped(content, file, what)
    if len(content) > MOST_BYTES:
        raise ExperimentError(f"has more than {MOST_BYTES} bytes", "give a shorter trace", file=str(file))
    return content


def read_text(file: Path, what: str) -> str:
    """The same of a text file. Raises ExperimentError."""
    content = read_bytes(file, what)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ExperimentError("is not a text file in UTF-8", f"give {what}", file=str(file), line=line) from error


def _unzipped(content: bytes, file: Path, what: str) -> bytes:
    """Of gzip, up to a byte more than may be: a small file may hold a very large one."""
    unzip = zlib.decompressobj(wbits=31)
    try:
        out = unzip.decompress(content, MOST_BYTES + 1)
    except zlib.error as error:
        raise ExperimentError(f"is a damaged gzip file ({error})", f"give {what}", file=str(file)) from error
    if not unzip.eof and len(out) <= MOST_BYTES:
        raise ExperimentError("is a gzip file without its end", f"give all of {what}", file=str(file))
    return out


def number(text: str, what: str, least: float, most: float, refused: Refusal) -> float:
    """A finite number of these bounds. Raises what `refused` makes."""
    remedy = f"give a number from {least:g} to {most:g}"
    try:
        value = float(text)
    except ValueError:
        raise refused(f"{what} is {text[:30]!r}, which is no number", remedy) from None
    if not (math.isfinite(value) and least <= value <= most):
        raise refused(f"{what} is {text[:30]}", remedy)
    return value + 0.0  # no -0.0


def turns_through(node: int, way: list[tuple[float, float, float]]) -> list[Turn]:
    """Turns that lead a node, in straight lines, through places (time, x, y) at their times, which rise."""
    turns = []
    for (from_s, from_x_m, from_y_m), (to_s, x_m, y_m) in itertools.pairwise(way):
        apart_m = math.hypot(x_m - from_x_m, y_m - from_y_m)
        # Who is as slow as the least speed is told to stay: over a day it would be a few centimetres off.
        speed_mps = min(apart_m / (to_s - from_s), MOST_MPS) if to_s > from_s else MOST_MPS
        if apart_m > 0 and speed_mps >= LEAST_MPS:
            turns.append(Turn(from_s, node, x_m, y_m, speed_mps))
    return turns
