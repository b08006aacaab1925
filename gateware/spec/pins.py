# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a wrapper that gives every member of a module's struct ports a port of its own.

Verilator's C++ and cocotb see a packed struct as one wide number, and pay for every bit that they move of it. The
wrapper MODULE_pins has the module's other ports as they are; of a port `head` of type descriptor_s it has head_ra,
head_peer, ..., of `settings` cfg_slot_us, cfg_sifs_us, ..., and of `s_axil` with `s_axil_response` the signals of
AXI4-Lite. Settings of a queue that the module does not have are 0. Of an array of structs a member of one bit becomes a
vector, another one an array.

PORT=SIGNAL: the pins of that output follow it while the signal is 1 and stand in between, so that a simulator moves
them only when somebody reads them.

python gateware/spec/pins.py MODULE.sv OUT.sv [PORT=SIGNAL ...]
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "rtl/common/perhop_pkg.sv"
# Taken apart; what else is a struct stays one.
STRUCTS = (
    *("mac_settings_s", "descriptor_s", "completion_record_s", "neighbour_entry_s"),
    *("phy_reception_s", "phy_transmission_s", "axil_request_s", "axil_response_s"),
    *("packet_descriptor_s", "byte_stream_s", "word_stream_s"),
    *("phy_indications_s", "phy_requests_s", "mac_events_s", "mac_statistics_s"),
    *("phy_events_s", "next_frame_s", "attempt_outcome_s", "medium_summary_s"),
)
# Names of pins that do not begin with that of the port; "": they are the members' names.
PREFIXES = {"settings": "cfg", "from_phy": "phy", "to_phy": "phy"} | dict.fromkeys(
    ("to_mac", "heard", "frame", "counted"), ""
)

_STRUCT = re.compile(r"typedef struct packed \{\n(.*?)\n  \} (\w+);", re.S)
_MEMBER = re.compile(r"^    (logic|\w+_e)((?: ?\[[^\]]+\])*) (\w+);", re.M)
_MODULE = re.compile(
    r"^module (\w+)(?P<imports>.*?)(?:#\((?P<parameters>.*?)\n\) \(|^\(|\()(?P<ports>.*?)^\);", re.S | re.M
)
_PARAMETER = re.compile(r"parameter\s+(?:\w+\s+)*?(\w+)\s*=")
_PORT = re.compile(
    r"^  (?P<way>input|output) +wire +(?P<type>\w+)(?: +signed)?(?: *\[[^\]]+\])* +(?P<name>\w+)"
    r"(?: *\[(?P<count>[^\]]+)\])?",
    re.M,
)


@dataclass(frozen=True)
class Pin:
    """A member of a struct port."""

    member: str
    name: str
    type: str  # of the pin: wire logic [..], or of an array its element
    entries: str  # "" unless it is an array
    of_queues: bool
    enum: str  # "" if none


def structs(package: str) -> dict[str, list[tuple[str, str, str]]]:
    """Of every packed struct of a package: its members as (type, dimensions, name)."""
    return {name: _MEMBER.findall(body) for body, name in _STRUCT.findall(package)}


def _pins(port: str, members: list[tuple[str, str, str]], queues: bool) -> list[Pin]:
    found = []
    for kind, dimensions, member in members:
        ranges = re.findall(r"\[([^\]]+):0\]", dimensions)
        entries = ""
        of_queues = bool(ranges) and ranges[0].startswith("MOST_QUEUES")
        if len(ranges) == 2 or of_queues:
            high = ranges.pop(0)
            entries = "MOST_QUEUES" if of_queues else str(int(high) + 1)
            if of_queues and queues:
                entries = "QUEUES"
        prefix = PREFIXES.get(port, port.removesuffix("_response"))
        name = f"{prefix}_{member.removesuffix('_number')}".removeprefix("_")
        width = f" [{ranges[0]}:0]" if ranges else ""
        if kind != "logic":
            width = f" [$bits({kind})-1:0]"
        found.append(Pin(member, name, f"wire logic{width}", entries, of_queues, kind if kind != "logic" else ""))
    return found


def _into(port: str, pins: list[Pin], queues: bool) -> str:
    """The struct from its pins."""
    terms = []
    for pin in pins:
        if pin.of_queues and queues:
            value = f"{{QUEUES > 1 ? {pin.name}[QUEUES-1] : '0, {pin.name}[0]}}"
        elif pin.entries:
            count = 2 if pin.of_queues else int(pin.entries)
            value = f"{{{', '.join(f'{pin.name}[{entry}]' for entry in reversed(range(count)))}}}"
        else:
            value = f"{pin.enum}'({pin.name})" if pin.enum else pin.name
        terms.append(f"{pin.member}: {value}")
    return f"  assign {port} = '{{\n    " + ",\n    ".join(terms) + "\n  };\n"


def _out_of(port: str, pin: Pin) -> list[str]:
    """A pin from the struct."""
    if not pin.entries:
        return [f"  assign {pin.name} = {port}.{pin.member};\n"]
    return [
        f"  for (genvar entry = 0; entry < {pin.entries}; entry++) begin : g_{pin.name}\n"
        f"    assign {pin.name}[entry] = {port}.{pin.member}[entry];\n  end\n"
    ]


