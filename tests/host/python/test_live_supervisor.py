# SPDX-License-Identifier: GPL-2.0-or-later
"""The supervisor of a live network, without a network: what its processes and its folder may do to it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from perhop.errors import PerhopError
from perhop.live import events, network, state_files, supervisor
from waiting import wait_until


@pytest.fixture
def supervise(tmp_path):
    """Gives start(commands): a supervisor of these in tmp_path."""
    started = []

    def start(commands):
        (tmp_path / "state.json").write_text(json.dumps({"commands": commands, "events": [], "nodes": []}))
        command = [sys.executable, "-m", "perhop.live.supervisor", str(tmp_path)]
        process = subprocess.Popen(command, stderr=(tmp_path / "said").open("w"), start_new_session=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.terminate()
        process.wait(10)


def processes(folder):
    path = folder / "processes.json"
    return json.loads(path.read_text()) if path.exists() else {}


def test_a_program_that_cannot_be_executed_neither_ends_the_supervisor_nor_fills_its_log(supervise, tmp_path):
    late = tmp_path / "late"
    running = supervise({"late": [str(late)], "other": ["sleep", "1000"]})
    wait_until(lambda: processes(tmp_path).get("other", {}).get("pid"))
    # Each try opens the program's log, which is removed here: that it was there three times says that it was tried.
    for _ in range(3):
        wait_until((tmp_path / "late.log").exists)
        (tmp_path / "late.log").unlink()
    assert running.poll() is None
    assert (tmp_path / "said").read_text().count("cannot be started") == 1, "said once, however often it is tried"
    late.write_text("#!/bin/sh\nexec sleep 1000\n")
    late.chmod(0o755)
    wait_until(lambda: processes(tmp_path).get("late", {}).get("pid"))


def test_a_folder_that_cannot_be_written_does_not_end_the_supervisor(supervise, tmp_path):
    """In the place of the files that it writes are folders; when these go, it records what runs."""
    for name in ("processes.json", "one.log"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "in the way").touch()
    mark = tmp_path / "ran"
    running = supervise({"one": ["sh", "-c", f"echo $$ >> {mark}; exec sleep 1000"]})

    def starts():
        return mark.read_text().splitlines() if mark.exists() else []

    wait_until(lambda: len(starts()) == 1)
    # It starts the program again: it is there, and has tried to write.
    os.kill(int(starts()[0]), signal.SIGKILL)
    wait_until(lambda: len(starts()) == 2)
    assert running.poll() is None
    for name in ("processes.json", "one.log"):
        (tmp_path / name / "in the way").unlink()
        (tmp_path / name).rmdir()
    wait_until(lambda: processes(tmp_path).get("one", {}).get("pid"))
    os.kill(processes(tmp_path)["one"]["pid"], signal.SIGKILL)
    wait_until(lambda: len(starts()) == 3)
    wait_until((tmp_path / "one.log").exists)


def test_the_log_of_a_process_that_ends_over_and_over_stays_bounded(supervise, tmp_path):
    log, old = tmp_path / "talks.log", tmp_path / "talks.log.old"
    script = f"head -c {supervisor.MOST_LOG_BYTES + 1} /dev/zero"
    supervise({"talks": ["sh", "-c", script]})
    wait_until(lambda: processes(tmp_path).get("talks", {}).get("starts", 0) >= 4)
    assert old.stat().st_size == supervisor.MOST_LOG_BYTES + 1
    assert log.stat().st_size <= supervisor.MOST_LOG_BYTES + 1


def test_a_policy_that_is_tried_in_vain_leaves_the_record_as_it_was(tmp_path):
    state_files.record_policy(tmp_path, "delay", {"cwl": "delay"})
    with pytest.raises(KeyError), state_files.trying_policy(tmp_path, "none", {"cwl": "none"}):
        assert state_files.read_policy(tmp_path) == {"label": "none", "policy": {"cwl": "none"}}
        raise KeyError
    assert state_files.read_policy(tmp_path) == {"label": "delay", "policy": {"cwl": "delay"}}
    with state_files.trying_policy(tmp_path, "none", {"cwl": "none"}):
        pass
    assert state_files.read_policy(tmp_path)["label"] == "none"
    assert [path.name for path in tmp_path.iterdir()] == [state_files.POLICY]


def test_a_later_route_to_the_same_destination_replaces_the_recorded_one(tmp_path):
    path = state_files.interface_file(tmp_path, "node-0")
    path.write_text(
        "tuntap add dev radio0 mode tun\nroute replace 10.0.0.2/32 dev radio0\nroute replace 10.0.0.3/32 a\n"
    )
    state_files.record_routes(tmp_path, "node-0", ["route replace 10.0.0.3/32 b", "route replace fd70::3/128 c"])
    assert path.read_text().splitlines() == [
        "tuntap add dev radio0 mode tun",
        "route replace 10.0.0.2/32 dev radio0",
        "route replace 10.0.0.3/32 b",
        "route replace fd70::3/128 c",
    ]


# --- what is told ---------------------------------------------------------------------------------------------------

POLICY = {"cwl": "delay"}
DAEMON = {"mac_up": True, "mac_problem": "", "policy": POLICY}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"supervisor": None}, "supervisor"),
        ({"medium": None}, "medium"),
        ({"daemon": None}, "node 1: no daemon"),
        ({"daemon": {**DAEMON, "mac_up": False}}, "node 1: its MAC: is down"),
        ({"daemon": {**DAEMON, "mac_problem": "no completion for 5 s"}}, "node 1: its MAC: no completion for 5 s"),
        ({"daemon": {**DAEMON, "policy": {"cwl": "none"}}}, "node 1: has the policy"),
        ({"namespace": "perhop-gone-1"}, "node 1: its namespace perhop-gone-1"),
    ],
)
def test_a_status_names_each_thing_that_is_wrong_and_nothing_else(tmp_path, monkeypatch, change, said):
    monkeypatch.setattr(network.namespaces, "NAMESPACES", tmp_path)
    (tmp_path / "perhop-n-1").touch()
    node = {"index": 1, "namespace": change.get("namespace", "perhop-n-1"), "daemon": change.get("daemon", DAEMON)}
    found = {"supervisor": 7, "medium": {}, **change, "nodes": [node]}
    problems = network.problems(found, POLICY)
    assert len(problems) == (said is not None)
    assert said is None or said in problems[0]


@pytest.mark.parametrize(
    ("kind", "words", "said"),
    [
        ("bogus", [], "route, link_down, link_up, node_down, node_up, loss, move"),
        ("lin_down", ["a=0", "b=1"], "did you mean 'link_down'?"),
        ("link_down", ["a=0"], "b: is missing"),
        ("link_down", ["a=0", "b=x"], "a whole number"),
        ("link_down", ["a=0", "b=1", "c=2"], "unknown field"),
        ("loss", ["frame_error_rate=2"], "at most 1"),
        ("node_down", ["node=9"], "there is no node 9"),
        ("move", ["node=1", "x_m=0", "y_m=0", "speed_mps=1"], "elsewhere at once"),
    ],
)
def test_an_event_that_is_wrong_is_told_in_words_of_ours(kind, words, said):
    with pytest.raises(PerhopError) as refused:
        events.parse(kind, words, 3)
    assert said in str(refused.value)
    for raw in ("Input", "tag", "pydantic", "should be", "permitted"):
        assert raw not in str(refused.value)


@pytest.mark.parametrize("value", ["[" * 100_000, "1" + "0" * 100_000, "&a [*a]", "[1, 2", "'"])
def test_a_value_of_an_event_that_no_reader_can_take_is_told_within_a_second(value):
    start = time.process_time()
    with pytest.raises(PerhopError) as refused:
        events.parse("route", [f"path={value}"], 3)
    assert time.process_time() - start < 1
    assert "path" in str(refused.value) and "remedy: quote" in str(refused.value)
    assert len(str(refused.value)) < 200
