# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws the flowcharts that pages write in Mermaid's words, as SVG by Graphviz: without a script in the page.

Read is what the pages use: `flowchart LR` or TD, subgraphs, boxes and rounded boxes with labels, arrows with labels and
both ways.
"""

import re
import subprocess

NODE = re.compile(r'(?P<id>\w+)(?:\(\["(?P<round>[^"]*)"\]\)|\["(?P<box>[^"]*)"\])?')
ARROW = re.compile(r"\s*(?:<-->|<--\s+(?P<both>\S.*?)\s+-->|-->|--\s+(?P<label>\S.*?)\s+-->)\s*")
QUOTE = str.maketrans({'"': r"\"", "\\": r"\\"})


class DiagramError(ValueError):
    """A line that cannot be read."""


def as_dot(text: str) -> str:
    """The same graph in Graphviz's language."""
    lines = [line.strip() for line in text.strip().splitlines()]
    direction = re.fullmatch(r"flowchart (LR|TD)", lines[0])
    if not direction:
        raise DiagramError(f"a diagram that begins with {lines[0]!r}; flowchart LR and flowchart TD can be drawn")
    bodies: list[str] = []
    clusters = 0
    names = {name: f"cluster_{at}" for at, name in enumerate(re.findall(r"^\s*subgraph (.+?)\s*$", text, re.M))}
    # A node is told its label once, and named without it before and after.
    labels = {node["id"]: node for node in NODE.finditer(text) if node["round"] or node["box"]}
    seen: set[str] = set()
    stack: list[str] = []
    firsts: dict[str, str] = {}
    for line in lines[1:]:
        if opened := re.fullmatch(r"subgraph (.+)", line):
            bodies.append(f'subgraph cluster_{clusters} {{ label="{opened[1]}"; class="group";')
            stack.append(opened[1])
            clusters += 1
        elif line == "end":
            bodies.append("}")
            stack.pop()
        elif line:
            bodies.append(edges(line, names, stack, firsts, labels, seen))
    head = [
        f"digraph {{ rankdir={direction[1].replace('TD', 'TB')}; compound=true; nodesep=0.25; ranksep=0.45;",
        'bgcolor="transparent";',
        'graph [fontname="Helvetica", fontsize=12, style="rounded", color="#888888"];',
        'node [fontname="Helvetica", fontsize=12, shape=box, style="rounded", height=0.35, margin="0.12,0.06"];',
        'edge [fontname="Helvetica", fontsize=11, arrowsize=0.7];',
    ]
    return "\n".join([*head, *bodies, "}"])


def edges(
    line: str,
    clusters: dict[str, str],
    stack: list[str],
    firsts: dict[str, str],
    labels: dict[str, re.Match[str]],
    seen: set[str],
) -> str:
    at, before, told, written = 0, None, None, []
    while at < len(line):
        node = NODE.match(line, at)
        if not node:
            raise DiagramError(f"{line!r} at {line[at:]!r}")
        name = node["id"]
        if name not in clusters:
            for group in stack:
                firsts.setdefault(group, name)
            if name not in seen:
                seen.add(name)
                told_label = labels.get(name)
                label = (told_label["round"] or told_label["box"]) if told_label else name
                style = ', style="rounded,bold"' if told_label and told_label["round"] else ""
                shown = label.translate(QUOTE).replace("<br>", "\\n")
                written.append(f'{name} [label="{shown}"{style}];')
        if before is not None:
            ends = [firsts.get(end, end) if end in clusters else end for end in (before, name)]
            label = told["both"] or told["label"]
            options = [f'label="{label.translate(QUOTE)}"'] if label else []
            options += ["dir=both"] if "<--" in told[0] else []
            options += [f"lhead={clusters[name]}"] if name in clusters else []
            options += [f"ltail={clusters[before]}"] if before in clusters else []
            written.append(f"{ends[0]} -> {ends[1]} [{', '.join(options)}];")
        at, before = node.end(), name
        if at < len(line):
            told = ARROW.match(line, at)
            if not told:
                raise DiagramError(f"{line!r} at {line[at:]!r}")
            at = told.end()
    return " ".join(written)


def as_svg(text: str) -> str:
    """The picture, in the colours of the page around it."""
    done = subprocess.run(["dot", "-Tsvg"], input=as_dot(text), capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        raise DiagramError(f"dot: {done.stderr.strip()}")
    svg = done.stdout[done.stdout.index("<svg") :]
    svg = re.sub(r"<!--.*?-->\n?|<title>.*?</title>\n?", "", svg, flags=re.DOTALL)
    svg = svg.replace('fill="black"', 'fill="currentColor"').replace('stroke="black"', 'stroke="currentColor"')
    svg = re.sub(r"<text ([^>]*)>", r'<text fill="currentColor" \1>', svg)
    svg = re.sub(r'id="\w+"', "", svg)
    return f'<div class="diagram" role="img">\n{svg.strip()}\n</div>'.replace("\n\n", "\n")
