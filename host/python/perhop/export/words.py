# SPDX-License-Identifier: GPL-2.0-or-later
"""Words, colours and numbers that probe and top share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.text import Text


@dataclass(frozen=True)
class Part:
    """A part of a packet's time, as a person is told of it."""

    name: str
    label: str
    colour: str


# In the order in which a packet meets them. `host_queue` is the daemon's, the others the gateware's.
PARTS = (
    Part("host_queue", "host queue", "grey42"),
    Part("queue", "MAC queue", "grey62"),
    Part("ifs", "DIFS, EIFS", "steel_blue1"),
    Part("backoff", "back-off", "dodger_blue2"),
    Part("frozen_cca", "others on the air", "orange3"),
    Part("frozen_nav", "reserved (NAV)", "gold3"),
    Part("responder", "answering others", "medium_purple"),
    Part("timeout", "no answer", "red3"),
    Part("control", "RTS", "dark_sea_green4"),
    Part("response", "SIFS, CTS, MAC ACK", "sea_green3"),
    Part("data", "DATA", "green3"),
)
# What passes before the packet is head of line.
QUEUES = ("host_queue", "queue")


def stacked_bar(parts: dict[str, float], whole: float, width: int) -> Text:
    """A bar of `width` cells, `whole` long, of the parts in their order and colours."""
    bar = Text()
    if whole <= 0 or width <= 0:
        return bar
    done = 0.0
    cells = 0
    for part in PARTS:
        done += parts.get(part.name, 0.0)
        end = min(width, round(done / whole * width))
        bar.append("█" * (end - cells), style=part.colour)
        cells = max(cells, end)
    return bar


def legend(names: set[str], width: int) -> Text:
    """What the colours mean, of the parts that occur, in lines of at most `width` cells."""
    text = Text()
    used = 0
    for part in PARTS:
        if part.name not in names:
            continue
        cells = len(part.label) + 6
        if used + cells > width and used:
            text.append("\n")
            used = 0
        text.append("██", style=part.colour)
        text.append(f" {part.label}   ")
        used += cells
    return text


def time_text(us: float | None) -> str:
    """A time with its unit, in three or four digits."""
    if us is None:
        return "-"
    if us < 1000:
        return f"{us:.0f} us"
    if us < 100_000:
        return f"{us / 1000:.2f} ms" if us < 10_000 else f"{us / 1000:.1f} ms"
    return f"{us / 1e3:.0f} ms" if us < 10e6 else f"{us / 1e6:.0f} s"


def rate_text(bps: float | None) -> str:
    if bps is None:
        return "-"
    for unit, size in (("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if bps >= size:
            return f"{bps / size:.2f} {unit}" if bps < 10 * size else f"{bps / size:.0f} {unit}"
    return f"{bps:.0f} b/s"


def share_text(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def neighbour_name(neighbour: dict[str, Any]) -> str:
    """The neighbour's first address, or what it is."""
    if neighbour["mac"] == "ff:ff:ff:ff:ff:ff":
        return "broadcast"
    addresses: list[str] = neighbour["addresses"]
    return addresses[0] if addresses else neighbour["mac"]
