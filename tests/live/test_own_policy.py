# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies of one's own in daemons: what they do to traffic, what becomes of one that fails, and with which rights."""

import os

import pyarrow.parquet as pq
import pytest
from perhop.errors import PerhopError
from perhop.live import messages
from perhop.own.build import build
from waiting import wait_until

from .conftest import ROOT, run_perhop

OWN = ROOT / "sim/experiments/own_policy"
SHORT = ["duration_s=13", "warmup_s=3", "seeds=[1]", "topology.hops=3", "flows.0.segment_bytes=1448"]


@pytest.fixture(scope="module")
def goodputs(state, tmp_path_factory):
    """Of perhop's `hop` and its copies in Python and C++, by backend."""
    folder = tmp_path_factory.mktemp("own")
    built, _ = build(OWN / "limits.cpp", folder / "limits.so")
    settings = [*SHORT, f"policies=[hop, limits.py:ByHops, {built}:by_hops]"]
    words = [word for setting in settings for word in ("--set", setting)]
    found = {}
    for backend in ("sim", "live"):
        out = folder / backend
        done = run_perhop("run", str(OWN), "--backend", backend, "--out", str(out), *words, state=state, timeout_s=300)
        assert (out / "flows.parquet").is_file(), done.stderr
        found[backend] = {row["policy"]: row["goodput_bps"] for row in pq.read_table(out / "flows.parquet").to_pylist()}
    return found


@pytest.mark.parametrize("policy", ["limits.py:ByHops", "limits.so:by_hops"])
def test_over_three_hops_the_goodput_is_that_of_the_simulation(goodputs, policy):
    assert goodputs["sim"][policy] == goodputs["sim"]["hop"]
    assert goodputs["live"][policy] == pytest.approx(goodputs["sim"][policy], rel=0.1)
    assert goodputs["live"][policy] == pytest.approx(goodputs["live"]["hop"], rel=0.1)


@pytest.fixture(scope="module")
def live(start_network):
    return start_network("--policy", "delay", hops=3)


def set_policy(live, text):
    return live.perhop("live", "policy", "--name", live.name, text)


def write(folder, text):
    (folder / "mine.py").write_text(text)
    return f"{folder / 'mine.py'}:Mine"


def log_of(live, node):
    return (live.state / live.name / f"node-{node}.log").read_text()


def test_a_policy_is_given_to_a_network_that_runs_and_its_daemons_hold_to_it(live, tmp_path):
    done = set_policy(live, write(tmp_path, "class Mine:\n    def limit_packets(self):\n        return 2\n"))
    assert done.returncode == 0 and "policy mine.py:Mine" in done.stdout, done.stderr
    live.transfer(300)
    flow = max(live.daemon(0)["flows"], key=lambda each: each["most_in_flight"])
    assert flow["most_in_flight"] == 2
    assert live.perhop("live", "status", "--name", live.name).returncode == 0
    # What runs is a copy.
    (tmp_path / "mine.py").unlink()
    live.transfer(100)


def test_one_that_fails_is_logged_once_and_the_flow_goes_on(live, tmp_path):
    source = """
class Mine:
    times = 0

    def on_path(self, now_us, path):
        self.times += 1
        if self.times == 20:
            raise ValueError("a bug of mine")

    def limit_packets(self):
        return 1
"""
    assert set_policy(live, write(tmp_path, source)).returncode == 0
    live.transfer(300)
    wait_until(lambda: "a bug of mine" in log_of(live, 0), 5)
    assert "policy_failed" in log_of(live, 0)
    assert set_policy(live, "delay").returncode == 0
    live.transfer(100)


def test_a_policy_in_a_daemon_holds_no_capability(live, tmp_path):
    told = tmp_path / "told"
    source = f"""
open({str(told)!r} + "-loaded", "a").write(open("/proc/self/status").read())

class Mine:
    def limit_packets(self):
        open({str(told)!r}, "w").write(open("/proc/self/status").read())
        return 3
"""
    assert set_policy(live, write(tmp_path, source)).returncode == 0
    live.transfer(50)
    assert "CapEff:\t0000000000000000" in told.read_text() and "NoNewPrivs:\t1" in told.read_text()
    # By `perhop live policy`, with the rights of whoever gives it; then by each of four daemons.
    loaded = (tmp_path / "told-loaded").read_text().split("Name:")[1:]
    assert len(loaded) == 5 and sum("CapEff:\t0000000000000000" in each for each in loaded) >= 4
    # A daemon that starts with it has given up what it held, too.
    (tmp_path / "told-loaded").unlink()
    live.reconfigure(0, lambda config: None)
    assert (tmp_path / "told-loaded").read_text().count("CapEff:\t0000000000000000") == 1
    assert set_policy(live, "delay").returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root refuses what others can write")
def test_one_that_others_can_write_is_refused_and_nothing_changes(live, tmp_path):
    words = write(tmp_path, "class Mine:\n    def limit_packets(self):\n        return 2\n")
    (tmp_path / "mine.py").chmod(0o666)
    done = set_policy(live, words)
    assert done.returncode == 2 and "others can write it" in done.stderr
    assert {node["daemon"]["policy"]["cwl"] for node in live.status()["nodes"]} == {"delay"}


def test_the_daemon_itself_refuses_one_that_others_can_write(live, tmp_path):
    write(tmp_path, "class Mine:\n    def limit_packets(self):\n        return 2\n")
    (tmp_path / "mine.py").chmod(0o666)
    policy = {"cwl": "own", "own": {"file": str(tmp_path / "mine.py"), "name": "Mine"}}
    with pytest.raises(PerhopError, match="others can write it"):
        messages.ask_node(live.state / live.name / "node-0.sock", {"command": "policy", "policy": policy})
