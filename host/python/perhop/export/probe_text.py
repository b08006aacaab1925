# SPDX-License-Identifier: GPL-2.0-or-later
"""What `perhop probe` prints of a node."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perhop.export.probe import histogram_bounds_us
from perhop.export.words import PARTS, neighbour_name, rate_text, share_text, stacked_bar, time_text
from perhop.registers import spec_generated as spec

BAR_CELLS = 48
COUNTERS = (
    ("RTS sent", "rts_sent"),
    ("CTS sent", "cts_sent"),
    ("DATA sent", "data_sent"),
    ("of them retries", "data_retries_sent"),
    ("MAC ACKs sent", "mac_ack_sent"),
    ("no answer", "timeouts"),
    ("delivered", "delivered"),
    ("to groups", "group_sent"),
    ("short retry limit", "short_retry_limit"),
    ("long retry limit", "long_retry_limit"),
    ("received for the host", "rx_delivered"),
    ("duplicates", "rx_duplicate"),
    ("bad FCS", "rx_bad_fcs"),
    ("host too slow: receptions lost", "rx_overflow"),
    ("host too slow: completions lost", "done_overflow"),
    ("refused", "tx_refused"),
)


def print_probe(console: Console, told: dict[str, Any]) -> None:
    console.print(render(told), highlight=False, soft_wrap=False)


def render(told: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [_title(told)]
    parts += [_indented(Text(sentence, style="yellow")) for sentence in told["without_effect"]]
    if told["registers"]:
        parts.append(_indented(_settings(told)))
        parts.append(_indented(_counters(told)))
    if not told["neighbours"]:
        parts.append(_indented(Text("no neighbour has been sent to yet", style="dim")))
    parts += [_indented(_neighbour(neighbour)) for neighbour in told["neighbours"]]
    return Group(*parts)


def _indented(body: RenderableType) -> Padding:
    return Padding(body, (0, 0, 0, 4))


def _title(told: dict[str, Any]) -> Text:
    mac = told["mac"]
    text = Text()
    text.append(f"node {told['node']}", style="bold")
    text.append(f"  {told['interface']}")
    if mac is not None:
        text.append(f"  {mac['address']}  {mac['profile']} at {rate_text(mac['data_rate_bps'])}")
    if told["mac_up"]:
        text.append("  MAC up", style="green")
    else:
        text.append("  MAC down", style="bold red")
        if told["mac_problem"]:
            text.append(f" ({told['mac_problem']})", style="red")
    text.append(f"  queue {told['queued_packets']} of {told['queue_limit_packets']}")
    drops = told["packets"]["queue_drops"]
    if drops:
        text.append(f"  {drops} dropped there", style="red")
    return text


def _settings(told: dict[str, Any]) -> Text:
    registers = told["registers"]

    def value(name: str, field: str = "value_us") -> Any:
        return registers[name][field] if name in registers else "-"

    mode = value("access_mode", "mode")
    words = [
        f"access {spec.AccessMode(mode).name.lower() if mode != '-' else mode}",
        f"slot {value('slot')} us",
        f"SIFS {value('sifs')} us",
        f"DIFS {value('difs')} us",
        f"EIFS {value('eifs')} us",
        f"response timeout {value('response_timeout')} us",
        f"CW {value('contention_window', 'cw_min')}..{value('contention_window', 'cw_max')}",
        f"retry limits {value('retry_limits', 'short_retry_limit')} short, "
        f"{value('retry_limits', 'long_retry_limit')} long",
        f"RTS above {value('rts_threshold', 'value_bytes')} bytes",
        f"averages move by 1/{2 ** value('average', 'shift') if 'average' in registers else '-'}",
    ]
    quirks = [name for name, on in registers.get("quirks", {}).items() if on]
    if quirks:
        words.append(f"ns-2 quirks {', '.join(quirks)}")
    return Text("; ".join(words), style="dim")


def _counters(told: dict[str, Any]) -> Text:
    statistics = told["statistics"]
    words = [f"{label} {statistics[key]}" for label, key in COUNTERS if statistics.get(key)]
    return Text("; ".join(words) if words else "nothing sent or received yet")


def _neighbour(neighbour: dict[str, Any]) -> RenderableType:
    title = Text()
    title.append(f"{neighbour_name(neighbour)}", style="bold")
    title.append(f"  {neighbour['mac']}  slot {neighbour['slot']}")
    average = neighbour["average"]
    if average is not None:
        title.append(f"  latency {time_text(neighbour['latency_us'])}", style="bold cyan")
        title.append(f"  (contention {time_text(average['contention_us'])}, ")
        title.append(f"overhead {time_text(average['overhead_us'])}, {average['data_attempts']:.2f} DATA attempts)")
    body: list[RenderableType] = [title]
    packets = neighbour["packets"]
    if packets:
        told = Text(f"{packets} packets, {share_text(neighbour['drops'], packets)} lost; a packet: ")
        told.append(f"{time_text(neighbour['mean_service_us'])} of service, ")
        told.append(f"longest {time_text(neighbour['longest_service_us'])}; ")
        told.append(f"{neighbour['mean_rts_attempts']:.2f} RTS and {neighbour['mean_data_attempts']:.2f} DATA attempts")
        body.append(_indented(told))
        body.append(_indented(_parts(neighbour)))
        body.append(_indented(_histogram(neighbour["histogram"])))
    return Group(*body)


def _parts(neighbour: dict[str, Any]) -> Table:
    means = {**neighbour["mean_parts_us"], "host_queue": neighbour["mean_host_queue_us"] or 0.0}
    whole = sum(means.values())
    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(justify="right")
    grid.add_column(justify="right")
    grid.add_column()
    done = 0.0
    for part in PARTS:
        mean_us = means[part.name]
        if mean_us == 0:
            continue
        # Each part stands where it begins, so that the rows are the steps of one bar.
        bar = Text(" " * round(done / whole * BAR_CELLS))
        bar.append_text(stacked_bar({part.name: mean_us}, whole, BAR_CELLS))
        done += mean_us
        grid.add_row(part.label, time_text(mean_us), share_text(mean_us, whole), bar)
    grid.add_row(Text("in all", style="bold"), Text(time_text(whole), style="bold"), "", "")
    return grid


def _histogram(counts: list[int] | tuple[int, ...]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right")
    grid.add_column(justify="right")
    grid.add_column()
    most = max(counts)
    bounds = histogram_bounds_us(len(counts))
    used = [place for place, count in enumerate(counts) if count]
    for place in range(used[0], used[-1] + 1) if used else ():
        bound = bounds[place]
        label = f"below {time_text(bound)}" if bound is not None else f"from {time_text(bounds[place - 1])}"
        grid.add_row(label, str(counts[place]), Text("▇" * round(counts[place] / most * BAR_CELLS), style="cyan"))
    return grid
