# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures in few lines: what is drawn stays, and packing again changes nothing."""

import re

import pytest
from matplotlib.figure import Figure
from perhop.report import figures
from perhop.report.compact_svg import compact

# Two strokes of one path, a named clip, a group without meaning, a comment, metadata.
DRAWN = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="90.5pt" height="50%">
 <metadata>matplotlib</metadata>
 <!-- a label -->
 <defs><clipPath id="frame"><rect x="1.23456" y="-0.001" width="4" height="5"/></clipPath></defs>
 <g id="figure_1">
  <g id="line_1" transform="translate(1.23456 2) scale(0.015625)">
   <path id="stroke" clip-path="url(#frame)" d="M 1 2
L 3.14159 4
L 5 6
M 7 8
Q 1 2 3 -4.567
z
" style="fill: #ffffff"/>
  </g>
  <use xlink:href="#stroke" x="172.812244"/>
 </g>
</svg>"""


def test_points_are_rounded_and_what_nothing_refers_to_is_gone():
    small = compact(DRAWN)

    assert 'd="M1 2 3.14 4 5 6M7 8Q1 2 3 -4.57z"' in small
    assert 'transform="translate(1.23 2) scale(0.015625)"' in small, "a scale is no length"
    assert '<rect x="1.23" y="0" width="4" height="5"' in small
    assert re.findall(r'\bid="(\w+)"', small) == ["frame", "stroke"]
    assert 'x="172.81"' in small and "metadata" not in small and "a label" not in small
    assert 'height="50%"' in small
    assert small.count("<g") == small.count("</g>") == 1, "the group that moves"


def test_packing_a_packed_figure_changes_nothing():
    assert compact(compact(DRAWN)) == compact(DRAWN)


@pytest.mark.parametrize("points", [10, 10_000])
def test_a_figure_has_few_lines(points, tmp_path):
    figure = Figure()
    figure.subplots().plot(range(points), [at * at % 97 for at in range(points)], label="curve")
    figures.write_figure(figure, tmp_path / "curve.svg")

    lines = (tmp_path / "curve.svg").read_text().splitlines()
    assert lines[0].startswith("<svg ")
    assert len(lines) < 50
