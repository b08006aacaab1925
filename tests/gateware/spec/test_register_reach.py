# SPDX-License-Identifier: GPL-2.0-or-later
"""A new setting of the MAC core takes three files: its register, the module that reads it, and that module's test.

A copy of the tree gets a register with the shortest Duration that sets the NAV. What follows from it is generated: the
register block, its rules, the struct that reaches the module, the pins of a simulated MAC, C++, Python, the reference.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from planted_tree import call, changed_by_hand, copy_of_tree

GENERATOR = "gateware/spec/generate.py"
# What stands once in a file, and what comes before it.
REGISTER = (
    "gateware/spec/registers.rdl",
    "  // --- addresses that are received ---",
    """\
  reg {
    name = "Least Duration";
    field { desc = "A shorter Duration sets no NAV."; unit = "us"; port = "cfg_least_duration_us"; } value_us[14:0] = 0;
  } least_duration @ 0x0BC;

""",
)
READING = (
    "gateware/rtl/mac/nav_counter.sv",
    "  wire logic [15:0] cfg_nav_reset_us = settings.nav_reset_us;\n",
    "  wire logic [14:0] cfg_least_duration_us = settings.least_duration_us;\n",
)
EFFECT = ("gateware/rtl/mac/nav_counter.sv", "      if (rx_overheard && 16'(rx_duration_us) > nav_left_us_q) begin\n")
TEST = (
    "tests/gateware/nav_counter/test_nav_counter.py",
    '@pytest.mark.parametrize("name", cocotb_tests(globals()))\n',
    """\
@cocotb.test()
async def a_duration_below_the_least_sets_no_nav(dut):
    nav = await started(dut)
    await nav.set(cfg_least_duration_us=100)
    await nav.clock(rx_overheard=1, rx_duration_us=99)
    assert nav.nav_left_us == 0
    await nav.clock(rx_overheard=1, rx_duration_us=100)
    assert nav.nav_left_us == 100


""",
)


def put(folder: Path, name: str, place: str, text: str) -> None:
    path = folder / name
    before = path.read_text()
    assert before.count(place) == 1, f"{name} has changed: the register can no longer be planted"
    path.write_text(before.replace(place, text + place))


def planted(folder: Path) -> set[str]:
    """The register in the copy of the tree in `folder`; which files were written by hand for it."""
    for edit in (REGISTER, READING, TEST):
        put(folder, *edit)
    name, right = EFFECT
    path = folder / name
    assert path.read_text().count(right) == 1
    path.write_text(
        path.read_text().replace(right, right.replace("if (", "if (rx_duration_us >= cfg_least_duration_us && "))
    )
    return changed_by_hand(folder, GENERATOR)


def test_a_new_setting_is_known_after_three_files(tmp_path):
    changed = planted(copy_of_tree(tmp_path))
    assert len(changed) <= 3, changed
    assert "logic [14:0] least_duration_us;" in (tmp_path / "gateware/rtl/common/perhop_pkg.sv").read_text()
    assert "least_duration_us = 0u;" in (tmp_path / "host/core/wire/generated/mac_settings.hpp").read_text()
    assert "least_duration" in (tmp_path / "gateware/spec/reference.md").read_text()
    program = "from perhop.registers.spec_generated import REGISTERS; print(hex(REGISTERS['least_duration'].address))"
    assert call(tmp_path, program).strip() == "0xbc"


@pytest.mark.long
def test_a_new_setting_is_written_by_software_and_read_by_its_module(tmp_path):
    """In the copy: the module's tests, those of the registers, the lint of the whole MAC, and a simulated node."""
    assert len(planted(copy_of_tree(tmp_path))) == 3
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": programs, "PYTHONPATH": str(tmp_path / "host/python")}
    tests = [tmp_path / "tests/gateware" / name for name in ("nav_counter", "mac_registers", "spec")]
    itself = f"--ignore={tmp_path / 'tests/gateware/spec' / Path(__file__).name}"
    pytest_call = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not long", itself]
    subprocess.run([*pytest_call, *tests], cwd=tmp_path, env=environment, check=True)
    subprocess.run([tmp_path / "gateware/lint/lint.sh"], env=environment, check=True)

    build = tmp_path / "out/build"
    cmake = ["cmake", "-S", tmp_path, "-B", build, "-G", "Ninja", "--log-level=WARNING"]
    venv = f"-DPERHOP_VENV={Path(sys.executable).parents[1]}"
    environment |= {"CCACHE_BASEDIR": str(tmp_path), "CXX": "g++"}
    subprocess.run([*cmake, venv], env=environment, check=True)
    subprocess.run(["cmake", "--build", build, "-j", "2", "--", "perhop_air_tests"], env=environment, check=True)
    subprocess.run([build / "sim/air/tests/perhop_air_tests", "--gtest_brief=1"], check=True)
