# SPDX-License-Identifier: GPL-2.0-or-later
"""The FuseSoC core files of gateware/ name every module once, and FuseSoC can lint what they describe."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
GATEWARE = ROOT / "gateware"
CORES = {path.stem: yaml.safe_load(path.read_text().partition("\n")[2]) for path in sorted(GATEWARE.glob("*.core"))}


def files(core: dict) -> list[str]:
    """Paths that a core file lists, relative to gateware/."""
    return [
        entry if isinstance(entry, str) else next(iter(entry))
        for fileset in core["filesets"].values()
        for entry in fileset["files"]
    ]


def test_every_module_stands_in_exactly_one_core_file():
    listed = Counter(name for core in CORES.values() for name in files(core) if name.endswith(".sv"))
    assert listed == Counter(path.relative_to(GATEWARE).as_posix() for path in GATEWARE.glob("rtl/**/*.sv"))


@pytest.mark.parametrize("name", CORES)
def test_a_core_is_named_as_its_file(name):
    assert CORES[name]["name"].split(":")[2] == name


@pytest.mark.parametrize("name", [name for name, core in CORES.items() if "lint" in core["targets"]])
def test_fusesoc_lints_the_core_without_a_warning(name, tmp_path):
    tools = Path(sys.executable).parent
    command = [tools / "fusesoc", "--cores-root", GATEWARE, "run"]
    done = subprocess.run(
        [*command, "--build-root", tmp_path, "--target=lint", f"perhop:mac:{name}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=300,
        env={**os.environ, "PATH": os.pathsep.join([str(tools), os.environ["PATH"]])},
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "%Warning" not in output and "%Error" not in output, output
