# SPDX-License-Identifier: GPL-2.0-or-later
"""Every module that is written by hand has tests of its own; generated ones are tested in mac_registers."""

import pytest
from testbench.build import ROOT, RTL


@pytest.mark.parametrize("part", ["common", "mac", "datapath", "phy", "phy/plcp", "phy/tx", "phy/rx", "phy/sap", "top"])
def test_every_module_has_a_folder_of_tests(part):
    folders = {path.parent.name for path in (ROOT / "tests" / "gateware").glob("*/test_*.py")}
    modules = {path.stem for path in (RTL / part).glob("*.sv") if not path.stem.endswith("_pkg")}
    assert modules
    assert not modules - folders
