# SPDX-License-Identifier: GPL-2.0-or-later
"""Gives the wheel its own copy of perhop.registers, so that it needs no perhop: what pip calls vendoring.

In the wheel `perhop.registers` and `perhop.errors` are `cocotbext.perhop.vendored.registers` and `.errors`; each import
of them is rewritten. A wheel of perhop may be installed beside it.
"""

import re
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PERHOP = Path(__file__).resolve().parents[2] / "host/python/perhop"
SOURCES = ("errors.py", "registers/*.py")
IMPORT = re.compile(r"^(\s*from )perhop\.(errors|registers)\b", re.MULTILINE)


class BuildWithRegisters(build_py):
    """build_py, and the copies."""

    def run(self) -> None:
        super().run()
        package = Path(self.build_lib) / "cocotbext/perhop"
        files = [path for pattern in SOURCES for path in sorted(PERHOP.glob(pattern))]
        if not files:
            raise SystemExit(f"there is no {PERHOP}: build cocotbext-perhop in a checkout of perhop")
        for path in files:
            copy = package / "vendored" / path.relative_to(PERHOP)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text())
        (package / "vendored/__init__.py").write_text('"""Parts of perhop, copied when this package was built."""\n')
        for path in package.rglob("*.py"):
            path.write_text(IMPORT.sub(r"\1cocotbext.perhop.vendored.\2", path.read_text()))


# Nothing of an earlier build gets into the wheel, and the checkout stays as it is.
with tempfile.TemporaryDirectory() as scratch:
    options = {"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}}
    setup(cmdclass={"build_py": BuildWithRegisters}, options=options)
