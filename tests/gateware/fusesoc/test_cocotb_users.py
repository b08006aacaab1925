# SPDX-License-Identifier: GPL-2.0-or-later
"""What users of the MAC get for FuseSoC: the package's wheel, the flow for cocotb, the targets sim and synth.

`make outside-project` does the same as a user, with an environment of its own, on both simulators.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
GATEWARE = ROOT / "gateware"
EXAMPLE = GATEWARE / "examples/telemetry_node"
TOOLS = Path(sys.executable).parent


@pytest.fixture(scope="session")
def wheel(tmp_path_factory) -> Path:
    """cocotbext-perhop as pip builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder]
    subprocess.run([*command, GATEWARE / "verification"], check=True, timeout=300)
    (found,) = folder.glob("cocotbext_perhop-*.whl")
    return found


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Path:
    """The wheel, unpacked."""
    folder = tmp_path_factory.mktemp("installed")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def fusesoc(folder: Path, *arguments: str | Path, path: Path | None = None, **env: str) -> tuple[int, str]:
    """Status and output of FuseSoC in a folder; `path`: where Python looks first."""
    # Verilator's own files are found by its place, and the flow has to find Verilator by itself.
    kept = {name: value for name, value in os.environ.items() if name not in ("VERILATOR_ROOT", "PYTHONPATH")}
    kept |= {"PATH": os.pathsep.join([str(TOOLS), "/usr/local/bin", "/usr/bin", "/bin"])} | env
    if path:
        kept["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [TOOLS / "fusesoc", *arguments],
        cwd=folder,
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=1500,
    )
    return done.returncode, done.stdout


def test_the_wheel_needs_no_perhop(installed):
    """Every module of it is imported where there is no perhop; none says `perhop` for what it brings itself."""
    modules = [
        ".".join(path.relative_to(installed).with_suffix("").parts)
        for path in installed.glob("cocotbext/perhop/**/*.py")
    ]
    assert "cocotbext.perhop.vendored.registers.spec_generated" in modules and len(modules) > 20
    program = f"""
import importlib, importlib.abc, sys

class NoPerhop(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "perhop":
            raise ImportError(f"{{name}} is asked for")

sys.meta_path.insert(0, NoPerhop())
for name in {modules!r}:
    found = importlib.import_module(name.removesuffix(".__init__"))
    assert found.__file__.startswith({str(installed)!r}), found.__file__
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | {"PYTHONPATH": str(installed)})


def test_the_wheel_has_the_registers_of_this_tree(installed):
    ours = (ROOT / "host/python/perhop/registers/spec_generated.py").read_text()
    assert (installed / "cocotbext/perhop/vendored/registers/spec_generated.py").read_text() == ours


@pytest.mark.parametrize(
    ("fault", "failed"), [(0, []), (1, ["samples_reach_the_sink_in_one_packet"])], ids=["sound", "planted fault"]
)
def test_an_outside_project_runs_on_icarus_and_its_planted_fault_is_found(installed, tmp_path, fault, failed):
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    status, output = fusesoc(tmp_path, "library", "add", "perhop", GATEWARE, path=installed)
    assert status == 0, output
    core = "example:radio:telemetry_node"
    only = {"COCOTB_TEST_FILTER": r"\.samples_reach_the_sink_in_one_packet$"}
    arguments = ("--cores-root", ".", "run", "--target", "sim_icarus", core, "--FAULT", str(fault))
    status, output = fusesoc(tmp_path, *arguments, path=installed, **only)
    assert re.findall(r"\.(\w+) +FAIL", output) == failed, output
    assert ("samples_reach_the_sink_in_one_packet" in re.findall(r"\.(\w+) +PASS", output)) == (not failed), output
    assert (status == 0) == (not failed), output


@pytest.mark.parametrize(
    ("core", "target"),
    [
        ("mac_top", "sim_icarus"),
        pytest.param("mac_top", "sim", marks=pytest.mark.long),
        pytest.param("mac_core", "sim", marks=pytest.mark.long),
    ],
)
def test_fusesoc_simulates_the_core(core, target, tmp_path):
    status, output = fusesoc(tmp_path, "--cores-root", GATEWARE, "run", "--target", target, f"perhop:mac:{core}")
    assert status == 0, output
    assert re.search(r"TESTS=1 PASS=1 FAIL=0", output), output


def test_fusesoc_synthesises_the_core(tmp_path):
    """By slang and Yosys, to cells of the device."""
    arguments = ("--cores-root", GATEWARE, "run", "--target", "synth", "perhop:mac:mac_registers")
    status, output = fusesoc(tmp_path, *arguments)
    assert status == 0, output
    (stat,) = tmp_path.glob("build/*/synth/*.stat.json")
    cells = json.loads(stat.read_text())["design"]["num_cells_by_type"]
    assert cells["LUT4"] > 100 and cells["TRELLIS_FF"] > 100 and cells["DP16KD"] >= 2
    assert not [name for name in cells if name.startswith("$") and name != "$scopeinfo"], "not mapped"


def test_a_target_without_a_test_module_is_refused(tmp_path):
    """The flow says what it misses."""
    (tmp_path / "bare.core").write_text(
        "CAPI=2:\nname: a:b:bare\nfilesets: {rtl: {files: [bare.sv], file_type: systemVerilogSource}}\n"
        "targets:\n  sim: {filesets: [rtl], toplevel: bare, flow: cocotbsim, flow_options: {tool: icarus}}\n"
    )
    (tmp_path / "bare.sv").write_text("module bare (input logic a, output logic b); assign b = a; endmodule\n")
    status, output = fusesoc(tmp_path, "--cores-root", ".", "run", "--target", "sim", "a:b:bare")
    assert status != 0 and "requires flow option 'cocotb_module'" in output
