# SPDX-License-Identifier: GPL-2.0-or-later
"""What the file system refuses, and files made to exhaust a reader, end in one message with a remedy and status 2."""

import errno
import json
import os
import resource
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from perhop import files

ROOT = Path(__file__).parents[3]
NOBODY = 65534
NODE = ROOT / "host/node/example.yaml"
LINK = ROOT / "flowgraphs/links/bench_chain.yml"

PLACES = {
    "a file": lambda tmp: _file(tmp / "taken"),
    "below a file": lambda tmp: _file(tmp / "taken") / "out",
    "below a device": lambda tmp: Path("/dev/null/out"),
    "with a name that is too long": lambda tmp: tmp / ("x" * 300),
}


def _file(path: Path) -> Path:
    path.write_text("mine\n")
    return path


def assert_one_message(done, *words: str) -> None:
    assert done.code == 2
    assert done.stderr.count("error:") == 1 and done.stderr.count("remedy:") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.said


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("as_json", [False, True])
def test_run_into_a_place_that_is_no_folder(where, as_json, experiment, fake_build, perhop, tmp_path):
    place = PLACES[where](tmp_path)
    done = perhop("run", experiment, "--out", place, *(["--json"] if as_json else []))
    if as_json:
        error = json.loads(done.stdout)["error"]
        assert done.code == 2 and str(place) in error["problem"] and error["remedy"]
    else:
        assert_one_message(done, str(place), "another")
    if where == "a file":
        assert place.read_text() == "mine\n"


@pytest.mark.parametrize("where", PLACES)
def test_reproduce_into_a_place_that_is_no_folder(where, fake_build, perhop, tmp_path):
    place = PLACES[where](tmp_path)
    assert_one_message(perhop("reproduce", "B-25", "--out", place), str(place))


@pytest.mark.parametrize("where", PLACES)
def test_a_node_whose_runtime_folder_cannot_be_made(where, fake_build, perhop, tmp_path, monkeypatch):
    program = fake_build / "host/node/perhop-node"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("perhop.node.interface.check", lambda wanted: None)
    monkeypatch.setattr("perhop.node.interface.set_up", lambda wanted: pytest.fail("the interface was made"))
    place = PLACES[where](tmp_path)
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(place))
    assert_one_message(perhop("node", NODE), str(place), "RUNTIME_DIRECTORY")


@pytest.mark.parametrize("where", PLACES)
def test_a_flowgraph_whose_folder_cannot_be_made(where, perhop, tmp_path, monkeypatch):
    monkeypatch.setattr("perhop.flowgraph.program.command", lambda *_: (["/bin/true"], {}))
    monkeypatch.setattr("os.execve", lambda *_: pytest.fail("it was started"))
    place = PLACES[where](tmp_path)
    assert_one_message(perhop("flowgraph", LINK, "--node", 0, "--out", place), str(place), "--out")


@pytest.mark.parametrize("where", [*PLACES, "a full disk"])
def test_a_picture_of_top_that_cannot_be_written(where, perhop, tmp_path, monkeypatch):
    sample = SimpleNamespace(nodes={"0": {}})
    monkeypatch.setattr("perhop.export.nodes.find_nodes", lambda *_: [])
    monkeypatch.setattr("perhop.export.top.take", lambda nodes: sample)
    monkeypatch.setattr("perhop.export.top.picture", lambda before, now: QUIET)
    place = Path("/dev/full") if where == "a full disk" else PLACES[where](tmp_path)
    target = place if where == "a full disk" else place / "top.svg"
    done = perhop("top", "--once", "--interval", 0.1, "--svg", target)
    assert_one_message(done, str(place))
    if where == "a full disk":
        assert "no space left" in done.said
        assert stat.S_ISCHR(place.stat().st_mode), "a device is written into, never replaced"


QUIET = {
    "network": "n",
    "interval_s": 1.0,
    "silent_nodes": [],
    "macs_down": [],
    "medium": None,
    "nodes": [],
    "hops": [],
    "flows": [],
}


@pytest.mark.parametrize("command", ["probe", "top", "metrics", "dlep", "live status", "live down"])
def test_a_state_folder_that_may_not_be_read(command, tmp_path):
    state = tmp_path / "state"
    (state / "chain").mkdir(parents=True)
    state.chmod(0)
    node = ["first"] if command == "dlep" else []
    done = as_user(tmp_path, [*command.split(), *node], {"PERHOP_LIVE_STATE": str(state)})
    state.chmod(0o755)
    assert_one_message(done, str(state), "ermission denied")


