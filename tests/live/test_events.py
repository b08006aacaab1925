# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripted events in real time, and those that somebody asks for by hand."""

import re
import time
from pathlib import Path

import pytest
from waiting import wait_until

from .conftest import kill_hard

DIAMOND = Path(__file__).parent / "diamond.yaml"
# What the file's events leave of the path from node 0 to node 3, each 2 s long.
WORKS = [True, True, False, True, False, True, False, True, False, True]
PHASE_S = 2.0
# A packet may wait at the end of a phase, and a daemon needs its time to come back.
MARGIN_S = 0.7


def test_the_files_events_happen_at_their_times(start_network):
    live = start_network("--set", "warmup_s=0", file=DIAMOND)
    state = live.status()["events"]
    assert state["of"] == len(WORKS) - 1
    offset_s = time.time() - time.monotonic()
    pinging = live.start(0, "ping", "-n", "-D", "-i", "0.1", "-W", "1", "-w", "19", "10.0.0.4")

    def forwarded(node):
        return live.daemon(node)["packets"]["forwarded"]

    wait_until(lambda: forwarded(1) > 10, 5)
    assert forwarded(2) == 0
    # The first ping and its reply over node 2: nothing is on its way over node 1 any more, and nothing comes.
    wait_until(lambda: forwarded(2) > 2, 5)
    first_left = forwarded(1)
    wait_until(lambda: forwarded(2) > 10, 5)
    assert forwarded(1) == first_left
    said, _ = pinging.communicate(timeout=60)
    replies = [float(found) for found in re.findall(r"^\[([\d.]+)\] \d+ bytes from 10\.0\.0\.4", said, re.MULTILINE)]
    heard = [0] * len(WORKS)
    for at in replies:
        since_s = at - offset_s - state["origin_s"]
        phase = int(since_s // PHASE_S)
        if phase < len(WORKS) and since_s % PHASE_S > MARGIN_S:
            heard[phase] += 1
    # Thirteen pings fall into what is looked at of each phase but the last.
    for phase, works in enumerate(WORKS[:-1]):
        assert heard[phase] >= 8 if works else heard[phase] == 0, (phase, heard)
    wait_until(lambda: live.status()["events"]["played"] == len(WORKS) - 1, 5)
    assert live.status()["events"]["errors"] == []
    assert live.ping(0, "10.0.0.4").returncode == 0


def test_the_player_goes_on_where_it_was_killed(start_network):
    """Killed between two events, it plays the second one once, and not the first again."""
    events = "[{at_s: 1, kind: loss, frame_error_rate: 0.9}, {at_s: 5, kind: link_down, a: 1, b: 3}]"
    live = start_network("--set", f"events={events}", "--set", "warmup_s=0", file=DIAMOND)
    wait_until(lambda: live.status()["events"]["played"] == 1, 10)
    assert live.perhop("live", "event", "--name", live.name, "loss", "frame_error_rate=0").returncode == 0
    kill_hard(live.pid("events"))
    wait_until(lambda: live.status()["events"]["played"] == 2, 15)
    assert live.ping(0, "10.0.0.2").returncode == 0
    assert live.ping(0, "10.0.0.4", 2).returncode != 0


@pytest.fixture(scope="module")
def quiet(start_network):
    return start_network("--set", "events=[]", file=DIAMOND)


def test_an_event_by_hand_outlives_the_medium(quiet):
    def event(*words):
        done = quiet.perhop("live", "event", "--name", quiet.name, *words)
        assert done.returncode == 0, done.stderr

    event("link_down", "a=1", "b=3")
    event("move", "node=2", "x_m=200", "y_m=-3000")
    assert quiet.ping(0, "10.0.0.4", 2).returncode != 0
    old = quiet.pid("air")
    kill_hard(old)
    wait_until(lambda: quiet.pid("air") != old and quiet.ping(0, "10.0.0.2", 1).returncode == 0, 10)
    assert quiet.ping(0, "10.0.0.4", 2).returncode != 0
    event("route", "path=[0,2,3]")
    assert quiet.ping(0, "10.0.0.4", 2).returncode != 0
    event("move", "node=2", "x_m=200", "y_m=-100")
    assert quiet.ping(0, "10.0.0.4", 2).returncode == 0
    event("link_up", "a=1", "b=3")
    event("route", "path=[0,1,3]")
    forwarded = quiet.daemon(1)["packets"]["forwarded"]
    assert quiet.ping(0, "10.0.0.4", 2).returncode == 0
    assert quiet.daemon(1)["packets"]["forwarded"] == forwarded + 4


def test_a_dead_node_has_no_daemon_until_it_is_back(quiet):
    assert quiet.perhop("live", "event", "--name", quiet.name, "node_down", "node=1").returncode == 0
    wait_until(lambda: quiet.daemon(1) is None, 5)
    assert quiet.ping(0, "10.0.0.2", 2).returncode != 0
    assert quiet.daemon(1) is None
    assert quiet.perhop("live", "event", "--name", quiet.name, "node_up", "node=1").returncode == 0
    wait_until(lambda: quiet.daemon(1) is not None, 5)
    wait_until(lambda: quiet.ping(0, "10.0.0.2", 1).returncode == 0, 5)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("link_down", "a=0"), "b"),
        (("earthquake",), "earthquake"),
        (("node_down", "node=7"), "there is no node 7"),
        (("loss", "frame_error_rate=2"), "frame_error_rate"),
        (("loss", "half"), "no assignment"),
    ],
)
def test_an_event_that_makes_no_sense_is_refused_with_a_remedy(quiet, words, said):
    done = quiet.perhop("live", "event", "--name", quiet.name, *words)
    assert done.returncode == 2
    assert said in done.stderr and "remedy" in done.stderr
