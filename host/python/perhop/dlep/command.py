# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop dlep`: parse and call the library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perhop.errors import PerhopError
from perhop.export.command import Name, Socket, User
from perhop.privileges import NOBODY
from perhop.terminal import fail


def dlep(
    node: Annotated[str | None, typer.Argument(metavar="NODE", help="A node's index, first or last.")] = None,
    name: Name = None,
    socket: Socket = None,
    listen: Annotated[
        list[str] | None,
        typer.Option("--listen", metavar="ADDRESS", help="Where sessions are taken. Default: 127.0.0.1."),
    ] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="TCP port of sessions. Default: 854.")] = None,
    interface: Annotated[
        str | None, typer.Option(help="Answer routers that look for modems on this interface; default: nowhere.")
    ] = None,
    router: Annotated[
        list[str] | None,
        typer.Option("--router", metavar="ADDRESS", help="A router, or a network of them. Default: whoever comes."),
    ] = None,
    one_hop_only: Annotated[
        bool | None,
        typer.Option(
            "--one-hop-only/--any-distance",
            help="Drop what has not the hop limit 255 of a neighbour (GTSM); the default.",
            show_default=False,
        ),
    ] = None,
    interval_s: Annotated[
        float | None, typer.Option("--interval", min=0.1, help="Seconds between two looks at the node. Default: 1.")
    ] = None,
    heartbeat_s: Annotated[
        float | None, typer.Option("--heartbeat", min=0.1, max=60, help="Seconds between heartbeats. Default: 1.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A file with these settings; host/node/dlep-example.yaml is one.")
    ] = None,
    user: User = NOBODY,
) -> None:
    """A DLEP modem (RFC 8175): tells routers each neighbour's latency and rate. Runs where the node does, until Ctrl-C.

    There is no authentication: whoever is one hop away is told, unless --router names who may be. TLS is not offered.
    """
    from perhop.dlep import serve
    from perhop.dlep.configuration import load_file
    from perhop.dlep.modem import ModemConfig, networks
    from perhop.export.nodes import find_nodes

    try:
        if node is None and socket is None:
            raise PerhopError("which node?", "give NODE or --socket")
        networks(tuple(router or ()))
        (found,) = find_nodes(node, name, socket)
        wanted = load_file(
            config,
            {
                "listen": listen or None,
                "port": port,
                "interface": interface,
                "routers": router or None,
                "one_hop_only": one_hop_only,
                "interval_s": interval_s,
                "heartbeat_s": heartbeat_s,
            },
        )
        serve.run(
            found,
            ModemConfig(
                addresses=tuple(wanted.listen),
                port=wanted.port,
                interface=wanted.interface,
                interval_s=wanted.interval_s,
                heartbeat_s=wanted.heartbeat_s,
                routers=tuple(wanted.routers),
                one_hop_only=wanted.one_hop_only,
            ),
            user,
        )
    except PerhopError as error:
        fail(error)
