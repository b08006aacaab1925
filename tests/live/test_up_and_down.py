# SPDX-License-Identifier: GPL-2.0-or-later
"""Coming up, going down, and what is left after processes were killed."""

import json
import shutil
import subprocess
import time

import pytest
from perhop import privileges
from perhop.live import namespaces, network
from waiting import wait_until

from .conftest import CHAIN, kill_hard, run_perhop


def processes_naming(text: str) -> str:
    return subprocess.run(["pgrep", "-f", text], capture_output=True, text=True, check=False).stdout


def test_four_nodes_are_up_within_15_seconds(state):
    done = run_perhop("live", "up", str(CHAIN), "--set", "topology.hops=3", "--name", "tup", "--json", state=state)
    try:
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["setup_s"] < 15
        again = run_perhop("live", "up", str(CHAIN), "--set", "topology.hops=3", "--name", "tup", state=state)
        assert again.returncode == 2 and "is up already" in again.stderr
        assert run_perhop("live", "status", "--name", "tup", state=state).returncode == 0
    finally:
        assert run_perhop("live", "down", "tup", state=state).returncode == 0
    assert not namespaces.existing("tup")
    assert not (state / "tup").exists()
    assert not processes_naming(f"{state}/tup")


@pytest.mark.parametrize("lost", ["supervisor", "state folder", "everything but the namespaces"])
def test_down_cleans_up_from_any_state(state, start_network, lost):
    live = start_network(hops=1)
    sleeping = live.start(0, "sleep", "1000")
    processes = live.status()["processes"]
    supervisor = live.status()["supervisor"]
    if lost != "state folder":
        kill_hard(supervisor)
    if lost == "everything but the namespaces":
        for process in processes.values():
            kill_hard(process["pid"])
    if lost != "supervisor":
        shutil.rmtree(state / live.name)
    assert live.perhop("live", "down", live.name).returncode == 0
    assert not namespaces.existing(live.name)
    assert not processes_naming(f"{state}/{live.name}")
    assert sleeping.wait(5) != 0


@pytest.mark.parametrize("killed", ["air", "node-1", "node-3"])
def test_traffic_resumes_after_a_process_was_killed(start_network, killed):
    live = start_network()
    before = live.pid(killed)
    kill_hard(before)
    wait_until(lambda: live.pid(killed) not in (None, before), 5)
    wait_until(lambda: live.ping(0, "10.0.0.4", 1).returncode == 0, 10)


def test_traffic_goes_on_without_the_supervisor(start_network):
    live = start_network(hops=1)
    kill_hard(live.status()["supervisor"])
    assert live.ping(0, "10.0.0.2").returncode == 0
    assert live.perhop("live", "status", "--name", live.name).returncode == 1


@pytest.mark.anywhere
def test_without_the_capability_one_message_says_so_and_nothing_is_made(state):
    """`ip` itself would fail half way; the command looks first."""
    program = "import sys; from perhop.cli import main; sys.argv[0] = 'perhop'; main()"
    words = ["live", "up", str(CHAIN), "--set", "topology.hops=3", "--name", "tcap"]
    drop = ["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin"]
    if privileges.effective_capabilities() == 0:
        drop = []
    done = subprocess.run([*drop, *run_perhop_command(program), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "CAP_NET_ADMIN" in done.stderr and "remedy" in done.stderr
    assert not namespaces.existing("tcap")
    assert not (state / "tcap").exists()


def run_perhop_command(program: str) -> list[str]:
    import sys

    return [sys.executable, "-c", program]


def test_a_program_that_cannot_start_is_said_and_nothing_is_left(state, tmp_path, monkeypatch):
    """A medium that ends at once: the nodes never get their MAC. That takes no patience, as with slow ones."""
    for name in ("perhop-live-air", "perhop-node"):
        (tmp_path / name).write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PERHOP_BUILD", str(tmp_path))
    started_s = time.monotonic()
    done = run_perhop("live", "up", str(CHAIN), "--set", "topology.hops=1", "--name", "tfail", state=state)
    assert time.monotonic() - started_s < network.UP_TIMEOUT_S
    assert done.returncode == 2
    assert "no such luck" in done.stderr and "cannot run" in done.stderr
    assert not namespaces.existing("tfail")
    assert not processes_naming(f"{state}/tfail")
