# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of `perhop reproduce`: self-contained HTML to look at, and Markdown with figures beside it to commit."""

from __future__ import annotations

import base64
import os
import platform
import re
import shutil
from pathlib import Path
from typing import Any

from markupsafe import Markup

from perhop import files, paths
from perhop.report import figures, page
from perhop.report.compact_svg import compact
from perhop.report.page import Cell, Row, Table
from perhop.reproduce import check_versions
from perhop.reproduce.reproduction import VERDICTS, Part, Reproduction, RowResult, Verdict, counted, cpu_s

BADGES: dict[Verdict, str] = {
    "pass": "pass",
    "finding": "finding",
    "fail": "fail",
    "not finished": "unfinished",
    "not built": "absent",
}
# Measured values longer than this get a line for each of their clauses.
CLAUSES_APART_FROM = 150

MEANING: dict[Verdict, str] = {
    "pass": "within the tolerance of the check",
    "finding": "contradicts the paper, with evidence",
    "fail": "outside the tolerance, or a run failed",
    "not finished": "asks for more than ran: seeds, grade, a missing part, or an interruption",
    "not built": "no experiment for it yet",
}


def write(done: Reproduction) -> dict[str, Path]:
    """Write both pages below the output folder; returns `page` and `markdown`."""
    name = "reproduction" if done.asked == "all" else "reproduction-" + re.sub(r"[^A-Za-z0-9]+", "-", done.asked)
    page = done.folder / f"{name}.html"
    files.write_text(page, as_html(done))
    markdown = done.folder / name / "README.md"
    shutil.rmtree(markdown.parent, ignore_errors=True)
    for result in done.results:
        for figure in result.figures:
            target = markdown.parent / figure_name(result, figure)
            target.parent.mkdir(parents=True, exist_ok=True)
            if figure.suffix == ".svg":
                files.write_text(target, compact(figure.read_text(encoding="utf-8")))
            else:
                shutil.copyfile(figure, target)
    files.write_text(markdown, as_markdown(done))
    return {"page": page, "markdown": markdown}


def figure_name(result: RowResult, figure: Path) -> str:
    """Where a figure lies beside the Markdown page: one folder an experiment would be many for a file each."""
    assert result.part is not None
    stem = figure.name.removeprefix(result.row.id).lstrip("_-.")
    return f"{result.row.id}-{stem if '.' in stem else figure.name}" if stem else figure.name


# --- HTML -----------------------------------------------------------------------------------------------------------


def as_html(done: Reproduction) -> str:
    return page.render(
        "reproduction.html.jinja",
        "Reproduction · perhop",
        kind="reproduction",
        badges=BADGES,
        meanings={verdict: MEANING[verdict] for verdict in VERDICTS},
        facts={
            "grade": _grade(done),
            "rows": f"{len(done.results)}",
            "numeric rows that pass": _numeric(done),
            "runs": _runs(done),
            "CPU time of the simulators": _duration(done.cpu_s),
            "version": _version(),
        },
        papers=[_paper(done, paper) for paper in done.catalogue.papers if _of(done, paper)],
        what_was_run=_what_was_run(done),
        machine_time=_machine_time(done),
    )


def _grade(done: Reproduction) -> str:
    if not done.quick:
        return "full (the papers' durations)"
    return "quick (shorter runs, fewer seeds)" + (f", full for {', '.join(done.full_of)}" if done.full_of else "")


def _paper(done: Reproduction, paper: str) -> dict[str, Any]:
    rows = _of(done, paper)
    return {
        "id": paper,
        "name": _paper_name(paper),
        "title": done.catalogue.papers[paper],
        "counts": [done.count(verdict, rows) for verdict in VERDICTS],
        "rows": rows,
        "cards": [_card(row, done) for row in rows if row.verdict != "not built"],
        "absent": [row.row for row in rows if row.verdict == "not built"],
    }


def _card(result: RowResult, done: Reproduction) -> dict[str, Any]:
    """A row with its figures. What a check of several rows says stands in the first of them, which others refer to."""
    part = result.part
    assert part is not None
    first = next(other for other in done.results if other.part is part)
    check_lines = part.check.lines if first is result and part.check is not None else []
    return {
        "row": result.row,
        "verdict": result.verdict,
        "conditions": result.conditions,
        "measured": _clauses(result.measured.strip()),
        "interval": f"95 % intervals: {result.interval}".strip() if result.interval else "",
        "evidence": result.evidence.strip(),
        "command": _command(result),
        "cost": _cost(part),
        "pictures": [_picture(figure) for figure in result.figures],
        "experiment": part.name,
        "check_lines": check_lines,
        "see": first.row.id if first is not result and not result.figures else "",
    }


def _picture(file: Path) -> tuple[Markup, str]:
    """An image apart, so that the names inside one SVG cannot meet those of another, and what it is of."""
    kind = "svg+xml" if file.suffix == ".svg" else "png"
    content = file.read_bytes()
    if file.suffix == ".svg":
        # An image apart does not see the style of the page.
        style = f"<style>{figures.dark_style()}</style>"
        svg = figures.themed(compact(content.decode()))
        content = re.sub(r"(<svg\b[^>]*>)", lambda found: found[1] + style, svg, count=1).encode()
    label = "Figure: " + file.stem.replace("_", " ")
    data = base64.b64encode(content).decode()
    return Markup('<img alt="{}" src="data:image/{};base64,{}">').format(label, kind, data), label


