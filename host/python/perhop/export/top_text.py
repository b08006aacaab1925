# SPDX-License-Identifier: GPL-2.0-or-later
"""What `perhop top` draws: hops with the parts of their delay as stacked bars, then flows."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perhop.export.words import QUEUES, legend, rate_text, stacked_bar, time_text

# What stands beside the bars, with its gaps.
HOP_CELLS = 70
SHORTEST_BAR_CELLS = 24
MOST_FLOWS = 16


def render(shown: dict[str, Any], width: int) -> RenderableType:
    """The picture for a terminal of `width` cells."""
    parts: list[RenderableType] = [_title(shown)]
    for label in shown["silent_nodes"]:
        parts.append(Text(f"node {label} does not answer", style="bold red"))
    for label in shown["macs_down"]:
        parts.append(Text(f"node {label}: the MAC is down", style="bold red"))
    parts += [Text(), _hops(shown, width), Text(), _flows(shown)]
    return Group(*parts)


def _title(shown: dict[str, Any]) -> Text:
    text = Text()
    text.append(shown["network"] or "perhop", style="bold")
    text.append(f"  {len(shown['nodes'])} nodes  last {shown['interval_s']:.1f} s")
    medium = shown["medium"]
    if medium is not None:
        text.append(f"  medium {medium['time_us'] / 1e6:.0f} s, {medium['frames_per_s']:.0f} frames/s, ")
        text.append(f"99.9 % at most {time_text(medium['late_p999_us'])} late")
    return text


def _hops(shown: dict[str, Any], width: int) -> RenderableType:
    busy = [hop for hop in shown["hops"] if hop["packets_per_s"] > 0 or hop["queued_packets"] > 0]
    if not busy:
        return Text("no packet was sent", style="dim")
    longest_us = max(hop["service_us"] or 0.0 for hop in busy)
    cells = max(SHORTEST_BAR_CELLS, width - HOP_CELLS)
    nodes = {node["node"]: node for node in shown["nodes"]}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in (
        ("hop", "left"),
        ("packets/s", "right"),
        ("rate", "right"),
        ("queue", "right"),
        ("retries", "right"),
        ("lost", "right"),
        ("waits", "right"),
        ("service", "right"),
    ):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("where service time goes", no_wrap=True, min_width=cells)
    seen = set()
    for hop in sorted(busy, key=lambda hop: (hop["node"].zfill(4), hop["group"], hop["neighbour"].zfill(4))):
        drops = hop["drops"] + (nodes[hop["node"]]["queue_drops"] if hop["node"] not in seen else 0)
        seen.add(hop["node"])
        table.add_row(
            f"{hop['node']} → {hop['neighbour']}",
            f"{hop['packets_per_s']:.0f}",
            rate_text(hop["rate_bps"]),
            str(hop["queued_packets"]),
            "-" if hop["retries"] is None else f"{hop['retries']:.2f}",
            Text(str(drops), style="bold red" if drops else ""),
            time_text(None if hop["service_us"] is None else sum(hop["parts_us"][name] for name in QUEUES)),
            time_text(hop["service_us"]),
            stacked_bar(_service(hop), longest_us, cells),
        )
    names = {name for hop in busy for name, part_us in _service(hop).items() if part_us > 0}
    return Group(table, Text(), legend(names, width))


def _service(hop: dict[str, Any]) -> dict[str, float]:
    """The parts of the service time: what passes in queues would dwarf them, and stands beside them as a number."""
    return {name: part_us for name, part_us in hop["parts_us"].items() if name not in QUEUES}


def _flows(shown: dict[str, Any]) -> RenderableType:
    if not shown["flows"]:
        return Text("no flow", style="dim")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("flow", "from", "to", "sent", "received", "limit", "in flight", "path", "forth", "back"):
        table.add_column(name, justify="left" if name in ("flow", "from", "to") else "right", no_wrap=True)
    for flow in shown["flows"][:MOST_FLOWS]:
        path = flow["path"]
        table.add_row(
            flow["protocol"],
            _end(flow["source"], flow["source_port"]),
            _end(flow["destination"], flow["destination_port"]),
            rate_text(flow["sent_bps"] if flow["from_node"] is not None else flow["forwarded_bps"]),
            rate_text(flow["received_bps"]),
            _number(flow["cwl_packets"]) if flow["exact_bps"] is None else rate_text(flow["exact_bps"]),
            _number(flow["in_flight_packets"]),
            "-" if path is None else f"{path['forward_hops']} + {path['return_hops']} hops",
            "-" if path is None else time_text(path["forward_total_us"]),
            "-" if path is None else time_text(path["return_total_us"]),
        )
    more = len(shown["flows"]) - MOST_FLOWS
    return Group(table, Text(f"and {more} more", style="dim")) if more > 0 else table


def _end(address: str, port: int) -> str:
    if not port:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
