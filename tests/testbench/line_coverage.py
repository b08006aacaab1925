# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what Verilator counted (coverage.dat) and says which lines, branches and bits of the RTL were never used.

The file is text, one point a line: C '<fields>' count. A field is \\x01 key \\x02 value; the keys read here are f (the
file), l and n (line, column), t (line, branch or toggle), o (which arm, or which bit and direction) and S (the lines
that belong to the point). Points of several simulations, and of one module in several builds or places, are added up by
everything but the place.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

# file, line, column, kind, what, lines
Point = tuple[str, int, int, str, str, str]


@dataclass
class FileCoverage:
    """One file of the RTL. A line counts when every point on it was met: both arms of an if that stands on one line."""

    lines: dict[int, bool] = field(default_factory=dict)
    branches: dict[tuple[int, int, str], bool] = field(default_factory=dict)
    bits: dict[tuple[int, int, str], bool] = field(default_factory=dict)

    def missed_lines(self) -> list[int]:
        return sorted(line for line, met in self.lines.items() if not met)

    def missed_branches(self) -> list[tuple[int, int, str]]:
        return sorted(point for point, met in self.branches.items() if not met)


def read_counts(paths: Iterable[Path]) -> Counter[Point]:
    """Adds up the points of any number of coverage.dat.

    Raises:
        ValueError: a line is none that this reader knows.
    """
    counts: Counter[Point] = Counter()
    known: dict[str, Point] = {}
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            for number, text in enumerate(lines, 1):
                if text.startswith("#"):
                    continue
                head, _, count = text.rpartition("' ")
                if not head.startswith("C '"):
                    raise ValueError(f"{path}:{number}: no point of coverage: {text[:80]!r}")
                point = known.get(head)
                if point is None:
                    fields = dict(part.split("\x02", 1) for part in head[3:].split("\x01") if part)
                    point = known[head] = (
                        *(fields["f"], int(fields["l"]), int(fields.get("n", 0))),
                        *(fields["t"], fields.get("o", ""), fields.get("S", "")),
                    )
                counts[point] += int(count)
    return counts


def lines_of(text: str) -> list[int]:
    """54-56,60 as numbers."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def by_file(counts: Counter[Point], rtl: Path) -> dict[str, FileCoverage]:
    """Coverage of each file below `rtl`, by its path from there; other files (benches of tests) are left out."""
    files: dict[str, FileCoverage] = defaultdict(FileCoverage)
    for (name, line, column, kind, what, lines), count in counts.items():
        path = Path(name)
        if not path.is_relative_to(rtl):
            continue
        coverage, met = files[str(path.relative_to(rtl))], count > 0
        if kind == "toggle":
            coverage.bits[line, column, what] = met
            continue
        for each in lines_of(lines):
            coverage.lines[each] = coverage.lines.get(each, True) and met
        # A branch that is an if without else has an arm without lines of its own.
        if kind == "branch":
            coverage.branches[line, column, what] = met
    return dict(files)


def ranges_of(points: Iterable[tuple[int, int, str]]) -> list[str]:
    """Bits for a reader, by line: `31: tick_n[23:20], tick_n[3]`; the two directions of a bit are one."""
    names: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for line, _, what in points:
        name, _, bit = re.sub(r":[01]->[01]$", "", what).rpartition("[")
        if name:
            names[line][name].add(int(bit.rstrip("]")))
        else:
            names[line][bit].update()
    texts = []
    for line, signals in sorted(names.items()):
        parts: list[str] = []
        for name, bits in sorted(signals.items()):
            runs: list[list[int]] = []
            for bit in sorted(bits, reverse=True):
                if runs and runs[-1][-1] == bit + 1:
                    runs[-1].append(bit)
                else:
                    runs.append([bit])
            parts += [f"{name}[{run[0]}{f':{run[-1]}' if len(run) > 1 else ''}]" for run in runs] or [name]
        texts.append(f"{line}: {', '.join(parts)}")
    return texts
