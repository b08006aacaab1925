# SPDX-License-Identifier: GPL-2.0-or-later
"""The `perhop` command: parses, calls the library and prints."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perhop import front, paths
from perhop.compare.command import compare
from perhop.dlep.command import dlep
from perhop.errors import PerhopError
from perhop.experiment.command import graph, motion
from perhop.experiment.policy_command import app as policy_app
from perhop.export import command as export_commands
from perhop.flowgraph.command import flowgraph
from perhop.imports.command import import_
from perhop.live.command import app as live_app
from perhop.node.command import node
from perhop.terminal import EXIT_FAILED, EXIT_INTERRUPTED, Commands, Scheduler, fail, table_console

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(live_app, name="live")
app.add_typer(policy_app, name="policy")
app.command()(compare)
app.command()(motion)
app.command()(graph)
app.command("import")(import_)
app.command()(node)
app.command()(flowgraph)
export_commands.register(app)
app.command()(dlep)


def main() -> None:
    app()


@app.callback()
def _all_commands(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=front.print_version, help="Print the version.")
    ] = False,
) -> None:
    """Experiments with a MAC that measures what every packet costs on every hop."""


@app.command()
def run(
    # Whether it can be read is told by whoever reads it.
    experiment: Annotated[
        Path,
        typer.Argument(
            readable=False, help="An experiment file, its folder, or the name of one that perhop brings: chain."
        ),
    ],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Override a field: --set topology.hops=3")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time; default: all cores.")] = None,
    scheduler: Scheduler = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "--output", help="Output folder; default: ./out/runs/<name>, or ./out/NAME of --result-target."
        ),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            help="Where the MAC runs: sim, kernel (with Linux' TCP in virtual time), live (in real time, root) or "
            "radio; default: as the file says."
        ),
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option(help="With --backend radio: the hosts and their radios, such as hw/inventory/hosts.yml."),
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            help="Output folder of the same experiment from another backend: the report shows them side by side."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A short version, without the experiment's check.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Insist on continuing an earlier call.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make all runs again; replace results of another experiment.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
    check_: Annotated[
        bool, typer.Option("--check", help="Look whether the experiment can be run, and run nothing.")
    ] = False,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            is_eager=True,
            callback=front.print_schema,
            help="Print the JSON Schema of experiment files, for editors, and do nothing else.",
        ),
    ] = False,
    result_target: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="End with a RESULT line; write it to ./out/NAME/result.json."),
    ] = None,
) -> None:
    """Run an experiment, then write results.parquet, packets.pcapng and report.html.

    Finished runs are kept: after Ctrl-C or a failure the same command continues.
    """
    from perhop.experiment.cautions import cautions
    from perhop.report import study_page
    from perhop.report.beside import demand
    from perhop.report.table import flows_table, results_table
    from perhop.study import studies
    from perhop.study.plan import make_plan
    from perhop.study.progress import ProgressView
    from perhop.study.state import state_exists

    start = time.monotonic()
    console = table_console(stderr=json_)
    overrides = list(set_ or [])
    try:
        if resume and fresh:
            raise PerhopError("--resume and --fresh contradict each other", "give one of them")
        if out is None and result_target:
            out = paths.output() / result_target
        others = _folders_by_backend(beside) if beside else None
        planned = make_plan(experiment, overrides, quick, out, backend, inventory, others)
        demand(planned.points, planned.backend.name, others or {})
        if check_:
            front.print_checked(planned, json_)
            raise typer.Exit
        if resume and not state_exists(planned.folder):
            raise PerhopError(
                f"there is nothing to resume in {paths.shown(planned.folder)}", "leave --resume away, or give its --out"
            )
        console.print(
            f"[bold]{planned.name}[/]: {len(planned.runs)} runs, "
            f"{planned.points[0].experiment.medium.reception} reception, into {paths.shown(planned.folder)}",
            highlight=False,
        )
        for text in dict.fromkeys(text for point in planned.points for text in cautions(point.experiment)):
            console.print(Text.assemble(("warning: ", "bold yellow"), text))
        planned.backend.note = lambda text: console.print(text, highlight=False, markup=False, soft_wrap=True)
        with ProgressView(console) as view:
            done = studies.run(
                planned, jobs, fresh, command=_command(), on_change=view.update, check=not quick, scheduler=scheduler
            )
        done = study_page.write(done, _command())
    except PerhopError as error:
        fail(error, json_)

    for outcome in done.study.failed:
        _stderr().print(Text.assemble((f"{outcome.run.label}: ", "bold red"), outcome.message))
    if json_:
        print(json.dumps(_as_json(done, time.monotonic() - start), allow_nan=False))
    elif done.summaries:
        if each_flow := flows_table(done.summaries):
            console.print(each_flow)
        console.print(results_table(done.summaries, console.width))
        _print_closing(console, done, time.monotonic() - start)
    code = _exit_code(done)
    if done.study.interrupted:
        left = sum(outcome.status != "finished" for outcome in done.study.outcomes)
        _stderr().print(
            f"Interrupted: {len(done.study.outcomes) - left} of {len(done.study.outcomes)} runs are finished and kept. "
            "The same command continues.",
            highlight=False,
        )
    if result_target and not done.study.interrupted:
        from perhop.report.result_line import print_result

        print_result(result_target, _as_json(done, time.monotonic() - start), paths.output() / result_target)
    raise typer.Exit(code)


@app.command()
def reproduce(
    asked: Annotated[
        list[str] | None, typer.Argument(metavar="[ROW|PAPER|all]...", help="Rows such as D-09, papers such as 001.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The papers' durations and seeds, or minutes for all of it.")
    ] = False,
    full_of: Annotated[
        list[str] | None,
        typer.Option(metavar="ROW|PAPER", help="Rows that run in full among quick ones; may be given several times."),
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time; default: all cores.")] = None,
    scheduler: Scheduler = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make all runs again.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "--output", help="Output folder of everything; default: ./out/reproduce, or ./out/reproduce-full."
        ),
    ] = None,
) -> None:
    """Show each claim of the papers beside what is measured: one page, a verdict a row.

    Finished runs are kept: after Ctrl-C the same command continues. Runs of another build are made again.
    """
    from perhop.report.result_line import print_result
    from perhop.reproduce import page as reproduce_page
    from perhop.reproduce import reproduction as library
    from perhop.study.progress import ProgressView

    console = table_console()

    def tell_plan(parts: list[library.Part], runs: int) -> None:
        rows = sum(len(part.rows) for part in parts)
        console.print(f"{rows} rows with an experiment, {len(parts)} experiments, {runs} runs", highlight=False)

    with ProgressView(console) as view:
        try:
            done = library.run(
                asked or ["all"],
                quick=not full,
                jobs=jobs,
                fresh=fresh,
                out=out,
                command=_command(),
                full_of=full_of or [],
                scheduler=scheduler,
                note=lambda text: console.print(text, highlight=False, markup=False, soft_wrap=True),
                on_plan=tell_plan,
                on_change=view.update,
                on_check=lambda part: view.note(f"judging {part.name}"),
            )
        except PerhopError as error:
            fail(error)
        except KeyboardInterrupt:
            _stderr().print("Interrupted while judging: all runs are kept. The same command continues.")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    written = reproduce_page.write(done)
    _print_verdicts(console, done)
    for name, path in written.items():
        console.print(f"{name:<9}{paths.shown(path)}", highlight=False, soft_wrap=True)
    if done.interrupted:
        _stderr().print("Interrupted: what is finished is kept. The same command continues.", highlight=False)
        raise typer.Exit(EXIT_INTERRUPTED)
    print_result("reproduce" if not full else "reproduce-full", done.as_json(), done.folder)
    raise typer.Exit(EXIT_FAILED if done.count("fail") else 0)


def _print_verdicts(console: Console, done: Any) -> None:
    styles = {"pass": "green", "finding": "yellow", "fail": "bold red", "not finished": "dim"}
    table = Table(box=None, pad_edge=False)
    for name in ("row", "verdict", "grade", "measured"):
        table.add_column(name)
    for result in done.results:
        if result.verdict != "not built":
            verdict = Text(result.verdict, style=styles[result.verdict])
            table.add_row(result.row.id, verdict, result.conditions, Text(result.measured))
    if table.row_count:
        console.print(table)
    if done.study.outdated:
        console.print(f"{done.study.outdated} runs of another build were made again", highlight=False)
    counts = ", ".join(f"{done.count(verdict)} {verdict}" for verdict in [*styles, "not built"] if done.count(verdict))
    console.print(f"{counts}; took {done.wall_s:.0f} s", highlight=False)


@app.command()
def doctor(
    inventory: Annotated[
        Path | None, typer.Option(help="Look at the hosts of this inventory instead, as --backend radio does.")
    ] = None,
    experiment: Annotated[
        Path | None, typer.Option(help="With --inventory: whether the radios have this experiment's settings, too.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what this machine, or the hosts of an inventory, lack for perhop, and what to do about it."""
    if inventory is not None:
        raise typer.Exit(_show_hosts(_examine_hosts(inventory, experiment), json_))
    if experiment is not None:
        raise PerhopError("--experiment says what radios must be set to, and there is no inventory", "add --inventory")
    from perhop.doctor import examine

    examined = examine()
    if json_:
        print(json.dumps(examined.as_dict()))
    else:
        _show_machine(examined)
    raise typer.Exit(0 if examined.ok else EXIT_FAILED)


