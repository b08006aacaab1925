# SPDX-License-Identifier: GPL-2.0-or-later
"""FuseSoC's generator `pins`: MODULE_pins, the module with a pin for each member of its struct ports (pins.py).

    generate:
      pins: {generator: pins, parameters: {module: rtl/top/mac_top.sv}}

FuseSoC calls it with the name of a file that says what it wants, in the folder where the core that it writes belongs.
"""

import sys
from pathlib import Path

import pins
import yaml

CORE = """CAPI=2:
name: {name}
filesets:
  rtl: {{file_type: systemVerilogSource, files: [{file}]}}
targets:
  default: {{filesets: [rtl]}}
"""


def main() -> int:
    """1 and a message if the module has no port to be taken apart."""
    wanted = yaml.safe_load(Path(sys.argv[1]).read_text())
    source = Path(wanted["files_root"], wanted["parameters"]["module"])
    text = pins.wrapper(source.read_text(), pins.PACKAGE.read_text())
    if text is None:
        print(f"{source}: no port is a struct: use the module as it is", file=sys.stderr)
        return 1
    file = Path(f"{source.stem}_pins.sv")
    file.write_text(text)
    Path(f"{source.stem}_pins.core").write_text(CORE.format(name=wanted["vlnv"], file=file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
