# SPDX-License-Identifier: GPL-2.0-or-later
"""The backend `kernel` of `perhop run`: what it refuses, what it needs, and what makes a run another one."""

import json
import sys
from pathlib import Path

import pytest
from perhop import doctor
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.kernel import image
from perhop.kernel.backend import Kernel

FAKE = Path(__file__).with_name("fake_simulator.py")

# (settings, field, words of the problem, of the remedy)
REFUSED = {
    "FreeBSD's TCP": (
        ["flows.0.variant=bsd", "flows.0.min_rto_ms=1000"],
        "flows.0.variant",
        "Linux' TCP",
        "newreno",
    ),
    "a transfer of a given size": (["flows.0.transfer_bytes=1000"], "flows.0.transfer_bytes", "is set", "leave it out"),
    "TCP at a given rate": (["flows.0.rate_bps=1000"], "flows.0.rate_bps", "is set", "leave it out"),
    "a largest timeout": (["flows.0.max_rto_ms=2000"], "flows.0.max_rto_ms", "is set", "leave it out"),
    "UDP": (["flows=[{kind: cbr, rate_bps: 1000}]"], "flows.0.kind", "is cbr", "use tcp"),
    "AODV": (["routing=aodv"], "routing", "is not static", "use static"),
    "frames without a path header": (
        ["mac.path_header=false", "policies=[none]"],
        "mac.path_header",
        "has one in each packet",
        "leave it out",
    ),
    "four addresses": (["mac.four_address=true"], "mac.four_address", "is true", "leave it out"),
    "SACK of some": (["flows=[{kind: tcp}, {kind: tcp, sack: true}]"], "flows.1.sack", "differs", "one for all"),
    "ECN of some": (["flows=[{kind: tcp}, {kind: tcp, ecn: true}]"], "flows.1.ecn", "differs", "one for all"),
    "policies of their own": (
        ["flows=[{kind: tcp, policy: none}, {kind: tcp, policy: fixed 3}]"],
        "flows",
        "policies of their own",
        "use `policies`",
    ),
    "routers of EXACT that are silent": (
        ["policies=[paced exact]", "exact.silent_routers=[1]"],
        "exact.silent_routers",
        "all have a shim",
        "leave it out",
    ),
    "wires": (
        ["servers=1", "wires=[{delay_ms: 1}]"],
        "wires",
        "has no wired links",
        "leave it out",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_kernel_has_is_refused(what, experiment, fake_build, perhop, tmp_path):
    settings, field, problem, remedy = REFUSED[what]
    words = [word for setting in settings for word in ("--set", setting)]
    done = perhop("run", experiment, "--backend", "kernel", *words, "--out", tmp_path / "out")
    assert done.code == 2, done.stdout
    assert field in done.said and problem in done.said and remedy in done.said.split("remedy:")[1]
    assert not (tmp_path / "out").exists()


def test_ns_3_is_told_no_rate_of_exact(experiment, fake_build, perhop, tmp_path):
    done = perhop("run", experiment, "--set", "policies=[none, paced exact]", "--out", tmp_path / "out")
    assert done.code == 2, done.stdout
    assert "policies" in done.said and "SO_MAX_PACING_RATE" in done.said and "--backend kernel" in done.said


def test_nodes_have_exact_where_tcp_is_told_its_rate_and_nowhere_else(experiment):
    runs = resolve(load(experiment, ["policies=[paced, paced exact, hop + paced exact]"], quick=True))
    assert {run.policy: "exact" in run.config for run in runs} == {
        "paced": False,
        "paced exact": True,
        "hop + paced exact": True,
    }


@pytest.fixture
def kernel(tmp_path, monkeypatch, fake_build):
    """An image that is none, and a program in the place of perhop-kernel that takes its options."""
    file = tmp_path / "image" / "linux"
    file.parent.mkdir()
    file.write_text("one kernel")
    file.chmod(0o755)
    monkeypatch.setenv(image.VARIABLE, str(file))
    program = fake_build / "sim/kernel/perhop-kernel"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --kernel ] && [ -f "$2" ] || exit 3\nexec "{sys.executable}" "{FAKE}" "$3"\n'
    )
    program.chmod(0o755)
    for name in ("perhop-flow-end.cpio.gz", "libperhop_seeded_random.so"):
        (program.parent / name).write_text(name)
    return file