def _show_machine(examined: Any) -> None:
    """A line a feature, then what each thing that is missing is needed for, then what is there."""
    from perhop.doctor import features, remedies

    console = table_console()
    table = Table(box=None, pad_edge=False)
    for name in ("", "feature", "commands", "missing", "remedy"):
        table.add_column(name)
    for feature in features():
        missing = examined.missing(feature)
        table.add_row(
            _mark(not missing, feature.optional),
            feature.name,
            Text(", ".join(feature.commands)),
            Text(", ".join(finding.name for finding in missing)),
            Text("; ".join(remedies(missing))),
        )
    console.print(table)
    console.print()
    table = Table(box=None, pad_edge=False)
    for name in ("", "what", "found", "remedy"):
        table.add_column(name)
    for finding in examined.findings:
        mark = _mark(finding.ok, finding.optional)
        table.add_row(mark, finding.name, Text(finding.detail), Text(finding.remedy))
    console.print(table)
    missing = [finding for finding in examined.findings if not finding.ok]
    needed = sum(not finding.optional for finding in missing)
    closing = f"{needed} missing." if needed else "All that is needed is there."
    console.print(closing + (f" Other features miss {len(missing) - needed}." if len(missing) > needed else ""))


def _mark(ok: bool, optional: bool) -> Text:
    return Text("ok", style="green") if ok else Text("- ", style="yellow") if optional else Text("--", style="bold red")