@pytest.mark.parametrize("command", [("probe",), ("top", "--once")])
def test_a_control_socket_that_is_none(command, perhop, tmp_path):
    for place in (_file(tmp_path / "file"), tmp_path, Path("/dev/null"), tmp_path / ("s" * 200)):
        assert_one_message(perhop(*command, "--socket", place))


def test_an_ordinary_user_is_told_where_he_may_not_write(experiment, fake_build, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    done = as_user(tmp_path, ["run", str(experiment), "--out", str(closed / "out")])
    assert_one_message(done, str(closed / "out"), "permission denied", "may write")
    done = as_user(tmp_path, ["run", str(experiment), "--out", str(closed)])
    assert_one_message(done, str(closed), "permission denied")


def test_an_ordinary_user_is_told_which_file_he_may_not_read(experiment, fake_build, tmp_path):
    experiment.chmod(0)
    assert_one_message(as_user(tmp_path, ["run", str(experiment)]), str(experiment), "cannot be read")


def test_a_disk_that_is_full_ends_the_command_with_what_is_finished_kept(experiment, fake_build, perhop, tmp_path):
    """A limit on the size of files stands in for the disk: the kernel refuses the same writes."""
    out = tmp_path / "out"

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    done = as_user(tmp_path, ["run", str(experiment), "--out", str(out)], limit=small_files, user=None)
    assert_one_message(done, str(out), "too large")
    assert not list(out.rglob("*.tmp")), "nothing half-written is left"
    assert perhop("run", experiment, "--out", out).code == 0, "with room the same command goes on"


def test_results_that_cannot_be_kept_end_the_command(experiment, fake_build, perhop, tmp_path, monkeypatch):
    """A thread that fails must not leave the others waiting for it."""

    def refuse(outcome, ended, work, stopped) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(work))

    monkeypatch.setattr("perhop.study.run_folder.settle", refuse)
    assert_one_message(perhop("run", experiment, "--out", tmp_path / "out"), str(tmp_path / "out"), "no space left")