def test_no_kernel_is_told_with_the_remedy(experiment, fake_build, perhop, tmp_path, monkeypatch):
    monkeypatch.setattr(image, "folder", lambda: tmp_path / "none")
    done = perhop("run", experiment, "--backend", "kernel", "--out", tmp_path / "out")
    assert done.code == 2
    assert "there is no kernel at" in done.said and "run `make kernel`" in done.said.split("remedy:")[1]
    monkeypatch.setenv(image.VARIABLE, str(tmp_path / "elsewhere"))
    done = perhop("run", experiment, "--backend", "kernel", "--out", tmp_path / "out")
    assert done.code == 2 and image.VARIABLE in done.said.split("remedy:")[1]


def test_another_image_makes_the_runs_again(kernel, experiment, perhop, home, made, tmp_path):
    def run():
        done = perhop(
            "run", experiment, "--backend", "kernel", "--set", "seeds=[1]", "--out", tmp_path / "out", "--json"
        )
        assert done.code == 0, done.stderr
        return json.loads(done.stdout), len(made())

    assert run()[1] == 4
    assert run()[1] == 0, "they are there"
    kernel.write_text("another kernel")
    assert run()[1] == 4
    (kernel.parents[1] / "build/sim/kernel/perhop-flow-end.cpio.gz").write_text("another program in it")
    assert run()[1] == 4


def test_a_run_of_kernels_is_none_of_the_simulator(experiment):
    points = load(experiment)
    runs = resolve(points)
    adapted = Kernel().adapt(points, runs)
    assert {run.program for run in adapted} == {"perhop-kernel"}
    assert not {run.id for run in runs} & {run.id for run in adapted}
    assert [run.config for run in runs] == [run.config for run in adapted]


@pytest.fixture
def program(tmp_path):
    """Settings of two programs, and their archive."""
    archive = tmp_path / "programs.cpio"
    archive.write_bytes(b"an archive")
    told = [{"node": node, "command": f"run it: {node}", "initramfs": str(archive)} for node in ("first", "last")]
    return [f"programs={json.dumps(told)}"], archive


def test_programs_are_told_and_reach_each_other(experiment, program):
    config = resolve(load(experiment, program[0]))[0].config
    last = len(config["nodes"]) - 1
    assert [entry["node"] for entry in config["programs"]] == [0, last]
    assert config["programs"][0]["command"] == "run it: 0" or config["programs"][0]["command"] == "run it: first"
    assert {(0, last), (last, 0)} <= {(route[0], route[1]) for route in config["routes"]}
    assert "programs" not in resolve(load(experiment))[0].config, "runs of before keep their names"


def test_another_archive_makes_the_runs_again(kernel, experiment, program, perhop, home, made, tmp_path):
    settings, archive = program

    def run():
        words = [word for setting in (*settings, "seeds=[1]") for word in ("--set", setting)]
        done = perhop("run", experiment, "--backend", "kernel", *words, "--out", tmp_path / "out", "--json")
        assert done.code == 0, done.stderr
        return len(made())

    assert run() > 0
    assert run() == 0, "they are there"
    archive.write_bytes(b"another archive")
    assert run() > 0


@pytest.mark.parametrize("backend", ["sim", "live"])
def test_only_kernels_have_programs(backend, experiment, program, fake_build, perhop, tmp_path):
    words = [word for setting in program[0] for word in ("--set", setting)]
    done = perhop("run", experiment, "--backend", backend, *words, "--out", tmp_path / "out")
    assert done.code == 2, done.stdout
    assert "programs" in done.said and "--backend kernel" in done.said.split("remedy:")[1]


def test_an_archive_that_is_not_there_is_told(experiment, fake_build, perhop, tmp_path):
    told = "programs=[{command: go, initramfs: nowhere.cpio}]"
    done = perhop("run", experiment, "--backend", "kernel", "--set", told, "--out", tmp_path / "out")
    assert done.code == 2 and "programs.0.initramfs" in done.said and "no file" in done.said


def test_no_scheduler_makes_runs_of_kernels(kernel, experiment, perhop, tmp_path):
    done = perhop(
        "run", experiment, "--backend", "kernel", "--scheduler", "tcp://localhost:1", "--out", tmp_path / "out"
    )
    assert done.code == 2 and "leave it out" in done.said.split("remedy:")[1]


def test_doctor_says_whether_there_is_a_kernel(kernel, monkeypatch, tmp_path):
    def finding():
        return next(found for found in doctor.examine().findings if found.name == "kernel image")

    assert finding().ok
    monkeypatch.setenv(image.VARIABLE, str(tmp_path / "none"))
    assert not finding().ok and "PERHOP_KERNEL" in finding().remedy
