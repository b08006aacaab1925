# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop flowgraph LINK --node N`: parses, calls the library, and becomes the flowgraph of a node."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from perhop.errors import PerhopError
from perhop.terminal import fail


def flowgraph(
    file: Annotated[
        Path | None, typer.Argument(metavar="LINK", help="The link; flowgraphs/links/bench_chain.yml is one.")
    ] = None,
    node: Annotated[int | None, typer.Option("--node", help="Which of its nodes this host is; the first is 0.")] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Longest run.")] = 3600.0,
    window: Annotated[bool, typer.Option("--window", help="Show spectrum, constellation and delays.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the capture; default: out/flowgraphs.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check it, and print the settings of the node.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of the file.")] = False,
) -> None:
    """Run a node of a link of software radios: the MAC and the modem on this host, a USRP for the air.

    Ends when the packets of the first node are through, at Ctrl-C, or with what is wrong with the radio (status 3).
    """
    from perhop import paths
    from perhop.flowgraph import link as links
    from perhop.flowgraph import program

    if schema:
        print(json.dumps(links.Link.model_json_schema(), indent=1))
        return
    try:
        if file is None:
            raise PerhopError("there is no link", f"give a file; {links.EXAMPLE} is one")
        link = links.load_link(file)
        if node is None:
            raise PerhopError(
                "which node this is, is not said", f"add --node with one of 0 to {len(link.nodes) - 1} (the first is 0)"
            )
        folder = out or paths.output() / "flowgraphs"
        settings = links.settings_of(link, node, folder / f"{link.name.replace(' ', '_')}_{node}.pcapng")
        if check:
            print(json.dumps({"flowgraph": links.flowgraph_of(link), "settings": settings}, indent=1))
            return
        command, environment = program.command(links.flowgraph_of(link), settings, seconds, window)
        program.make_folder(folder)
    except PerhopError as error:
        fail(error)
    stretch = link.stretch()
    slower = f"; all times are {stretch:.3g} times as long as the MAC says" if stretch != 1 else ""
    Console(stderr=True, soft_wrap=True).print(
        f"{link.name}: node {node} of 0 to {len(link.nodes) - 1}, {link.phy} at {link.frequency_hz / 1e6:g} MHz, "
        f"{link.sample_rate_hz / 1e6:g} Msps{slower}; capture {paths.shown(Path(settings['capture']))}",
        highlight=False,
    )
    os.execve(command[0], command, environment)