def _show_hosts(findings: list[Any], json_: bool) -> int:
    missing = [finding for finding in findings if not finding.ok]
    if json_:
        print(json.dumps({"ok": not missing, "findings": [finding.as_dict() for finding in findings]}))
        return EXIT_FAILED if missing else 0
    for finding in findings:
        mark = Text("ok  ", style="green") if finding.ok else Text("--  ", style="bold red")
        remedy = f"\n      remedy: {finding.remedy}" if finding.remedy else ""
        _plain().print(mark, Text(f"{finding.name}: {finding.detail}{remedy}"), sep="")
    print(f"{len(missing)} checks fail." if missing else "All hosts are ready.")
    return EXIT_FAILED if missing else 0


def _examine_hosts(inventory: Path, experiment: Path | None) -> list[Any]:
    from perhop.experiment.load import load
    from perhop.radio import checks
    from perhop.radio.backend import Radio, close

    radio = Radio(inventory)
    points = load(paths.experiment_file(experiment)) if experiment is not None else []
    found = checks.look(
        radio.inventory, radio.wanted(points[0].experiment if points else None), checks.new_token(), "perhop doctor"
    )
    close(found)
    return [finding for looked in found for finding in looked.findings]


@app.command()
def version(json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Print the version of perhop and of the tree it comes from; with --json also where its files are."""
    found = paths.version()
    places = {"programs": paths.build(), "experiments": paths.experiments(), "specification": paths.specification()}
    whole = {**found, **{name: str(place) for name, place in places.items()}}
    print(json.dumps(whole) if json_ else front.version_text(found))


def _folders_by_backend(folders: list[Path]) -> dict[str, Path]:
    found = {}
    for folder in folders:
        try:
            told = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise PerhopError(
                f"--beside {folder} holds no results of perhop run", "give an output folder with provenance.json"
            ) from None
        backend = told.get("backend", "sim")
        if backend in found:
            raise PerhopError(
                f"--beside {found[backend]} and --beside {folder} are both of backend {backend}", "give one"
            )
        found[backend] = folder
    return found


def _plain() -> Console:
    return Console(soft_wrap=True, highlight=False)


def _stderr() -> Console:
    return Console(stderr=True, soft_wrap=True)


def _command() -> list[str]:
    return ["perhop", *sys.argv[1:]]


def _exit_code(done: Any) -> int:
    if done.study.interrupted:
        return EXIT_INTERRUPTED
    if done.study.total("sum_mismatches"):
        return EXIT_FAILED
    if done.study.failed or not done.study.complete or (done.check is not None and not done.check.passed):
        return EXIT_FAILED
    return 0


def _print_closing(console: Console, done: Any, wall_s: float) -> None:
    if done.check is not None:
        for line in done.check.lines:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        verdict = (
            Text("check: holds", style="bold green") if done.check.passed else Text("check: does not hold", "bold red")
        )
        console.print(verdict)
    from perhop.study.results import packets

    recorded = packets(done.study)
    rows = [("report", done.written["report"], ""), ("table", done.written["parquet"], "")]
    if recorded is not None:
        rows.append(("packets", done.written["pcapng"], f"  of {recorded.title}"))
    for name, path, note in rows:
        console.print(f"{name:<8} {paths.shown(path)}{note}", highlight=False, soft_wrap=True)
    console.print(
        f"records  {done.study.total('completions_checked'):,} completions, each of whose parts must sum to its whole: "
        f"{done.study.total('sum_mismatches')} do not",
        highlight=False,
        soft_wrap=True,
    )
    reused = f", {done.study.reused} runs reused" if done.study.reused else ""
    console.print(f"took     {wall_s:.1f} s{reused}", highlight=False)


def _as_json(done: Any, wall_s: float) -> dict[str, Any]:
    from perhop.report.result_line import as_json

    return as_json(done, wall_s)
