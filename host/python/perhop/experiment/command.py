# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop motion` and `perhop graph`: parse, call the library and print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from perhop import files, paths
from perhop.errors import FieldError, PerhopError
from perhop.terminal import fail


def motion(
    experiment: Annotated[
        Path,
        typer.Argument(readable=False, help="An experiment file, its folder, or the name of one that perhop brings."),
    ],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Override a field: --set topology.seed=3")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="As `perhop run --quick` has it.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="A folder for the traces, in ns-2's setdest format.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell how the nodes of an experiment move, and write the traces so that ns-2 can run the same."""
    try:
        told = _tell(paths.experiment_file(experiment), set_ or [], quick, out)
    except PerhopError as error:
        fail(error, json_)
    if json_:
        print(json.dumps(told))
        return
    for row in told:
        print("  ".join(str(row[name]) for name in ("trace", "words", "file") if row[name]))


def _tell(source: Path, overrides: list[str], quick: bool, out: Path | None) -> list[dict[str, object]]:
    from perhop.experiment import motion as library
    from perhop.experiment.load import load, located
    from perhop.mobility import setdest

    told: list[dict[str, object]] = []
    seen: set[str] = set()
    for point in load(source, overrides, quick):
        experiment = point.experiment
        try:
            about = library.about(experiment, source.parent)
            trace = library.topology_trace(experiment, source.parent)
        except FieldError as error:
            raise located(point.document, error) from None
        if not isinstance(experiment.topology, library.Mobile):
            raise PerhopError(
                f"{source}: topology.kind is {experiment.topology.kind}, whose nodes stand",
                "give an experiment whose topology is random_waypoint or a file of a trace",
            )
        swept = ", ".join(f"{name}={value}" for name, value in point.swept.items() if name.startswith("topology."))
        words = f"{experiment.duration_s:g} s, links up to {experiment.medium.tx_range_m:g} m: "
        words += about.words() if about else f"not surveyed, of more than {library.MOST_SURVEYED_NODES} nodes"
        text = setdest.write(trace, f"{experiment.name} {swept}\n{words}\n{experiment.topology!r}")
        # Points that differ in something else have the same trace.
        if text in seen:
            continue
        seen.add(text)
        file = out / f"{experiment.name}-{len(told)}.tcl" if out else None
        if file:
            files.write_text(file, text)
        told.append(
            {"trace": f"trace {len(told)}", "swept": swept, "words": words, "file": paths.shown(file) if file else None}
            | (about.row() if about else {})
        )
    return told


def graph(
    experiment: Annotated[
        Path,
        typer.Argument(readable=False, help="An experiment file, its folder, or the name of one that perhop brings."),
    ],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Override a field: --set topology.hops=3")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The GraphML file; default: ./NAME.graphml.")] = None,
    at_s: Annotated[float, typer.Option("--at", min=0, help="Of nodes that move: where they are at this second.")] = 0,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the network of an experiment as GraphML: nodes with their places, links over the air and by wire."""
    try:
        name, text = _graph(paths.experiment_file(experiment), set_ or [], at_s)
        target = out or Path(f"{name}.graphml")
        files.write_text(target, text)
    except PerhopError as error:
        fail(error, json_)
    nodes, edges = text.count("<node "), text.count("<edge ")
    if json_:
        print(json.dumps({"file": str(target), "nodes": nodes, "edges": edges}))
        return
    print(f"{paths.shown(target)}: {nodes} nodes, {edges} links")


def _graph(source: Path, overrides: list[str], at_s: float) -> tuple[str, str]:
    """The name of an experiment and its one network."""
    from perhop.experiment import graphml
    from perhop.experiment.load import load, located

    found: dict[str, str] = {}
    for point in load(source, overrides):
        try:
            found[graphml.text(point.experiment, source.parent, at_s)] = point.experiment.name
        except FieldError as error:
            raise located(point.document, error) from None
    if len(found) > 1:
        raise PerhopError(
            f"{source}: its sweep has {len(found)} networks, and a file is of one",
            "choose one, such as --set topology.hops=4",
        )
    ((text, name),) = found.items()
    return name, text
