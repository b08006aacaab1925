# SPDX-License-Identifier: GPL-2.0-or-later
"""UHD's rfnoc_image_builder takes the image cores with our block descriptions, and connects just the ports we have."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

from checks.tree import CheckError, Tree

BUILDER = "rfnoc_image_builder"


def check_image(tree: Tree, name: str, core: dict) -> None:
    """One image core, without building it; CheckError with what the builder says, or with the ports that differ."""
    builder = shutil.which(BUILDER)
    if builder is None:
        raise CheckError(
            f"there is no {BUILDER}: Debian's package uhd-host and python3-uhd bring it (hw/apt-packages.txt)"
        )
    empty = tree.out / "no-fpga-tree"
    empty.mkdir(exist_ok=True)
    verilog, path = tree.out / f"{name}.v", tree.out / f"{name}.yml"
    path.write_text(json.dumps(core))
    command = [builder, "-y", path, "-F", empty, "-I", tree.root / "hw/rfnoc", "--generate-only", "-o", verilog]
    # Debian's tool wants Debian's Python, whatever is first on PATH here.
    done = subprocess.run(
        ["/usr/bin/python3", *map(str, command), "-x", str(tree.out / f"{name}.hex")],
        cwd=tree.out, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""},
    )  # fmt: skip
    said = done.stdout + done.stderr
    if done.returncode or re.search(r"\[(ERR|WAR)", said):
        # It names every block that it finds before it says what is wrong.
        wrong = "\n".join(line for line in said.splitlines() if not line.startswith("[INF]"))
        raise CheckError(f"image core {name}: {BUILDER} says\n{wrong[-1500:]}")
    block, _ = tree.block_of(core)
    found = re.search(rf"rfnoc_block_{block} #\(.*?\) b_\w+ \((.*?)\);", verilog.read_text(), re.DOTALL)
    if not found:
        raise CheckError(f"{name}: the image does not hold rfnoc_block_{block}")
    connected = set(re.findall(r"\.(\w+)\s*\(", found.group(1)))
    ours = _ports(tree.read(f"hw/rfnoc/fpga/rfnoc_block_{block}/rfnoc_block_{block}.v"))
    if connected != ours:
        raise CheckError(f"{name}: rfnoc_block_{block}.v and {block}.yml differ in {sorted(connected ^ ours)}")


def _ports(text: str) -> set[str]:
    """Names of the ports of a Verilog module."""
    return set(re.findall(r"^\s*(?:input|output)\s+wire\s+(?:\[[^\]]*\]\s*)?(\w+)", text, re.MULTILINE))


def check_images(tree: Tree) -> str:
    cores = tree.image_cores()
    for name, core in cores.items():
        check_image(tree, name, core)
    return f"{len(cores)} image cores"