def _held(port: str, pins: list[Pin], signal: str) -> list[str]:
    """Pins from the struct, which stand while a signal is 0. A wire for each member: nobody need make the struct."""
    if any(pin.entries for pin in pins):
        raise ValueError(f"port {port} has an array, which cannot be held")
    wires = [f"  {pin.type} {pin.name}_now = {port}.{pin.member};\n" for pin in pins]
    moves = [f"    {pin.name} = {pin.name}_now;\n" for pin in pins]
    return [*wires, f"  always_latch if ({signal}) begin\n", *moves, "  end\n"]


def _of_array(way: str, pin: Pin, count: str) -> str:
    """The port of a member of an array of structs."""
    if pin.type == "wire logic":
        return f"  {way} wire logic [{count}-1:0] {pin.name}"
    return f"  {way} {pin.type} {pin.name} [{count}]"


def _array(port: str, way: str, pins: list[Pin], count: str) -> str:
    """Structs in an array from or to their pins."""
    pairs = [(f"{port}[entry].{pin.member}", f"{pin.name}[entry]") for pin in pins]
    return (
        f"  for (genvar entry = 0; entry < {count}; entry++) begin : g_{port}\n"
        + "".join(f"    assign {to} = {of};\n" for to, of in (pair if way == "input" else pair[::-1] for pair in pairs))
        + "  end\n"
    )


def wrapper(source: str, package: str, held: dict[str, str] | None = None) -> str | None:
    """Text of the module NAME_pins around the module of `source`; None if it has no port that is to be taken apart.

    Args:
        held: signals by the names of the ports whose pins stand while it is 0.

    Raises:
        ValueError: the source has no module that can be read, or no such port that can be held.
    """
    held = held or {}
    found = _MODULE.search(source)
    if not found:
        raise ValueError("no module")
    module, known = found[1], structs(package)
    ports = list(_PORT.finditer(found["ports"]))
    if not any(port["type"] in STRUCTS for port in ports):
        return None
    parameters = _PARAMETER.findall(found["parameters"] or "")
    queues = "QUEUES" in parameters
    outputs = {port["name"] for port in ports if port["way"] == "output" and port["type"] in STRUCTS}
    if not held.keys() <= outputs:
        raise ValueError(f"no output that is to be taken apart: {', '.join(sorted(held.keys() - outputs))}")
    declared, wires = [], []
    for port in ports:
        if port["type"] not in STRUCTS:
            declared.append(port[0].rstrip())
            continue
        pins = _pins(port["name"], known[port["type"]], queues)
        for pin in pins:
            kind = pin.type.removeprefix("wire ") if port["name"] in held else pin.type
            declared.append(f"  {port['way']} {kind} {pin.name}" + (f" [{pin.entries}]" if pin.entries else ""))
        count = port["count"]
        wires.append(f"  {port['type']} {port['name']}{f' [{count}]' if count else ''};\n")
        if count:
            declared[-len(pins) :] = [_of_array(port["way"], pin, count) for pin in pins]
            wires.append(_array(port["name"], port["way"], pins, count))
        elif port["name"] in held:
            wires += _held(port["name"], pins, held[port["name"]])
        elif port["way"] == "input":
            wires.append(_into(port["name"], pins, queues))
        else:
            wires += [line for pin in pins for line in _out_of(port["name"], pin)]
    head = f"module {module}_pins\n  import perhop_pkg::*;\n"
    for name in dict.fromkeys(re.findall(r"import (\w+)::\*;", found["imports"])):
        head += f"  import {name}::*;\n" if name != "perhop_pkg" else ""
    if parameters:
        head += f"#({found['parameters']}\n) (\n"
    else:
        head += "(\n"
    given = ", ".join(f".{name}({name})" for name in parameters)
    lines = [
        "// SPDX-License-Identifier: GPL-2.0-or-later",
        "// Written by gateware/spec/pins.py.",
        "",
        "`default_nettype none",
        "",
        head + ",\n".join(declared),
        ");",
        "",
        "".join(wires),
        f"  {module} " + (f"#({given}) " if given else "") + f"u_{module} (.*);",
        "",
        "endmodule",
        "",
        "`default_nettype wire",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    held = dict(argument.partition("=")[::2] for argument in sys.argv[3:])
    if len(sys.argv) < 3 or not all(held.values()):
        print(__doc__, file=sys.stderr)
        return 2
    source = Path(sys.argv[1])
    try:
        text = wrapper(source.read_text(encoding="utf-8"), PACKAGE.read_text(encoding="utf-8"), held)
    except (OSError, ValueError) as error:
        print(f"pins.py: {source}: {error}", file=sys.stderr)
        return 1
    if text is None:
        print(f"pins.py: {source}: no port of it is a struct that is to be taken apart", file=sys.stderr)
        return 1
    Path(sys.argv[2]).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
