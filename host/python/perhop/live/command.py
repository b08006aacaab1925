# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop live ...`: parses, calls the library and prints."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perhop.errors import PerhopError
from perhop.terminal import fail as _fail

app = typer.Typer(no_args_is_help=True, help="Real programs over the emulated medium: one network namespace a node.")

Name = Annotated[str | None, typer.Option("--name", help="Which live network; needed where there are several.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def up(
    experiment: Annotated[
        Path, typer.Argument(help="An experiment file, its folder, or the name of one that perhop brings.")
    ],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Override a field: --set topology.hops=3")
    ] = None,
    policy: Annotated[str | None, typer.Option(help="Policy of all TCP flows; default: the file's first.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the network; default: the experiment's.")] = None,
    exact: Annotated[
        str | None, typer.Option(help="Rates of UDP flows by EXACT: m1, m2 or off; default: as the file's flows need.")
    ] = None,
    udp: Annotated[
        str, typer.Option(help="With EXACT: asked paces the UDP flows that applications follow, all every one.")
    ] = "asked",
    routing: Annotated[
        str, typer.Option(help="static: the shortest paths, set at the start; babel: a babeld in each node.")
    ] = "static",
    enforce: Annotated[
        str,
        typer.Option(
            help="How the window limit holds the kernel's TCP: window lowers what ACKs advertise, ebpf clamps cwnd."
        ),
    ] = "window",
    capture: Annotated[
        bool, typer.Option("--capture", help="Record each node's packets, so that Wireshark can capture them.")
    ] = False,
    json_: Json = False,
) -> None:
    """Bring a network up: a namespace, a TUN interface and a daemon for each node, and the medium between them."""
    from perhop.live import network, plan

    try:
        planned = plan.make_plan(experiment, set_ or (), policy, name, exact, routing, udp, enforce)
        for text in planned.cautions:
            Console(stderr=True).print(f"[bold yellow]warning:[/] {text}", highlight=False)
        done = network.up(planned, lambda text: Console(stderr=True).print(text, highlight=False), captures=capture)
    except PerhopError as error:
        _fail(error, json_)
    if json_:
        print(json.dumps(done))
        return
    print(f"{done['name']}: {done['nodes']} nodes, policy {done['policy']}, up in {done['setup_s']:.1f} s")
    for node in planned.nodes:
        print(f"  node {node.index}: {node.ipv4}  {node.ipv6}")
    print(f"try: perhop live exec --name {planned.name} first -- ping {planned.nodes[-1].ipv4}")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def exec(
    node: Annotated[str, typer.Argument(help="A node's index, first or last.")],
    command: Annotated[list[str], typer.Argument(help="What to run there, after `--`.")],
    name: Name = None,
) -> None:
    """Run a program on a node; its exit status is the command's."""
    from perhop.live import network

    try:
        arguments = network.command_in(network.only_name(name), node, command)
    except PerhopError as error:
        _fail(error)
    os.execvp(arguments[0], arguments)


@app.command()
def policy(
    policy: Annotated[str, typer.Argument(help="Such as none, delay, 'fixed 4' or 'delay + dca'.")], name: Name = None
) -> None:
    """Give all TCP flows another policy while they run: on all nodes, or on none if one cannot have it."""
    from perhop.live import network

    try:
        chosen = network.only_name(name)
        print(f"{chosen}: policy {network.set_policy(chosen, policy)}")
    except PerhopError as error:
        _fail(error)


@app.command()
def event(
    kind: Annotated[str, typer.Argument(help="As in experiment files: route, link_down, node_down, move, loss ...")],
    fields: Annotated[list[str] | None, typer.Argument(metavar="FIELD=VALUE...", help="Its fields: path=[0,3]")] = None,
    name: Name = None,
) -> None:
    """Let something happen now: a new route, a link or a node that goes or comes back, a move, lost frames."""
    from perhop.live import network

    try:
        network.let_happen(network.only_name(name), kind, fields or [])
    except PerhopError as error:
        _fail(error)


@app.command()
def down(
    name: Annotated[str | None, typer.Argument(help="Which live network; default: the only one.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
) -> None:
    """End a network and remove all that belongs to it, whatever state it is in."""
    from perhop.live import network

    try:
        for each in network.names() if all_ else [network.existing_name(name)]:
            network.down(each)
            print(f"{each}: removed")
    except PerhopError as error:
        _fail(error)


@app.command()
def status(name: Name = None, json_: Json = False) -> None:
    """What the processes, the medium and the nodes of a network are doing. Exit status 1: something is not well."""
    from perhop.live import network

    try:
        found = network.status(network.only_name(name))
    except PerhopError as error:
        _fail(error, json_)
    if json_:
        print(json.dumps(found))
    else:
        _print_status(found)
    raise typer.Exit(0 if found["ok"] else 1)


def _print_status(found: dict[str, Any]) -> None:
    console = Console(width=110 if not Console().is_terminal else None)
    medium = found["medium"]
    console.print(f"{found['name']}: policy {found['policy']}", highlight=False)
    for problem in found["problems"]:
        console.print(Text(problem, style="bold red"))
    if medium is not None:
        late = medium["late"]
        console.print(
            f"medium: {medium['time_us'] / 1e6:.1f} s, {medium['transmissions']} frames, {late['events']} events, "
            f"99.9 % at most {late['p999_us']} us late, {medium['slips']} times put off",
            highlight=False,
        )
    scripted = found["events"]
    if scripted["of"]:
        console.print(f"events: {scripted.get('played', 0)} of {scripted['of']} played", highlight=False)
        for error in scripted.get("errors", []):
            console.print(f"event {error['event']} failed: {error['problem']}", style="bold red")
    table = Table(box=None, pad_edge=False)
    for column in ("node", "address", "MAC", "from IP", "to IP", "passed on", "queue", "drops", "TCP flows (limit)"):
        table.add_column(column)
    for node in found["nodes"]:
        daemon = node["daemon"]
        if daemon is None:
            table.add_row(str(node["index"]), node["ipv4"], Text("no daemon", style="bold red"))
            continue
        packets = daemon["packets"]
        flows = " ".join(str(flow["cwl_packets"]) for flow in daemon["flows"] if "cwl_packets" in flow)
        table.add_row(
            str(node["index"]),
            node["ipv4"],
            "up" if daemon["mac_up"] else Text("down", style="bold red"),
            *(str(value) for value in (packets["from_ip"], packets["to_ip"], packets["forwarded"])),
            str(daemon["queued_packets"]),
            str(packets["queue_drops"] + packets["mac_drops"]),
            f"{len(daemon['flows'])} ({flows})" if flows else str(len(daemon["flows"])),
        )
    console.print(table)
