# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop as a wheel installs it: programs and data lie in the package, and no checkout is needed or looked for."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from perhop import paths

ROOT = Path(__file__).parents[3]
FAKE = Path(__file__).with_name("fake_simulator.py")
COMMAND = "import sys; from perhop.cli import main; sys.argv[0] = 'perhop'; main()"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder for PYTHONPATH with the package, its experiments, and fake simulators for programs."""
    place = tmp_path_factory.mktemp("installed")
    package = place / "perhop"
    shutil.copytree(ROOT / "host/python/perhop", package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copytree(ROOT / "sim/experiments", package / "tree/sim/experiments")
    (package / "tree/built_from.json").write_text('{"git": "v9-wheel"}\n')
    (package / "bin").mkdir()
    for name in paths.PROGRAMS:
        program = package / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
        program.chmod(0o755)
    return place


@pytest.fixture
def call(installed, tmp_path):
    """Call the installed command in an empty folder."""

    def call(*words: str, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name != "PERHOP_BUILD"}
        return subprocess.run(
            [sys.executable, "-c", COMMAND, *words],
            cwd=cwd,
            env=environment | {"PYTHONPATH": str(installed)},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def test_an_experiment_is_run_by_its_name_and_leaves_its_results_here(call, tmp_path):
    done = call("run", "chain", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"]["finished"] == 12
    assert (tmp_path / "out/runs/chain/report.html").is_file()
    told = json.loads((tmp_path / "out/runs/chain/provenance.json").read_text())
    assert told["version"]["git"] == "v9-wheel"


def test_a_file_of_that_name_is_taken_before_what_perhop_brings(call, tmp_path):
    (tmp_path / "chain").write_text("name: other\n")
    done = call("run", "chain", "--quick", "--json")
    assert done.returncode == 2 and json.loads(done.stdout)["error"]["file"] == "chain"


def test_a_checkout_around_the_folder_is_not_looked_for(call):
    done = call("version", "--json", cwd=ROOT)
    assert json.loads(done.stdout)["git"] == "v9-wheel"


def test_what_needs_a_checkout_says_so(call):
    done = call("compare", "chain", "--git-b", "HEAD", "--json")
    error = json.loads(done.stdout)["error"]
    assert done.returncode == 2 and "needs a checkout" in error["problem"] and "clone" in error["remedy"]


def test_a_program_that_is_gone_is_installed_again_not_made(call, installed):
    program = installed / "perhop/bin/perhop-sim"
    program.rename(program.with_suffix(".away"))
    try:
        error = json.loads(call("run", "chain", "--json").stdout)["error"]
    finally:
        program.with_suffix(".away").rename(program)
    assert "perhop-sim" in error["problem"] and "pip install" in error["remedy"] and "make" not in error["remedy"]


def test_the_doctor_tells_of_commands_that_there_are(call, installed):
    (installed / "perhop/lib").mkdir(exist_ok=True)
    (installed / "perhop/lib/libns3.44-core.so").touch()
    told = json.loads(call("doctor", "--json").stdout)
    features = {feature["feature"]: feature for feature in told["features"]}
    assert features["simulations"]["ok"] and told["ok"]
    assert not [word for feature in features.values() for word in feature["commands"] if word.startswith("make ")]
    assert "building" not in features
    assert "checkout" in features["comparing git versions"]["missing"]
    assert any("clone" in remedy for remedy in features["GNU Radio"]["remedies"])
