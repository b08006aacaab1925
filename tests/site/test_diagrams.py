# SPDX-License-Identifier: GPL-2.0-or-later
"""Mermaid's flowcharts as pages write them become graphs with all their nodes and arrows."""

import re

import diagrams
import pytest


def test_every_arrow_of_a_chart_is_drawn():
    dot = diagrams.as_dot(
        'flowchart LR\n  a(["A"])\n  subgraph g\n    b["B<br>b"] --> c -- words --> d\n  end\n  a <-- both --> g\n'
    )
    assert re.findall(r"(\w+) -> (\w+)", dot) == [("b", "c"), ("c", "d"), ("a", "b")]
    assert 'label="words"' in dot and "dir=both" in dot and "lhead=cluster_0" in dot and "B\\nb" in dot


def test_a_node_keeps_its_label_wherever_it_is_named_without():
    dot = diagrams.as_dot('flowchart LR\n  early --> x\n  early["First"] --> y\n  z(["Last"])\n  y --> z\n')
    assert re.findall(r'(\w+) \[label="(\w+)"[^\]]*\];', dot) == [
        ("early", "First"),
        ("x", "x"),
        ("y", "y"),
        ("z", "Last"),
    ]


def test_what_cannot_be_read_is_an_error_and_no_other_picture():
    with pytest.raises(diagrams.DiagramError):
        diagrams.as_dot("sequenceDiagram\n  a->>b: x")
    with pytest.raises(diagrams.DiagramError):
        diagrams.as_dot("flowchart LR\n  a -.-> b")


def test_every_chart_of_the_pages_can_be_read(root):
    import pages

    charts = [
        found["body"]
        for name in pages.tracked(root)
        if name.endswith(".md")
        for found in pages.FENCE.finditer((root / name).read_text())
        if found["language"].strip() == "mermaid"
    ]
    assert len(charts) >= 3 and all(diagrams.as_dot(chart) for chart in charts)
