# SPDX-License-Identifier: GPL-2.0-or-later
"""What `pip install host/python` brings: the whole package, with its data."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

SOURCE = Path(__file__).parents[3] / "host/python"
BUILD = "import sys, setuptools.build_meta as backend; print(backend.build_wheel(sys.argv[1]))"


def test_the_wheel_holds_every_file_of_the_package(tmp_path):
    copy = tmp_path / "source"
    built = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "core.*", "modem.*", "station.*")
    shutil.copytree(SOURCE, copy, ignore=built)
    # setuptools here and now, as pip would in an environment of its own: nothing is fetched.
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)], cwd=copy, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / done.stdout.split()[-1]) as wheel:
        packed = {name for name in wheel.namelist() if name.startswith("perhop/")}
    wanted = {str(path.relative_to(copy)) for path in (copy / "perhop").rglob("*") if path.is_file()}
    assert "perhop/flowgraph/link.py" in wanted and "perhop/wireshark/perhop.lua" in wanted
    assert packed == wanted


def test_flowgraphs_and_radios_need_none_of_the_packages_of_the_perhop_command():
    """.venv-gnuradio and .venv-bench have Debian's packages: no pydantic, no typer, no rich."""
    absent = "import sys; sys.modules.update(dict.fromkeys(('pydantic', 'pydantic_core', 'typer', 'rich', 'pyarrow')))"
    used = "import perhop.errors, perhop.registers, perhop.phy.constants"
    done = subprocess.run([sys.executable, "-c", f"{absent}; {used}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
