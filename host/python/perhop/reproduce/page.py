# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of `perhop reproduce`: self-contained HTML to look at, and Markdown with figures beside it to commit."""

from __future__ import annotations

import base64
import os
import platform
import re
import shutil
from pathlib import Path

from perhop import files, paths
from perhop.report import figures, page
from perhop.report.compact_svg import compact
from perhop.report.page import text as _text
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
    body = [
        "<header><h1>What the papers say, and what is measured here</h1>"
        "<p>One row a claim. A finding contradicts the paper and says why; it is never tuned away.</p></header>",
        _facts(done),
        _summary(done),
        *(_paper(done, paper) for paper in done.catalogue.papers),
        _machine(done),
    ]
    return page.document("Reproduction · perhop", body, kind="reproduction")


def _badge(verdict: Verdict) -> str:
    return f'<span class="badge {BADGES[verdict]}">{verdict}</span>'


def _facts(done: Reproduction) -> str:
    facts = {
        "grade": _grade(done),
        "rows": f"{len(done.results)}",
        "numeric rows that pass": _numeric(done),
        "runs": _runs(done),
        "CPU time of the simulators": _duration(done.cpu_s),
        "version": _version(),
    }
    items = "".join(f"<li><b>{_text(name)}</b>{_text(value)}</li>" for name, value in facts.items())
    return f'<ul class="facts">{items}</ul>'


def _grade(done: Reproduction) -> str:
    if not done.quick:
        return "full (the papers' durations)"
    return "quick (shorter runs, fewer seeds)" + (f", full for {', '.join(done.full_of)}" if done.full_of else "")


def _summary(done: Reproduction) -> str:
    head = ["paper", *(f'<span title="{MEANING[verdict]}">{_badge(verdict)}</span>' for verdict in VERDICTS), "rows"]
    lines = []
    for paper, title in done.catalogue.papers.items():
        rows = _of(done, paper)
        if not rows:
            continue
        counts = "".join(f"<td>{done.count(verdict, rows) or '<i>0</i>'}</td>" for verdict in VERDICTS)
        chips = "".join(
            f'<a class="chip {BADGES[row.verdict]}" href="#{row.row.id}" '
            f'title="{_text(row.row.title)}: {row.verdict}">{row.row.id}</a>'
            for row in rows
        )
        lines.append(
            f'<tr><td class="left"><a href="#paper-{paper}"><b>{_text(paper)}</b></a></td>{counts}'
            f'<td class="left wide"><div class="title">{_text(title)}</div>{chips}</td></tr>'
        )
    return (
        f"<section><h2>Summary</h2><p>{_meanings()}</p>"
        f"{page.table('Verdicts of each paper', head, lines, left=('paper', 'rows'), kind='summary')}</section>"
    )


def _meanings() -> str:
    return " ".join(f"{_badge(verdict)} {_text(MEANING[verdict])}." for verdict in VERDICTS)


def _paper(done: Reproduction, paper: str) -> str:
    rows = _of(done, paper)
    if not rows:
        return ""
    built = [row for row in rows if row.verdict != "not built"]
    cards = "".join(_card(row, done) for row in built)
    absent = "".join(
        f'<tr id="{row.row.id}"><td class="left"><b class="id">{row.row.id}</b></td>'
        f'<td class="left title">{_text(row.row.title)}</td><td class="left wide">{_text(row.row.claim)}</td></tr>'
        for row in rows
        if row.verdict == "not built"
    )
    if absent:
        table = page.table(
            f"Rows of paper {paper} that are not built",
            ("row", "title", "claim"),
            [absent],
            left=("row", "title", "claim"),
        )
        absent = f"<section><h3>Not built {_badge('not built')}</h3>{table}</section>"
    heading = f'<h2 class="paper" id="paper-{paper}">{_text(_paper_name(paper))}</h2>'
    return f'{heading}<p class="paper">{_text(done.catalogue.papers[paper])}</p>{cards}{absent}'


def _card(result: RowResult, done: Reproduction) -> str:
    row, part = result.row, result.part
    assert part is not None
    interval = f'<div class="interval">{_lines("95 % intervals: " + result.interval)}</div>' if result.interval else ""
    facts = [("claim", _text(row.claim)), ("check", _text(row.check))]
    facts.append(("measured", f'<div class="measured">{_clauses(result.measured)}</div>{interval}'))
    if result.evidence:
        facts.append(("evidence", _lines(result.evidence)))
    facts.append(("repeat", f"<code>{_text(_command(result))}</code> <small>{_text(_cost(part))}</small>"))
    listing = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in facts)
    pictures = "".join(_picture(figure) for figure in result.figures)
    first = next(other for other in done.results if other.part is part)
    if first is result and part.check is not None and part.check.lines:
        pictures += (
            f"<details><summary>All that the check of {_text(part.name)} says</summary>"
            f"<pre>{_text(chr(10).join(part.check.lines))}</pre></details>"
        )
    elif not pictures and first is not result:
        pictures = f'<p class="see">Figures and numbers: <a href="#{first.row.id}">{first.row.id}</a>.</p>'
    return (
        f'<section class="row is-{BADGES[result.verdict]}" id="{row.id}">'
        f'<h3><a href="#{row.id}">{row.id}</a> {_text(row.title)} {_badge(result.verdict)} '
        f"<small>{_text(result.conditions)}</small></h3>"
        f"<dl>{listing}</dl>{pictures}</section>"
    )


def _picture(file: Path) -> str:
    """An image apart, so that the names inside one SVG cannot meet those of another."""
    kind = "svg+xml" if file.suffix == ".svg" else "png"
    content = file.read_bytes()
    if file.suffix == ".svg":
        # An image apart does not see the style of the page.
        style = f"<style>{figures.dark_style()}</style>"
        svg = figures.themed(compact(content.decode()))
        content = re.sub(r"(<svg\b[^>]*>)", lambda found: found[1] + style, svg, count=1).encode()
    label = "Figure: " + file.stem.replace("_", " ")
    data = base64.b64encode(content).decode()
    return page.wide(f'<img alt="{_text(label)}" src="data:image/{kind};base64,{data}">', label)


def _machine(done: Reproduction) -> str:
    items = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in _what_was_run(done).items())
    lines = "".join(
        f'<tr><td class="left">{_text(part.name)}</td><td class="left">{", ".join(row.id for row in part.rows)}</td>'
        f"<td>{len(part.study.outcomes) if part.study else 0}</td><td>{cpu_s(part.study):.0f}</td>"
        f"<td>{part.check_s:.1f}</td></tr>"
        for part in done.parts
    )
    head = ("experiment", "rows", "runs", "CPU s of its runs", "s of its check")
    return (
        f'<section id="machine"><h2>What was run</h2><p>All it takes to make this page again.</p><dl>{items}</dl>'
        "<details><summary>Machine time of each experiment</summary>"
        + page.table("Machine time of each experiment", head, [lines], left=("experiment", "rows"))
        + "</details></section>"
    )


def _clauses(text: str) -> str:
    """A line each, when together they are long."""
    return _lines(text.replace("; ", ";\n") if len(text) > CLAUSES_APART_FROM else text)


def _lines(text: str) -> str:
    return _text(text.strip()).replace("\n", "<br>")


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
