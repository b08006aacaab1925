# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop doctor and perhop version."""

import json
import re
import shutil
from pathlib import Path

import pytest
import typer
from perhop import __version__, doctor
from perhop.cli import app
from perhop.features import FEATURES

ROOT = Path(__file__).parents[3]


def findings(done):
    return {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}


def test_what_is_there_is_found(fake_build, perhop):
    found = findings(perhop("doctor", "--json"))
    for name in ("Python", "pyarrow", "g++", "perhop-air", "perhop-sim"):
        assert found[name]["ok"], found[name]


def test_what_is_missing_comes_with_a_remedy(perhop, tmp_path, monkeypatch):
    monkeypatch.setenv("PERHOP_BUILD", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = perhop("doctor", "--json")
    found = findings(done)
    assert done.code == 1 and not json.loads(done.stdout)["ok"]
    for name in ("perhop-air", "perhop-sim", "g++", "tshark"):
        assert not found[name]["ok"] and found[name]["remedy"], found[name]
    assert "make build" in found["perhop-sim"]["remedy"]


def test_a_tool_that_fails_is_not_taken_for_one_that_works(perhop, tmp_path, monkeypatch):
    broken = tmp_path / "tshark"
    broken.write_text("#!/bin/sh\necho no library >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = findings(perhop("doctor", "--json"))["tshark"]
    assert not finding["ok"] and "no library" in finding["detail"]


def test_the_table_names_what_is_missing(perhop, tmp_path, monkeypatch):
    monkeypatch.setenv("PERHOP_BUILD", str(tmp_path))
    done = perhop("doctor")
    assert done.code == 1
    assert "not built" in done.stdout and "missing." in done.stdout


def test_version_is_told(perhop):
    assert __version__ in perhop("version").stdout
    assert json.loads(perhop("version", "--json").stdout)["perhop"] == __version__


def test_what_is_optional_is_told_but_no_failure(fake_build, perhop, tmp_path, monkeypatch):
    for name in ("g++", "cmake", "ninja", "make"):
        tool = tmp_path / name
        tool.write_text("#!/bin/sh\necho version 12.2.0\n")
        tool.chmod(0o755)
    for name in ("perl", "sh"):  # what Verilator's own script runs on
        (tmp_path / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = perhop("doctor", "--json")
    found = findings(done)
    assert not found["tshark"]["ok"] and found["tshark"]["optional"]
    needed = [finding["name"] for finding in found.values() if not finding["ok"] and not finding["optional"]]
    assert (done.code, needed) == (0, [])


def features(done):
    return {feature["feature"]: feature for feature in json.loads(done.stdout)["features"]}


@pytest.mark.parametrize(
    ("missing", "feature", "remedy"),
    [
        ("perhop.core", "the papers' rows", "make bindings"),
        ("perhop-exact", "the papers' rows", "make build"),
        ("perhop.station", "GNU Radio", "make flowgraphs"),
        ("GNU Radio", "GNU Radio", "make flowgraphs"),
        ("/dev/net/tun", "live networks", "modprobe tun"),
        ("capabilities", "live networks", "as root"),
        ("perhop-node", "live networks", "make build"),
        ("ip", "live networks", "iproute2"),
        ("babeld", "routes by babeld", "package babeld"),
        ("iperf3", "live networks under load", "package iperf3"),
        ("ssh", "hosts over SSH", "openssh-client"),
        ("sshd", "emulated hosts over SSH", "openssh-server"),
        ("clang-14", "fuzzing", "package clang-14"),
        ("atheris", "fuzzing", "make fuzz-python"),
        ("ns", "comparing with ns-2", "package ns2"),
        ("tshark", "reading packets", "package tshark"),
        ("UHD for Python", "hardware without a radio", "make hw-check"),
        ("rfnoc_image_builder", "hardware without a radio", "uhd-host"),
        ("uhd/version.hpp", "hardware without a radio", "libuhd-dev"),
    ],
)
def test_each_feature_says_what_it_misses_and_what_to_do(bare_machine, missing, feature, remedy):
    told = bare_machine["features"][feature]
    assert not told["ok"] and missing in told["missing"]
    assert any(remedy in each for each in told["remedies"])
    assert feature in bare_machine["findings"][missing]["needed_for"]


@pytest.fixture(scope="module")
def bare_machine(tmp_path_factory):
    """What the doctor says where nothing is built or installed."""
    from perhop import privileges
    from typer.testing import CliRunner

    empty = tmp_path_factory.mktemp("empty")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERHOP_BUILD", str(empty))
        patch.setenv("PATH", str(empty))
        patch.setattr(doctor, "SYSTEM_FOLDERS", str(empty))
        patch.setattr(doctor, "FILE_FOLDERS", (str(empty),))
        patch.setattr("perhop.paths.checkout", lambda: empty)
        patch.setattr(privileges, "TUN", empty / "tun")
        patch.setattr(privileges, "effective_capabilities", lambda: 0)
        for name in ("core", "modem", "station"):
            patch.setitem(doctor.sys.modules, f"perhop.{name}", None)
        done = CliRunner().invoke(app, ["doctor", "--json"])
    told = json.loads(done.stdout)
    assert done.exit_code == 1 and not told["ok"]
    return {
        "features": {feature["feature"]: feature for feature in told["features"]},
        "findings": {finding["name"]: finding for finding in told["findings"]},
    }


def test_a_feature_that_misses_nothing_is_ok(fake_build, perhop):
    done = perhop("doctor", "--json")
    assert features(done)["simulations"] == {
        "feature": "simulations",
        "commands": list(FEATURES[0].commands),
        "ok": True,
        "optional": False,
        "missing": [],
        "remedies": [],
    }
    shown = perhop("doctor").stdout
    for feature in FEATURES:
        assert all(word in shown for word in feature.name.split())


def test_bindings_that_cannot_be_loaded_are_not_taken_for_built(perhop, monkeypatch):
    def broken(name: str) -> None:
        raise ImportError(f"{name}: undefined symbol: _Z3fooi")

    monkeypatch.setattr(doctor, "_load", broken)
    finding = findings(perhop("doctor", "--json"))["perhop.core"]
    assert not finding["ok"] and "undefined symbol" in finding["detail"] and "make bindings" in finding["remedy"]


def test_every_command_and_every_target_belongs_to_a_feature():
    covered = {command for feature in FEATURES for command in feature.commands}
    commands = {f"perhop {name}" for name in typer.main.get_command(app).commands}
    targets = {
        f"make {name}" for name in re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    }
    assert commands - covered == set()
    assert targets - covered - {"make help"} == set()
    assert {command for command in covered if command.startswith("make ")} <= targets


def test_every_need_of_a_feature_is_looked_at_and_nothing_else(bare_machine):
    assert {need for feature in FEATURES for need in feature.needs} == set(bare_machine["findings"])


def test_every_debian_package_of_the_lists_is_some_remedy(bare_machine):
    """But for what every machine has that has come so far, and what only makes building faster."""
    taken_for_granted = {"ca-certificates", "python3", "python3-venv", "ccache"}
    # They come with a package that is a remedy, or are found missing by what uses them.
    brought = {"gir1.2-gtk-3.0", "python3-jsonschema", "python3-pytest", "python3-mako", "python3-ruamel.yaml"}
    wanted = set()
    for name in (
        "apt-packages.txt",
        "flowgraphs/apt-packages.txt",
        "hw/apt-packages.txt",
        "tests/ota/apt-packages.txt",
    ):
        lines = (ROOT / name).read_text().splitlines()
        wanted |= {line for line in lines if line and not line.startswith("#")}
    remedies = " ".join(finding["remedy"] for finding in bare_machine["findings"].values())
    named = set(re.findall(r"[a-z0-9.+-]+", remedies))
    assert wanted - named - taken_for_granted - brought == set()
