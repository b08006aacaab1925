# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop probe`, `perhop top`, ...: parse, call the library and print."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from perhop import files
from perhop.errors import PerhopError
from perhop.privileges import NOBODY
from perhop.terminal import fail

# Off a terminal there is no width to ask for.
PAGE_CELLS = 120

Node = Annotated[
    str | None, typer.Argument(metavar="[NODE]", help="A node's index, first or last; default: all nodes.")
]
OneNode = Annotated[str, typer.Argument(metavar="NODE", help="A node's index, first or last.")]
Name = Annotated[str | None, typer.Option("--name", help="Which live network; needed where there are several.")]
Socket = Annotated[
    Path | None, typer.Option("--socket", help="Control socket of a daemon that is not part of a live network.")
]
User = Annotated[
    str, typer.Option("--user", metavar="USER", help="Whom the command becomes when its port is open, started by root.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Adds the commands of this folder."""
    app.command()(probe)
    app.command()(top)
    app.command()(metrics)
    app.command()(wireshark)


def page() -> Console:
    """Where to print: as wide as the terminal, or as a page."""
    return Console() if Console().is_terminal else Console(width=PAGE_CELLS)


def probe(node: Node = None, name: Name = None, socket: Socket = None, json_: Json = False) -> None:
    """What a node's MAC is set to, who its neighbours are, what packets to them cost and where that time goes."""
    from perhop.export import probe as library
    from perhop.export.nodes import find_nodes
    from perhop.export.probe_text import print_probe

    try:
        told = [library.probe(found) for found in find_nodes(node, name, socket)]
    except PerhopError as error:
        fail(error, json_)
    if json_:
        print(json.dumps(told[0] if node is not None or socket is not None else told))
        return
    console = page()
    for each in told:
        print_probe(console, each)


def top(
    node: Node = None,
    name: Name = None,
    socket: Socket = None,
    interval_s: Annotated[float, typer.Option("--interval", min=0.1, help="Seconds between two looks.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="One picture, then end.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="With --once: print JSON.")] = False,
    svg: Annotated[Path | None, typer.Option(help="With --once: write the picture to this file.")] = None,
) -> None:
    """Per-hop delay and where it goes, queues, retries, limits and flows of a live network, until Ctrl-C."""
    import re
    import time

    from rich.live import Live

    from perhop.export import top as library
    from perhop.export.nodes import find_nodes
    from perhop.export.top_text import render

    try:
        if (json_ or svg) and not once:
            raise PerhopError("--json and --svg are of one picture, and --once is not given", "add --once")
        nodes = find_nodes(node, name, socket)
        before = library.take(nodes)
        if all(status is None for status in before.nodes.values()):
            raise PerhopError("no daemon answers", "see `perhop live status`")
        time.sleep(interval_s)
        shown = library.picture(before, now := library.take(nodes))
    except PerhopError as error:
        fail(error, json_)
    if json_:
        print(json.dumps(shown))
        return
    console = page()
    if svg is not None:
        drawn = Console(width=PAGE_CELLS, record=True, file=io.StringIO(), force_terminal=True)
        drawn.print(render(shown, PAGE_CELLS), highlight=False)
        picture = drawn.export_svg(title=f"perhop top {shown['network'] or ''}".strip())
        # Without the fonts that it would load from elsewhere.
        files.write_text(svg, re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL))
    elif once:
        console.print(render(shown, console.width), highlight=False)
    if once:
        return
    try:
        with Live(console=console, screen=console.is_terminal, auto_refresh=False) as view:
            while True:
                view.update(render(shown, console.width), refresh=True)
                time.sleep(interval_s)
                before, now = now, library.take(nodes)
                shown = library.picture(before, now)
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def metrics(
    node: Node = None,
    name: Name = None,
    socket: Socket = None,
    listen: Annotated[
        str, typer.Option("--listen", metavar="[ADDRESS:]PORT", help="Where scrapes are answered.")
    ] = "127.0.0.1:9464",
    user: User = NOBODY,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Print a Grafana dashboard of these metrics, and do nothing else.")
    ] = False,
) -> None:
    """An OpenMetrics endpoint for Prometheus, of a node or of a whole live network, until Ctrl-C.

    There is no authentication: whoever reaches the address is told.
    """
    from perhop.export import grafana
    from perhop.export import openmetrics as library
    from perhop.export.nodes import find_nodes

    if dashboard:
        print(grafana.text(), end="")
        return
    try:
        address, port = library.parse_endpoint(listen)
        library.serve(find_nodes(node, name, socket), address, port, user)
    except PerhopError as error:
        fail(error)


def wireshark(
    install: Annotated[bool, typer.Option("--install", help="Copy it to where Wireshark finds it by itself.")] = False,
    install_extcap: Annotated[
        bool,
        typer.Option("--install-extcap", help="Let Wireshark capture from running simulations and live networks."),
    ] = False,
    folder: Annotated[Path | None, typer.Option(help="With one of these: another folder than Wireshark's own.")] = None,
) -> None:
    """Where the Wireshark dissector of path header, EXACT and hellos is; what else Wireshark gets."""
    from perhop import wireshark as library

    try:
        if install and install_extcap and folder is not None:
            raise PerhopError("--folder is of one of the two", "give --install or --install-extcap")
        if install or not install_extcap:
            print(library.install(folder) if install else library.dissector())
        if install_extcap:
            print(library.install_extcap(folder))
    except PerhopError as error:
        fail(error)
