# SPDX-License-Identifier: GPL-2.0-or-later
"""Every module of the MAC has tests of its own."""

from testbench.build import ROOT, RTL


def test_every_module_of_the_mac_has_a_folder_of_tests():
    folders = {path.parent.name for path in (ROOT / "tests" / "gateware").glob("*/test_*.py")}
    modules = {path.stem for path in (RTL / "mac").glob("*.sv") if not path.stem.endswith("_pkg")}
    assert modules
    assert not modules - folders
