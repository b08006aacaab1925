# SPDX-License-Identifier: GPL-2.0-or-later
"""What an installed perhop has of Python: the whole package, with its data. `make wheel` tries the rest."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[3]
SETTINGS = {"wheel.cmake": "false", "wheel.py-api": "py3"}
BUILD = f"import sys, scikit_build_core.build as backend; backend.build_wheel(sys.argv[1], {SETTINGS})"


def test_the_wheel_holds_every_file_of_the_package(tmp_path):
    copy = tmp_path / "source"
    built = shutil.ignore_patterns("__pycache__", "core.*", "modem.*", "station.*")
    shutil.copytree(ROOT / "host/python", copy / "host/python", ignore=built)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, copy)
    # Its CMake is left out: nothing is compiled, nothing fetched.
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)], cwd=copy, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(file) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("perhop/")}
    package = copy / "host/python"
    wanted = {str(path.relative_to(package)) for path in (package / "perhop").rglob("*") if path.is_file()}
    assert "perhop/flowgraph/link.py" in wanted and "perhop/wireshark/perhop.lua" in wanted
    assert packed == wanted


def test_flowgraphs_and_radios_need_none_of_the_packages_of_the_perhop_command():
    """.venv-gnuradio and .venv-bench have Debian's packages: no pydantic, no typer, no rich."""
    absent = "import sys; sys.modules.update(dict.fromkeys(('pydantic', 'pydantic_core', 'typer', 'rich', 'pyarrow')))"
    used = "import perhop.errors, perhop.registers, perhop.phy.constants"
    done = subprocess.run([sys.executable, "-c", f"{absent}; {used}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
