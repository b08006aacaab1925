# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop-kernel when its kernels come to a bad end: one message, results, no process left. It needs no kernel."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from perhop import paths
from perhop.errors import PerhopError
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
FAKE = Path(__file__).with_name("fake_kernel.py")


@pytest.fixture
def program():
    try:
        return paths.program("perhop-kernel")
    except PerhopError as error:
        pytest.skip(" ".join(str(error).split()))


@pytest.fixture
def folder(tmp_path):
    """A run.json of a chain, and a kernel that is none."""
    config = resolve(load(ROOT / "sim/experiments/kernel_chain/experiment.yaml", ["topology.hops=2"], quick=True))[
        0
    ].config
    config["outputs"]["directory"] = str(tmp_path / "run")
    (tmp_path / "run.json").write_text(json.dumps(config))
    kernel = tmp_path / "kernel" / "linux"
    kernel.parent.mkdir()
    kernel.write_text(f"#!{sys.executable}\n" + FAKE.read_text())
    kernel.chmod(0o755)
    return tmp_path


def start(program, folder, accident, *options):
    (folder / "kernel" / "accident").write_text(accident)
    command = [program, "--kernel", folder / "kernel" / "linux", *options, folder / "run.json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def left(folder) -> list[str]:
    """Processes that work in the run's folder, or are its kernels."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd", "status"]):
        words = " ".join(process.info["cmdline"] or [])
        if process.info["status"] != psutil.STATUS_ZOMBIE and str(folder) in f"{process.info['cwd']} {words}":
            found.append(words)
    return found


def wait_until_none_is_left(folder):
    wait_until(lambda: left(folder) == [], 5, "no process of the run")


@pytest.mark.parametrize(
    ("accident", "problem", "said"),
    [
        ("ends", "the kernel of node 2 has ended", "Attempted to kill init!"),
        ("spins", "the kernel of node 2 has let no time pass for 1 s", "started by"),
        ("never comes", "the kernel of node 0 has not begun", "Kernel panic - not syncing: no memory"),
    ],
)
def test_a_kernel_that_fails_ends_the_run_with_one_message(program, folder, accident, problem, said):
    process = start(program, folder, accident, "--patience", "1")
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1, errors
    assert problem in errors and said in errors and "remedy: look at" in errors
    assert errors.count("perhop-kernel:") == 1
    result = json.loads((folder / "run" / "result.json").read_text())
    assert result["interrupted"] and result["backend"] == "kernel"
    assert (folder / "run" / "intervals.csv").exists()
    assert not (folder / "run" / "kernels").exists(), "sockets and links are gone"
    wait_until_none_is_left(folder)


def test_an_interrupt_ends_the_run_with_what_there_is(program, folder):
    process = start(program, folder, "spins")
    wait_for(folder / "run" / "kernel-2.log", "started by")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert json.loads((folder / "run" / "result.json").read_text())["interrupted"]
    wait_until_none_is_left(folder)


def test_kernels_do_not_outlive_a_program_that_is_killed(program, folder):
    process = start(program, folder, "spins")
    wait_for(folder / "run" / "kernel-2.log", "started by")
    assert left(folder)
    process.kill()
    process.communicate(timeout=30)
    wait_until_none_is_left(folder)


def test_a_kernel_that_is_not_there_is_told_with_the_remedy(program, folder):
    (folder / "kernel" / "linux").unlink()
    process = start(program, folder, "")
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "linux is not there" in errors and "remedy: run `make kernel`" in errors


def test_a_run_that_no_kernel_can_make_names_the_field(program, folder):
    config = json.loads((folder / "run.json").read_text())
    config["flows"][0]["variant"] = "bsd"
    (folder / "run.json").write_text(json.dumps(config))
    process = start(program, folder, "ends")
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "field flows[0].variant" in errors


def test_a_disk_without_room_is_told(program, folder):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    (folder / "run").mkdir()
    (folder / "run" / "result.json").symlink_to("/dev/full")
    process = start(program, folder, "ends")
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "is the disk full?" in errors
    wait_until_none_is_left(folder)


def wait_for(file, words):
    wait_until(lambda: file.exists() and words in file.read_text(), 10, f"{file.name} says {words}")
