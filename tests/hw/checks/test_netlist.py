# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths between clocks, and their constraints, in netlists small enough to know by heart."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "hw"))

from checks.constraints import wrong_constraints  # noqa: E402
from checks.crossings import wrong_crossings  # noqa: E402
from checks.designs import Subject  # noqa: E402
from checks.elaboration import Instance  # noqa: E402
from checks.netlist import Design, Netlist  # noqa: E402
from checks.tree import Tree  # noqa: E402
from checks.xdc import read_xdc  # noqa: E402

CLOCK_A, CLOCK_B, DATA = 2, 3, 10  # nets
TWO_BITS = """set_max_delay -datapath_only 4.0 -from [get_cells -hierarchical -filter {NAME =~ *count_q_reg*}] \\
  -to [get_cells -hierarchical -filter {NAME =~ *cdc_first_q_reg*}]
set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ *cdc_first_q_reg* || NAME =~ *cdc_second_q_reg*}]
"""


def register(clock: int, data: list[int], out: list[int]) -> dict:
    directions = {"CLK": "input", "D": "input", "Q": "output"}
    return {"type": "$dff", "connections": {"CLK": [clock], "D": data, "Q": out}, "port_directions": directions}


def two_input(kind: str, a: list[int], b: list[int], out: list[int]) -> dict:
    directions = {"A": "input", "B": "input", "Y": "output"}
    return {"type": kind, "connections": {"A": a, "B": b, "Y": out}, "port_directions": directions}


def subject(cells: dict[str, dict], modules: dict[str, str]) -> Subject:
    """A design of two clocks; `modules` by path."""
    ports = {name: {"direction": "input", "bits": [bit]} for name, bit in (("clk_a", CLOCK_A), ("clk_b", CLOCK_B))}
    netnames = {name: {"bits": port["bits"]} for name, port in ports.items()}
    design = Design("top", (), {"clk_a": [], "clk_b": []})
    made = Subject("small", Tree(Path("/nowhere")), design, {"clk_a": 5.0, "clk_b": 4.5})
    module = {"ports": ports, "netnames": netnames, "cells": cells}
    made.__dict__["netlist"] = Netlist({"modules": {"top": module}}, design)
    made.__dict__["modules"] = {path: Instance(path, name, {}) for path, name in modules.items()}
    return made


def synchronised(before: dict[str, dict] | None = None, heard: tuple[int, ...] = (20, 21)) -> Subject:
    cells = {
        "$driver$count_q": register(CLOCK_A, [DATA, DATA + 1], [20, 21]),
        "$driver$u_sync.cdc_first_q": register(CLOCK_B, list(heard), [30, 31]),
        "$driver$u_sync.cdc_second_q": register(CLOCK_B, [30, 31], [40, 41]),
    }
    return subject(cells | (before or {}), {"u_sync": "cdc_bit"})


def test_a_synchroniser_may_hear_another_clock_and_nobody_else():
    assert wrong_crossings(synchronised()) == []
    straight = subject(
        {"$driver$a_q": register(CLOCK_A, [DATA], [20]), "$driver$b_q": register(CLOCK_B, [20], [30])}, {}
    )
    assert wrong_crossings(straight) == ["b_q is of clk_b and hears a_q of clk_a"]


def test_logic_before_a_synchroniser_is_seen_where_bits_meet():
    beside = synchronised({"and": two_input("$and", [20, 21], [DATA, DATA], [22, 23])}, (22, 23))
    assert wrong_crossings(beside) == []  # each bit hears one register
    crossed = synchronised({"and": two_input("$and", [20, 21], [21, 20], [22, 23])}, (22, 23))
    assert [each for each in wrong_crossings(crossed) if "through logic" in each]


def memory(path: str, write_clock: int | None, address: list[int], out: list[int]) -> dict:
    """One bit wide, two words, read without a clock."""
    written = [] if write_clock is None else [write_clock]
    wires = {"WR_CLK": written, "WR_DATA": [DATA], "WR_ADDR": [DATA + 1], "WR_EN": ["1"]}
    wires |= {"RD_CLK": ["x"], "RD_ADDR": address, "RD_DATA": out, "RD_EN": ["1"]}
    given = {"MEMID": f"\\{path}", "WIDTH": "1", "SIZE": "10", "ABITS": "1", "RD_CLK_ENABLE": "0"}
    return {"type": "$mem_v2", "connections": wires, "parameters": given, "port_directions": {}}


def read_elsewhere(write_clock: int | None, modules: dict[str, str]) -> Subject:
    """A memory in u_fifo whose reading end is of clk_b, and a register of clk_b that takes its words."""
    cells = {
        "mem": memory("u_fifo.cdc_memory", write_clock, [25], [26]),
        "$driver$u_fifo.read_q": register(CLOCK_B, [DATA], [25]),
        "$driver$taken_q": register(CLOCK_B, [26], [27]),
        "$driver$other_q": register(CLOCK_A, [DATA], [28]),
    }
    return subject(cells, modules)


def test_a_memory_is_read_at_another_clock_only_at_a_fifo_s_end():
    assert wrong_crossings(read_elsewhere(CLOCK_A, {"u_fifo": "cdc_fifo"})) == []
    of_none = wrong_crossings(read_elsewhere(CLOCK_A, {"u_fifo": "anything"}))
    assert of_none == ["taken_q is of clk_b and hears u_fifo.cdc_memory of clk_a"]
    assert wrong_crossings(read_elsewhere(CLOCK_B, {"u_fifo": "anything"})) == []


def test_a_table_that_nobody_writes_is_of_no_clock():
    assert wrong_crossings(read_elsewhere(None, {"u_fifo": "anything"})) == []


def test_bits_that_belong_together_want_a_delay_below_a_period():
    assert wrong_constraints(synchronised(), read_xdc(TWO_BITS)) == []
    slow = wrong_constraints(synchronised(), read_xdc(TWO_BITS.replace("4.0", "4.6")))
    assert len(slow) == 1 and "4.6 ns is more than a period, 4.500 ns" in slow[0]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            TWO_BITS.partition("set_property")[0],
            "",
            "no constraint is of the crossing from count_q to u_sync.cdc_first_q",
        ),
        ("*count_q_reg*", "*count_reg*", "-from finds no cells"),
        ("-datapath_only ", "", "-datapath_only is missing"),
        (" || NAME =~ *cdc_second_q_reg*", "", "2 registers of synchronisers have no ASYNC_REG"),
        ("*count_q_reg*", "*_q_reg*", "cells of no crossing"),
        (
            "set_property",
            "set_false_path -to [get_pins -hierarchical -filter {NAME =~ *u_sync/cdc_first_q_reg*/D}]\nset_property",
            "a false path over bits that belong together",
        ),
    ],
)
def test_each_way_to_get_a_constraint_wrong_is_told(old, new, says):
    assert old in TWO_BITS
    wrong = wrong_constraints(synchronised(), read_xdc(TWO_BITS.replace(old, new)))
    assert any(says in each for each in wrong), wrong
