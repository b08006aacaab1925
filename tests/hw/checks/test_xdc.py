# SPDX-License-Identifier: GPL-2.0-or-later
"""The reader of constraints: what it takes, and what it refuses instead of skipping it."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "hw"))

from checks.tree import CheckError  # noqa: E402
from checks.xdc import matches, read_xdc  # noqa: E402

DELAY = """# counts
set_max_delay -datapath_only 4.0 \\
  -from [get_cells -hierarchical -filter {NAME =~ *gray_q_reg*}] \\
  -to   [get_pins -hierarchical -filter {NAME =~ *first_q_reg*/D || NAME =~ *other*/D}]

set_property ASYNC_REG TRUE [get_cells -hierarchical -filter {NAME =~ *first_q_reg*}]
"""


def test_commands_are_read_with_their_line_and_their_ends():
    delay, asynchronous = read_xdc(DELAY)
    assert (delay.line, delay.command, delay.value, delay.datapath_only) == (2, "set_max_delay", 4.0, True)
    assert delay.ends["from"].what == "cells" and delay.ends["from"].patterns == ("*gray_q_reg*",)
    assert delay.ends["to"].what == "pins" and delay.ends["to"].patterns == ("*first_q_reg*/D", "*other*/D")
    assert (asynchronous.line, asynchronous.name, asynchronous.value) == (6, "ASYNC_REG", "TRUE")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("create_clock -period 5 [get_ports clk]", "create_clock is not known"),
        ("set_false_path -to [get_clocks mac_clk]", "only get_cells and get_pins"),
        ("set_false_path -to [get_cells -hierarchical -filter {REF_NAME == FDPE}]", "a filter is NAME =~ PATTERN"),
        ("set_false_path -hold -to [get_cells -hierarchical -filter {NAME =~ *a*}]", "-hold is not known"),
        ("set_max_delay -from [get_cells -hierarchical -filter {NAME =~ *a*}]", "without a delay"),
        ("\n\nset_false_path -to [get_cells -hierarchical -filter {NAME =~ *a*}", "line 3: brackets"),
        ("set_property ASYNC_REG TRUE", "takes a name, a value and cells"),
    ],
)
def test_what_is_not_understood_is_refused(text, says):
    with pytest.raises(CheckError, match=says):
        read_xdc(text)


def test_patterns_are_vivado_s_and_not_python_s():
    assert matches("*count_q_reg[3]", "u_shell/count_q_reg[3]")
    assert not matches("*count_q_reg[3]", "u_shell/count_q_reg3")
    assert matches("*q_reg*/D", "u/q_reg[0]/D") and not matches("*q_reg*/D", "u/q_reg[0]/PRE")
