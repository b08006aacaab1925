# SPDX-License-Identifier: GPL-2.0-or-later
"""`perhop live policy` is all or none and outlives daemons; `perhop live status` fails where something is wrong."""

import contextlib
import json
import os
import signal

import pytest
from perhop.errors import PerhopError
from perhop.live import messages, network, state_files
from waiting import wait_until

from .conftest import kill_hard

FIXED = {"cwl": "fixed", "cwl_packets": 3, "round": "half_up"}


@pytest.fixture(scope="module")
def live(start_network):
    return start_network("--policy", "delay", hops=2)


def policies(live):
    return [node["daemon"]["policy"]["cwl"] for node in live.status()["nodes"]]


def all_are_up(live):
    return all((node["daemon"] or {}).get("mac_up") for node in live.status()["nodes"])


def set_policy(live, text):
    return live.perhop("live", "policy", "--name", live.name, text)


def status(live):
    """The exit status of `perhop live status`, and what it says."""
    done = live.perhop("live", "status", "--name", live.name)
    told = live.perhop("live", "status", "--name", live.name, "--json")
    assert told.returncode == done.returncode and json.loads(told.stdout)["ok"] == (done.returncode == 0)
    return done.returncode, done.stdout


@pytest.fixture
def delay(live):
    """With the policy `delay` before and after, whatever happens between."""
    yield
    wait_until(lambda: all_are_up(live), 10)
    assert set_policy(live, "delay").returncode == 0
    assert status(live)[0] == 0


@contextlib.contextmanager
def held_down(live, node):
    state_files.hold(live.state / live.name, f"node-{node}", True)
    wait_until(lambda: live.daemon(node) is None, 5)
    try:
        yield
    finally:
        state_files.hold(live.state / live.name, f"node-{node}", False)
        wait_until(lambda: (live.daemon(node) or {}).get("mac_up"), 10)


def test_a_daemon_that_was_killed_after_live_policy_comes_back_with_the_new_one(live, delay):
    assert policies(live) == ["delay"] * 3
    assert set_policy(live, "fixed 3").returncode == 0
    assert policies(live) == ["fixed"] * 3
    old = live.pid("node-1")
    kill_hard(old)
    wait_until(lambda: live.pid("node-1") != old and all_are_up(live), 10)
    assert policies(live) == ["fixed"] * 3
    code, said = status(live)
    assert code == 0 and "policy cwl 3" in said.splitlines()[0]


def test_with_a_node_down_live_policy_changes_nothing_anywhere(live, delay):
    with held_down(live, 1):
        done = set_policy(live, "fixed 3")
        assert done.returncode == 2 and "node 1" in done.stderr and "remedy" in done.stderr
        assert live.status()["policy"] == "delay"
    assert policies(live) == ["delay"] * 3


def test_a_node_that_does_not_take_the_policy_leaves_all_with_the_old_one(live, delay, monkeypatch):
    """Node 2 answers when it is asked whether it is there, and is stopped before it is told."""
    pid = live.pid("node-2")
    ask = messages.ask_node

    def ask_and_stop(path, command, timeout_s=5):
        if command["command"] == "policy" and path.name == "node-2.sock":
            os.kill(pid, signal.SIGSTOP)
            return ask(path, command, 0.5)
        return ask(path, command, timeout_s)

    monkeypatch.setattr(messages, "ask_node", ask_and_stop)
    try:
        with pytest.raises(PerhopError, match="node 2"):
            network.set_policy(live.name, "fixed 3")
    finally:
        os.kill(pid, signal.SIGCONT)
        monkeypatch.undo()
    wait_until(lambda: all_are_up(live), 10)
    assert live.status()["policy"] == "delay"
    assert policies(live) == ["delay"] * 3
    # And whoever starts anew reads the same.
    kill_hard(pid)
    wait_until(lambda: live.pid("node-2") != pid and all_are_up(live), 10)
    assert policies(live) == ["delay"] * 3


def test_status_fails_where_a_node_has_another_policy_than_the_record(live, delay):
    path = live.state / live.name / "node-1.sock"
    messages.ask_node(path, {"command": "policy", "policy": FIXED})
    code, said = status(live)
    assert code == 1 and "node 1" in said and "policy" in said


def test_status_fails_where_a_daemon_is_away(live, delay):
    with held_down(live, 2):
        code, said = status(live)
        assert code == 1 and "node 2" in said


def test_status_fails_where_a_mac_is_down(live, delay):
    with stopped_medium(live):
        code, said = status(live)
        assert code == 1 and "MAC" in said


@contextlib.contextmanager
def stopped_medium(live):
    folder = live.state / live.name
    state_files.hold(folder, "air", True)
    wait_until(lambda: not live.daemon(0)["mac_up"], 5)
    try:
        yield
    finally:
        state_files.hold(folder, "air", False)
        wait_until(lambda: all_are_up(live), 10)


def test_the_name_of_no_network_is_refused_and_what_exists_is_named(live):
    done = live.perhop("live", "down", "typo")
    assert done.returncode == 2 and "typo" in done.stderr and live.name in done.stderr
    assert all_are_up(live)


def test_an_event_of_an_unknown_kind_is_told_with_the_kinds_there_are(live):
    done = live.perhop("live", "event", "--name", live.name, "bogus")
    assert done.returncode == 2
    for kind in ("route", "link_down", "link_up", "node_down", "node_up", "move", "loss"):
        assert kind in done.stderr
    assert "tag" not in done.stderr and "discriminator" not in done.stderr
    done = live.perhop("live", "event", "--name", live.name, "lin_down", "a=0", "b=1")
    assert done.returncode == 2 and "did you mean 'link_down'?" in done.stderr
