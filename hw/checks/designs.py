# SPDX-License-Identifier: GPL-2.0-or-later
"""The designs whose clock crossings are looked at: our block of each kind of image, and the example of a port."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from checks.elaboration import Instance, block_sources, instances_of, models
from checks.netlist import Design, Netlist, elaborate
from checks.rates import DEVICES, clocks_per_us, master_clock_mhz
from checks.tree import Tree

BUS, MAC, RADIO = "rfnoc_chdr_clk", "mac_clk", "radio_clk"
NO_CLOCK = "no clock"
# A NoC shell's control port and packets are of the bus's clock, as the block descriptions have it. What passes between
# image core and shell is UHD's.
NOC_SHELL = {"*ctrlport_req*": BUS, "*ctrlport_resp*": BUS, "ctrlport_rst": BUS, "*_axis_*": BUS, "axis_data_rst": BUS}
# MAC and modem are of one clock: left out, netlists take a second.
RADIO_TOP = {"*": ".clk"}


@dataclass(frozen=True)
class Subject:
    """A design, its netlist and its modules."""

    name: str
    tree: Tree
    design: Design
    periods_ns: dict[str, float]
    """The shortest of each clock that an image has."""

    @cached_property
    def netlist(self) -> Netlist:
        return elaborate(self.tree, self.design, f"netlist_{self.name}")

    @cached_property
    def modules(self) -> dict[str, Instance]:
        """Instances by their path."""
        found = instances_of(self.tree, self.design.top, list(self.design.sources), "", self.design.parameters)
        return {each.path: each for each in found}


def image_subjects(tree: Tree) -> list[Subject]:
    """Our blocks: straight at the converter, with a change of the rate, and over streams."""
    kinds: dict[str, list[dict]] = {}
    periods: dict[str, dict[str, float]] = {}
    for core in tree.image_cores().values():
        block, parameters = tree.block_of(core)
        kind = block if parameters.get("DECIMATION", 1) == 1 else f"{block}_decimating"
        kinds.setdefault(kind, []).append(parameters)
        fastest = {BUS: DEVICES[core["device"]].bus_mhz, MAC: clocks_per_us(parameters)}
        if block == "perhop":
            fastest[RADIO] = float(master_clock_mhz(parameters))
        for clock, mhz in fastest.items():
            known = periods.setdefault(kind, {})
            known[clock] = min(known.get(clock, 1e9), 1e3 / mhz)
    return [_of_block(tree, kind, images[0], periods[kind]) for kind, images in sorted(kinds.items())]


def _of_block(tree: Tree, kind: str, parameters: dict, periods_ns: dict[str, float]) -> Subject:
    block = kind.removesuffix("_decimating")
    written = tree.out / f"models_{block}.v"
    written.write_text(models(tree, block))
    # Yosys takes no real numbers, and clocks are boxes here.
    whole = {name: value for name, value in parameters.items() if not name.startswith("CLOCK_")}
    whole |= {"CLOCK_PERIOD_NS": 5, "CLOCK_DIVIDE": 1, "CLOCK_MULTIPLY": 5, "CLOCK_OUTPUT": 16}
    clocks = {BUS: ["s_rfnoc_chdr_*", "m_rfnoc_chdr_*"], MAC: []}
    if block == "perhop":
        clocks[RADIO] = ["radio_*", "other_*"]
    design = Design(
        top=f"rfnoc_block_{block}",
        sources=(*tree.rtl(), *block_sources(block), str(written.relative_to(tree.root))),
        clocks=clocks,
        boxes={"radio_top": RADIO_TOP, f"noc_shell_{block}": NOC_SHELL, "mac_clock": {"stands": NO_CLOCK}},
        parameters=whole,
    )
    return Subject(kind, tree, design, periods_ns)


def port_subject(tree: Tree) -> Subject:
    """The port to an AD936x, which has no constraints of ours."""
    ports = [str(path.relative_to(tree.root)) for path in sorted((tree.root / "hw/ports").glob("*/*.sv"))]
    clocks = {
        "host_clk": ["s_access_*", "m_answer_*", "s_axi*", "m_axis*", "host_rst"],
        "data_clk": ["rx_*", "tx_*", "txnrx"],
    }
    design = Design("ad936x_top", (*tree.rtl(), *ports), clocks, {"radio_top": RADIO_TOP})
    return Subject("ad936x_top", tree, design, {})
