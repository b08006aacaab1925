# SPDX-License-Identifier: GPL-2.0-or-later
"""Edalize's step from SystemVerilog to Verilog, for tools that read no more than that, such as Icarus Verilog.

    flow: sim
    flow_options:
      tool: icarus
      frontends: [slang2v]

Yosys reads the design with slang and writes what it found as one file of Verilog: parameters have their values, structs
and arrays at ports are vectors, an enum's value is a number. Assertions are left out. Instances and signals keep their
names; modules other than the top get that of their instance behind theirs.
"""

from edalize.tools.slangyosys import Slangyosys


class Slang2v(Slangyosys):
    """What Edalize calls this step: a tool is a class with the name of its module."""

    description = "SystemVerilog to Verilog by slang and Yosys"

    TOOL_OPTIONS = {name: about for name, about in Slangyosys.TOOL_OPTIONS.items() if name != "synth"}  # noqa: RUF012

    def setup(self, edam: dict) -> None:
        super(Slangyosys, self).setup(edam)
        verilog = f"{self.name}.v"
        others = self.run_yosys(["proc", "opt", f"write_verilog -noattr {verilog}"], verilog)
        # The parameters are in the Verilog: what comes behind this step finds none in the top module.
        given = edam.get("parameters", {})
        self.edam = edam | {
            "files": [*others, {"name": verilog, "file_type": "verilogSource"}],
            "parameters": {
                name: parameter
                for name, parameter in given.items()
                if parameter["paramtype"] not in ("vlogparam", "vlogdefine")
            },
        }
