# SPDX-License-Identifier: GPL-2.0-or-later
"""testbench/line_coverage.py reads what Verilator writes, and counts what was missed."""

from pathlib import Path

import pytest
from testbench.line_coverage import by_file, lines_of, ranges_of, read_counts


def point(kind: str, line: int, column: int, what: str, lines: str, count: int, file: str = "/rtl/mac/a.sv") -> str:
    fields = {"f": file, "l": line, "n": column, "t": kind, "page": f"v_{kind}/a", "o": what, "S": lines, "h": "top.a"}
    return "C '" + "".join(f"\x01{key}\x02{value}" for key, value in fields.items() if value != "") + f"' {count}\n"


def coverage_of(tmp_path: Path, *texts: str):
    paths = []
    for number, text in enumerate(texts):
        paths.append(tmp_path / f"{number}.dat")
        paths[-1].write_text("# SystemC::Coverage-3\n" + text)
    return by_file(read_counts(paths), Path("/rtl"))


def test_counts_of_several_simulations_add_up(tmp_path):
    one = point("line", 3, 5, "block", "3-4", 0) + point("toggle", 9, 1, "x[0]:0->1", "", 1)
    two = point("line", 3, 5, "block", "3-4", 2) + point("toggle", 9, 1, "x[0]:0->1", "", 0)
    assert coverage_of(tmp_path, one)["mac/a.sv"].missed_lines() == [3, 4]
    both = coverage_of(tmp_path, one, two)["mac/a.sv"]
    assert both.missed_lines() == []
    assert both.bits == {(9, 1, "x[0]:0->1"): True}


def test_a_line_counts_when_every_arm_on_it_was_taken(tmp_path):
    text = point("branch", 7, 9, "cond_then", "7", 5) + point("branch", 7, 20, "cond_else", "7", 0)
    text += point("line", 7, 3, "block", "7", 5)
    coverage = coverage_of(tmp_path, text)["mac/a.sv"]
    assert coverage.missed_lines() == [7]
    assert coverage.missed_branches() == [(7, 20, "cond_else")]


def test_an_if_without_else_has_an_arm_without_lines(tmp_path):
    text = point("branch", 7, 3, "if", "7-8", 5) + point("branch", 7, 4, "else", "", 0)
    coverage = coverage_of(tmp_path, text)["mac/a.sv"]
    assert coverage.missed_lines() == []
    assert coverage.missed_branches() == [(7, 4, "else")]


def test_files_elsewhere_are_left_out(tmp_path):
    assert coverage_of(tmp_path, point("line", 1, 1, "block", "1", 1, "/tests/bench.sv")) == {}


def test_what_is_no_point_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"0\.dat:2: no point of coverage"):
        coverage_of(tmp_path, "something else\n")


def test_lists_of_lines_and_bits():
    assert lines_of("148-150,7") == [148, 149, 150, 7]
    assert lines_of("") == []
    points = [(31, 5, f"x[{bit}]:0->1") for bit in (0, 1, 2, 7)] + [(32, 5, "y:1->0")]
    assert ranges_of(points) == ["31: x[7], x[2:0]", "32: y"]
