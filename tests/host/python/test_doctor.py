# SPDX-License-Identifier: GPL-2.0-or-later
"""perhop doctor and perhop version."""

import json
import shutil

from perhop import __version__


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
