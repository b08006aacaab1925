# SPDX-License-Identifier: GPL-2.0-or-later
"""Git versions of the simulators stand on a side of a comparison: each is built once, and kept."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from perhop import paths

FAKE = Path(__file__).with_name("fake_simulator.py")
NONE_AGAINST_CWL_8 = ("--set-a", "policies=[none]", "--set-b", "policies=[fixed 8]")


def result(done) -> dict:
    """The object of the RESULT line, which is the last one."""
    word, _, value = done.stdout.rstrip().splitlines()[-1].partition(" ")
    assert word == "RESULT"
    return json.loads(value)


def written(home: Path) -> list[Path]:
    return sorted(home.rglob("*"))


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository whose CMake project gives a perhop-sim: the second commit's is another one, the third has none."""
    folder = tmp_path / "checkout"
    folder.mkdir()

    def git(*words: str) -> str:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        return subprocess.run(
            ["git", "-C", folder, *identity, *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q", "-b", "main")
    for text in (f'exec "{sys.executable}" "{FAKE}" "$@"', f'exec "{sys.executable}" "{FAKE}" "$@" # later', None):
        if text is not None:
            (folder / "perhop-sim").write_text(f"#!/bin/sh\n{text}\n")
            (folder / "perhop-sim").chmod(0o755)
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(tiny NONE)\n"
            "add_custom_target(perhop-sim COMMAND ${CMAKE_COMMAND} -E copy "
            "${CMAKE_SOURCE_DIR}/perhop-sim ${CMAKE_BINARY_DIR}/sim/ns3/perhop-sim)\n"
            if text is not None
            else 'message(FATAL_ERROR "no bread today")\n'
        )
        git("add", "-A")
        git("commit", "-q", "-m", "x")
        git("tag", f"v{git('rev-list', '--count', 'HEAD')}")
    monkeypatch.setattr(paths, "repository", lambda: folder)
    return folder


def test_a_git_version_is_built_once_in_a_worktree_of_its_own(experiment, home, perhop, checkout, made):
    done = perhop("compare", experiment, "--git-a", "v1", "--git-b", "v2")
    assert done.code == 0, done.stderr
    told = result(done)
    assert [each["field"] for each in told["compared"]] == ["version"]
    assert told["compared"][0]["a"].startswith("v1 (") and told["compared"][0]["b"].startswith("v2 (")
    hashes = [told["sides"][side]["programs_sha256"]["perhop-sim"] for side in "AB"]
    assert hashes[0] != hashes[1]
    assert told["sides"]["A"]["command"][0].startswith("PERHOP_BUILD=out/versions/")
    assert {row["difference"] for row in told["rows"]} == {0.0}
    assert len(made()) == 16, "the same runs by two programs are two"
    builds = {path: path.stat().st_mtime_ns for path in home.glob("out/versions/*/build.log")}
    assert len(builds) == 2 and len(list(home.glob("out/versions/*/tree/CMakeLists.txt"))) == 2
    assert perhop("compare", experiment, "--git-a", "v2").code == 0
    assert len(made()) == 8, "this build's; those of v2 are there"
    assert {path: path.stat().st_mtime_ns for path in home.glob("out/versions/*/build.log")} == builds


def test_a_removed_worktree_is_made_again(experiment, home, perhop, checkout):
    assert perhop("compare", experiment, "--git-a", "v2").code == 0
    shutil.rmtree(home / "out")
    assert perhop("compare", experiment, "--git-a", "v2").code == 0


def test_a_version_that_is_not_there_or_does_not_build_is_told(experiment, home, perhop, checkout):
    done = perhop("compare", experiment, "--git-b", "v9")
    assert done.code == 2 and "no git version 'v9'" in done.said and written(home) == []
    done = perhop("compare", experiment, "--git-b", "v3")
    assert done.code == 2 and "no bread today" in done.said and "build.log" in done.said


def test_a_version_beside_another_policy_is_refused_before_it_is_built(experiment, home, perhop, checkout):
    done = perhop("compare", experiment, *NONE_AGAINST_CWL_8, "--git-b", "v1")
    assert done.code == 2 and "the program differs" in done.said and "the policy differs" in done.said
    assert written(home) == []


def test_a_version_has_no_live_network(experiment, home, perhop, checkout):
    done = perhop("compare", experiment, "--git-b", "v1", "--backend-b", "live")
    assert done.code == 2 and "--git-b builds the simulators" in done.said
