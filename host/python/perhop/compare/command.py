# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop compare`: parses, calls the library and prints."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perhop import paths
from perhop.errors import PerhopError
from perhop.terminal import EXIT_FAILED, EXIT_INTERRUPTED, Scheduler, fail, table_console


def compare(
    a: Annotated[
        Path,
        typer.Argument(
            readable=False,
            metavar="A",
            help="An experiment file or its folder, an output folder of perhop run, or one of its runs/ID.",
        ),
    ],
    b: Annotated[
        Path | None,
        typer.Argument(readable=False, metavar="B", help="The other side; default: A, with other options."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Override a field on both sides, or choose among results."),
    ] = None,
    set_a: Annotated[
        list[str] | None, typer.Option("--set-a", metavar="FIELD=VALUE", help="On side A only: this is compared.")
    ] = None,
    set_b: Annotated[list[str] | None, typer.Option("--set-b", metavar="FIELD=VALUE", help="On side B only.")] = None,
    backend_a: Annotated[str | None, typer.Option(help="Where side A runs: sim, live (root) or radio.")] = None,
    backend_b: Annotated[str | None, typer.Option(help="Where side B runs.")] = None,
    git_a: Annotated[
        str | None, typer.Option("--git-a", metavar="REVISION", help="The simulators of this git version make side A.")
    ] = None,
    git_b: Annotated[str | None, typer.Option("--git-b", metavar="REVISION", help="The same for side B.")] = None,
    about: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="May differ too: a field or section, policies, backend, version."),
    ] = None,
    inventory: Annotated[Path | None, typer.Option(help="With the backend radio: the hosts and their radios.")] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time; default: all cores.")] = None,
    scheduler: Scheduler = None,
    out: Annotated[
        Path | None, typer.Option("--out", "--output", help="Output folder; default: below ./out/compare/<name>.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The short version of the experiments.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make all runs again.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Compare two sides, paired by seed: differences with 95 % intervals, on one page.

    Refuses sides that differ in more than what is compared, and names it.
    """
    from perhop.compare import comparison, page, versions
    from perhop.compare.sides import Asked
    from perhop.report.result_line import print_result
    from perhop.study.progress import ProgressView

    start = time.monotonic()
    command = ["perhop", *sys.argv[1:]]
    console = table_console(stderr=json_)
    errors = Console(stderr=True, soft_wrap=True)
    try:
        asked = [
            Asked(
                letter,
                source,
                (*(set_ or []), *(own or [])),
                backend,
                versions.find(revision) if revision is not None else None,
                inventory,
                quick,
            )
            for letter, source, own, backend, revision in (
                ("A", a, set_a, backend_a, git_a),
                ("B", b or a, set_b, backend_b, git_b),
            )
        ]
        planned = comparison.plan(*asked, [*(set_a or []), *(set_b or [])], about, out)
        pairs = len(planned.comparison.seeds)
        console.print(
            f"[bold]{planned.a.name}[/]: {comparison.what(planned.comparison.compared)}, "
            f"{pairs} {'pair' if pairs == 1 else 'pairs'}, into {paths.shown(planned.folder)}",
            highlight=False,
        )
        with ProgressView(console) as view:
            done = comparison.run(
                planned,
                jobs,
                fresh,
                view.update,
                lambda text: console.print(text, highlight=False, markup=False),
                scheduler,
            )
        if done.interrupted:
            errors.print("Interrupted: finished runs are kept. The same command continues.")
            raise typer.Exit(EXIT_INTERRUPTED)
        page.write(done, command)
    except PerhopError as error:
        fail(error, json_)

    for text in done.failed:
        errors.print(Text(text, style="red"))
    value = comparison.as_json(done, command, reasons=json_) | {
        "run_s": round(time.monotonic() - start, 2),
        **{name: paths.shown(path) for name, path in done.written.items()},
    }
    if json_:
        print(json.dumps(value, allow_nan=False))
    else:
        _show(console, done)
        print_result("compare", value, planned.folder)
    raise typer.Exit(EXIT_FAILED if done.failed else 0)


def _show(console: Console, done: Any) -> None:
    from perhop.compare import page

    a, b = (_heading(side.letter, done.title(side)) for side in done.planned.sides)
    several = len({row.place for row in done.rows}) > 1
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ["where"] if several else []:
        table.add_column(name)
    table.add_column("quantity")
    for name in (a, b, "B less A", "95 % interval", "%", "±", "p", "pairs"):
        table.add_column(name, justify="right")
    previous = None
    # Of many places a terminal has room for what comes first only.
    shown = [row for row in done.rows if not row.quantity.flow and (not several or row.quantity.name in page.HEADLINES)]
    for row in shown:
        difference, quantity = row.difference, row.quantity
        begin = [row.place if row.place != previous else ""] if several else []
        if previous is not None and row.place != previous:
            table.add_section()
        previous = row.place
        absolute, relative = difference.absolute, difference.relative
        ends = [quantity.shown(end, True) for end in (absolute.low, absolute.high) if end is not None]
        interval = " .. ".join(ends) or "-"
        table.add_row(
            *begin,
            f"{quantity.title} {quantity.unit}".strip(),
            quantity.shown(difference.mean_a),
            quantity.shown(difference.mean_b),
            quantity.shown(absolute.value, True),
            Text(interval, style="bold" if absolute.excludes_zero else ""),
            f"{100 * relative.value:+.1f}" if relative else "-",
            f"{100 * relative.half:.1f}" if relative and relative.half is not None else "-",
            page.p_words(difference.p),
            str(len(difference.pairs)),
        )
    console.print(table)
    if len(shown) < len(done.rows):
        console.print(f"{len(done.rows) - len(shown)} more differences are on the page", highlight=False)
    for text in [*page.sentences(done), *done.notes]:
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    reasons = dict.fromkeys(row.difference.test for row in done.rows)
    console.print(f"test        {', '.join(reasons)}; the page says why", highlight=False)
    for name in ("report", "differences"):
        console.print(f"{name:<12}{paths.shown(done.written[name])}", highlight=False, soft_wrap=True)


def _heading(letter: str, title: str) -> str:
    return letter if title == letter else f"{letter}: {title}"