def test_a_mistake_of_ours_beside_a_run_ends_the_command(experiment, fake_build, perhop, tmp_path, monkeypatch):
    """Whatever a thread fails of, the others do not wait for it."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("perhop.study.run_folder.settle", fail)
    with pytest.raises(ZeroDivisionError):
        perhop("run", experiment, "--out", tmp_path / "out")


def test_runs_that_an_error_of_ours_ends_are_cut_short_and_have_not_failed(
    experiment, fake_build, perhop, tmp_path, monkeypatch
):
    monkeypatch.setenv("FAKE_WALL_S", "60")

    def give_up(view, study) -> None:
        if any(outcome.status == "running" for outcome in study.outcomes):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "screen")

    monkeypatch.setattr("perhop.study.progress.ProgressView.update", give_up)
    assert_one_message(perhop("run", experiment, "--out", tmp_path / "out", "--jobs", 2), "screen")
    left = list((tmp_path / "out/runs").iterdir())
    assert len(left) == 2 and all(folder.suffix == ".partial" for folder in left), left


@pytest.mark.parametrize("where", PLACES)
def test_a_live_network_whose_state_cannot_be_kept(where, experiment, fake_build, perhop, tmp_path, monkeypatch):
    monkeypatch.setattr("perhop.live.namespaces.check_host", lambda: None)
    monkeypatch.setattr("perhop.live.namespaces.existing", lambda name: [])
    monkeypatch.setattr("perhop.live.namespaces.delete", lambda name: 0)
    monkeypatch.setattr("perhop.paths.program", lambda name: fake_build / "sim/ns3/perhop-sim")
    place = PLACES[where](tmp_path)
    monkeypatch.setenv("PERHOP_LIVE_STATE", str(place))
    one = ("live", "up", experiment, "--set", "topology.hops=2")
    assert_one_message(perhop(*one), str(place))
    told = perhop(*one, "--json")
    assert told.code == 2 and json.loads(told.stdout)["error"]["remedy"]


def test_output_that_nobody_takes_is_no_success():
    command = [sys.executable, "-c", "from perhop.cli import main; main()", "version"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode == 2
    assert "No space left" in done.stderr.replace("no space", "No space") and "Traceback" not in done.stderr


def test_a_write_that_fails_names_the_file_that_was_wanted(tmp_path):
    with pytest.raises(OSError) as caught:
        files.write_text(_file(tmp_path / "taken") / "report.html", "text")
    assert caught.value.filename == str(tmp_path / "taken" / "report.html")

    def fill(temporary: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError) as caught:
        files.write_whole(tmp_path / "report.html", fill)
    assert caught.value.filename == str(tmp_path / "report.html")


# --- files made to exhaust their reader -------------------------------------------------------------------------------

BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
BOMBS = {
    "nested aliases": (BOMB, "values"),
    "nested aliases in keys of sections": (
        "a: &a {k1: 1, k2: 2}\n"
        + "".join(
            f"{name}: &{name} {{k1: *{before}, k2: *{before}, k3: *{before}}}\n"
            for before, name in zip("abcdefghijklmnop", "bcdefghijklmnopq", strict=True)
        ),
        "values",
    ),
    "an alias of itself": ("a: &a [1, *a]\n", "itself"),
    "deep flow lists": ("a: " + "[" * 100_000, "nested"),
    "deep flow maps": ("a: " + "{b: " * 100_000, "nested"),
    "deep blocks": ("".join(f"{' ' * depth}a:\n" for depth in range(2000)), "nested"),
    "a list in a list in a list": ("a:\n " + "- " * 100_000 + "x\n", "nested"),
    "a huge file": ("# " + "x" * 30_000_000, "bytes"),
    "a number of many digits": ("duration_s: 1" + "0" * 100_000 + "\n", "digits"),
}
READERS = {
    "run": ("run",),
    "live up": ("live", "up"),
    "node": ("node", "--check"),
    "flowgraph": ("flowgraph", "--check", "--node", "0"),
    "doctor": ("doctor", "--inventory"),
    "dlep": ("dlep", "--socket", "none", "--config"),
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("command", READERS)
def test_a_file_made_to_exhaust_its_reader_ends_in_an_error_within_a_second(
    command, bomb, experiment, fake_build, perhop, tmp_path
):
    text, word = BOMBS[bomb]
    file = tmp_path / "bomb.yaml"
    file.write_text(text)
    perhop("run", tmp_path / "none.yaml")  # what is imported once
    start = time.process_time()
    done = perhop(*READERS[command], file)
    took_s = time.process_time() - start
    assert_one_message(done, str(file), word)
    assert took_s < 1


def test_a_file_without_an_end_is_not_read_to_it(perhop):
    assert_one_message(perhop("run", "/dev/zero"), "/dev/zero", "bytes")


@pytest.mark.parametrize("value", ["[" * 100_000, "1" + "0" * 100_000, "&a [*a]"])
def test_an_override_made_to_exhaust_its_reader_ends_in_an_error(value, experiment, fake_build, perhop, tmp_path):
    start = time.process_time()
    assert_one_message(perhop("run", experiment, "--set", f"duration_s={value}", "--out", tmp_path / "out"))
    assert time.process_time() - start < 1


def test_aliases_that_save_writing_remain(experiment, fake_build, perhop, tmp_path):
    text = experiment.read_text().replace(
        "    src: first\n    dst: last\n",
        "    src: &first first\n    dst: last\n  - {kind: tcp, src: *first, dst: last}\n",
    )
    assert "*first" in text
    experiment.write_text(text)
    assert perhop("run", experiment, "--out", tmp_path / "out").code == 0


# --- helpers ----------------------------------------------------------------------------------------------------------


def as_user(tmp_path, arguments, more=None, limit=None, user=NOBODY):
    """The command as somebody without root's rights: where the tests run as root, as nobody."""
    drop = {"user": user, "group": user, "extra_groups": []} if user is not None and os.geteuid() == 0 else {}
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    for program in tmp_path.glob("build/*/*/*"):
        program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", "from perhop.cli import main; main()", *arguments],
        env={**os.environ, "MPLCONFIGDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", **(more or {})},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=600,
        preexec_fn=limit,
        check=False,
        **drop,
    )
    return SimpleNamespace(code=done.returncode, stderr=done.stderr, said=" ".join(done.stderr.split()))
