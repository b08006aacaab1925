# SPDX-License-Identifier: GPL-2.0-or-later
"""A checkout that is looked at: this one, or a copy of it with a fault planted."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import yaml

BIN = Path(sys.executable).parent


class CheckError(Exception):
    """What a check found wrong."""


@dataclass(frozen=True)
class Tree:
    """The files of one checkout. Paths are relative to its root, in messages too."""

    root: Path

    @property
    def out(self) -> Path:
        """Where checks write."""
        folder = self.root / "out" / "hw-check"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def read(self, path: str) -> str:
        """Text of a file; CheckError if there is none."""
        try:
            return (self.root / path).read_text()
        except OSError as error:
            raise CheckError(f"{path}: {error.strerror}") from error

    def rtl(self) -> list[str]:
        """Every file of gateware/rtl and hw/fpga, packages first."""
        folders = ("gateware/rtl", "hw/fpga")
        names = [str(path.relative_to(self.root)) for each in folders for path in (self.root / each).glob("**/*.sv")]
        return sorted(names, key=lambda name: (not name.endswith("_pkg.sv"), not name.endswith("/perhop_pkg.sv"), name))

    def waivers(self) -> list[str]:
        """Verilator's files of what it need not say."""
        folders = ("gateware/lint", "hw/fpga")
        return [
            str(path.relative_to(self.root)) for each in folders for path in sorted((self.root / each).glob("*.vlt"))
        ]

    def load(self, path: str) -> ModuleType:
        """A Python file of this tree, whatever others of its name are loaded; CheckError if it cannot be."""
        name = f"of_a_tree_{Path(path).stem}"
        module = ModuleType(name)
        module.__file__ = str(self.root / path)
        text, kept_path, kept = self.read(path), sys.path[:], set(sys.modules)
        sys.modules[name] = module  # dataclasses look for their module
        try:
            exec(compile(text, path, "exec"), module.__dict__)
        except Exception as error:
            raise CheckError(f"{path} cannot be loaded: {error!r}") from error
        finally:
            sys.path[:] = kept_path
            for each in set(sys.modules) - kept:
                if str(getattr(sys.modules[each], "__file__", None)).startswith(f"{self.root}/"):
                    del sys.modules[each]
        return module

    def image_cores(self) -> dict[str, dict]:
        """What this tree's hw/images/image_cores.py makes."""
        path = "hw/images/image_cores.py"
        try:
            return self.load(path).image_cores()
        except (KeyError, ValueError, TypeError) as error:
            raise CheckError(f"{path} makes no image cores: {error!r}") from error

    def blocks(self) -> list[str]:
        """Names of our RFNoC blocks."""
        return sorted(path.stem for path in (self.root / "hw/rfnoc/blocks").glob("*.yml"))

    def description(self, block: str) -> dict:
        """The YAML of one of our blocks; CheckError if it is none, or lacks what every block has."""
        path = f"hw/rfnoc/blocks/{block}.yml"
        try:
            found = yaml.safe_load(self.read(path))
        except yaml.YAMLError as error:
            raise CheckError(f"{path} is no YAML: {error}") from error
        missing = [each for each in ("module_name", "noc_id", "parameters", "clocks", "data") if each not in found]
        if missing:
            raise CheckError(f"{path} lacks {', '.join(missing)}: see UHD's block descriptions")
        return found

    def block_of(self, core: dict) -> tuple[str, dict]:
        """Name of our block in an image core, and its parameters there."""
        ours = self.blocks()
        for block in core["noc_blocks"].values():
            name = block["block_desc"].removesuffix(".yml")
            if name in ours:
                return name, block.get("parameters", {})
        raise CheckError(f"hw/images: the image core {core['image_core_name']} has no block of ours")

    def run(self, command: list[str | Path], what: str, env: dict[str, str] | None = None) -> str:
        """Output of a command, run at the root of the tree; CheckError with its last lines if it fails."""
        done = subprocess.run(
            list(map(str, command)), cwd=self.root, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env
        )
        text = done.stdout + done.stderr
        if done.returncode != 0:
            raise CheckError(f"{what}: exit status {done.returncode}\n{text[-3000:]}")
        return text