def _machine_time(done: Reproduction) -> Table:
    rows = [
        Row(
            False,
            [
                Cell(part.name),
                Cell(", ".join(row.id for row in part.rows)),
                Cell(str(len(part.study.outcomes) if part.study else 0)),
                Cell(f"{cpu_s(part.study):.0f}"),
                Cell(f"{part.check_s:.1f}"),
            ],
        )
        for part in done.parts
    ]
    head = ["experiment", "rows", "runs", "CPU s of its runs", "s of its check"]
    return Table("Machine time of each experiment", head, rows, left=("experiment", "rows"))


def _clauses(text: str) -> str:
    """A line each, when together they are long."""
    return text.replace("; ", ";\n") if len(text) > CLAUSES_APART_FROM else text


# --- Markdown -------------------------------------------------------------------------------------------------------


def as_markdown(done: Reproduction) -> str:
    parts = [
        "# What the papers say, and what is measured here",
        f"Written by `{_shown_command(done)}`; do not edit. A finding contradicts the paper and says why; it is never "
        "tuned away.",
        "\n".join(f"- {name}: {value}" for name, value in _what_was_run(done).items()),
    ]
    head = "| paper | " + " | ".join(VERDICTS) + " |\n|---|" + "--:|" * len(VERDICTS)
    counts = [
        f"| [{_paper_name(paper)}](#{_anchor(_paper_name(paper))}) | "
        + " | ".join(str(done.count(verdict, rows)) for verdict in VERDICTS)
        + " |"
        for paper in done.catalogue.papers
        if (rows := _of(done, paper))
    ]
    parts.append("\n".join([head, *counts]))
    for paper, title in done.catalogue.papers.items():
        rows = _of(done, paper)
        if not rows:
            continue
        parts += [f"## {_paper_name(paper)}", title + "."]
        table = ["| row | claim | measured | verdict |", "|---|---|---|---|"]
        table += [
            f"| {_row_link(row)} | {_cell(row.row.claim)} | {_cell(row.measured)} | {_judged(row)} |" for row in rows
        ]
        parts.append("\n".join(table))
        parts += [_markdown_row(row, done) for row in rows if row.verdict != "not built"]
    return "\n\n".join(parts) + "\n"


def _markdown_row(result: RowResult, done: Reproduction) -> str:
    row = result.row
    assert result.part is not None
    lines = [
        f"### {row.id} {row.title}",
        "",
        f"**{result.verdict}** ({result.conditions}): {_plain(result.measured)}"
        + (f" ({_plain(result.interval)})" if result.interval else ""),
        "",
        f"- claim: {_plain(row.claim)}",
        f"- check: {_plain(row.check)}",
        f"- repeat: `{_command(result)}` ({_cost(result.part)})",
    ]
    if result.evidence:
        lines.append(f"- evidence: {_plain(result.evidence)}")
    for figure in result.figures:
        lines += ["", f"![{row.id}: {figure.stem}]({figure_name(result, figure)})"]
    lines += ["", check_versions.mark(row, done.catalogue)]
    return "\n".join(lines)


def _judged(result: RowResult) -> str:
    return f"{result.verdict} ({result.conditions})" if result.part else result.verdict


def _row_link(result: RowResult) -> str:
    row = result.row
    if result.verdict == "not built":
        return f"{row.id} {_cell(row.title)}"
    return f"[{row.id} {_cell(row.title)}](#{_anchor(f'{row.id} {row.title}')})"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def _plain(text: str) -> str:
    """One paragraph in which Markdown sees no markup."""
    return re.sub(r"([*_<>|`])", r"\\\1", " ".join(text.split()))


def _cell(text: str) -> str:
    return _plain(text)


# --- both -----------------------------------------------------------------------------------------------------------


def _of(done: Reproduction, paper: str) -> list[RowResult]:
    return [result for result in done.results if result.row.paper == paper]


def _paper_name(paper: str) -> str:
    return f"Paper {paper}" if paper.isdigit() else paper.capitalize()


def _command(result: RowResult) -> str:
    return f"perhop reproduce {result.row.id} --{result.grade}"


def _shown_command(done: Reproduction) -> str:
    return " ".join(
        ["perhop reproduce", done.asked, f"--{done.grade}", *(f"--full-of {word}" for word in done.full_of)]
    )


def _cost(part: Part) -> str:
    if part.study is None:
        return "no runs"
    seeds = part.planned.points[0].experiment.seeds if part.planned else []
    duration_s = part.planned.points[0].experiment.duration_s if part.planned else 0
    seed_text = counted(len(seeds), "seed")
    return f"{len(part.study.outcomes)} runs of {duration_s:g} s, {seed_text}, {_duration(cpu_s(part.study))} of CPU"


def _numeric(done: Reproduction) -> str:
    """Both shares: that of the rows with an experiment, and that of all, which counts the others as not passed."""
    share, of_all = done.numeric_pass_share, done.numeric_pass_share_all
    judged = sum(result.part is not None for result in done.numeric)
    if share is None or of_all is None:
        return "none judged"
    return f"{share:.0%} of the {judged} with an experiment, {of_all:.0%} of all {len(done.numeric)}"


def _runs(done: Reproduction) -> str:
    return str(len(done.study.outcomes)) if done.study else "none"


def _version() -> str:
    version = paths.version()
    return f"{version['perhop']} {version['git'] or ''}".strip()


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _what_was_run(done: Reproduction) -> dict[str, str]:
    programs = done.study.program_hashes if done.study else {}
    reused = done.study.reused if done.study else 0
    return {
        "version": _version(),
        "command": _shown_command(done),
        "numeric rows that pass": _numeric(done),
        "programs (SHA-256)": ", ".join(f"{name} {value[:12]}" for name, value in sorted(programs.items())) or "none",
        "runs": f"{_runs(done)}, all of these programs; {reused} from an earlier call",
        "machine time": f"{_duration(done.cpu_s)} of CPU in the simulators; this call took {_duration(done.wall_s)}",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
    }
