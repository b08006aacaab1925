# SPDX-License-Identifier: GPL-2.0-or-later
"""What the processes of a live network may do to their host: nothing that they do not need."""

import os
import pwd
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from waiting import wait_until

PROGRAM = "import sys; from perhop.cli import main; sys.argv[0] = 'perhop'; main()"
NOBODY = pwd.getpwnam("nobody").pw_uid


def status_of(pid: int) -> dict[str, str]:
    return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())


def assert_powerless(pid: int, uid: int) -> None:
    """Every thread of it: capabilities belong to threads."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        status = status_of(int(thread.name))
        for kind in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"):
            assert int(status[kind], 16) == 0, (pid, thread.name, kind, status[kind])
        assert status["NoNewPrivs"].strip() == "1"
        assert set(status["Uid"].split()) == {str(uid)}, (pid, status["Uid"])
        assert uid == 0 or not status["Groups"].strip()


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture(scope="module")
def live(start_network):
    return start_network(hops=1)


def start(live, *words, **pipes):
    environment = {**os.environ, "PERHOP_LIVE_STATE": str(live.state)}
    command = [sys.executable, "-c", PROGRAM, *words, "--name", live.name]
    process = subprocess.Popen(command, text=True, env=environment, **pipes)
    live.started.append(process)
    return process


def test_daemon_and_medium_hold_no_capability_and_the_medium_is_nobody(live):
    # Each owns the folder in which it makes its socket again when that was removed.
    assert_powerless(live.pid("node-0"), 0)
    assert_powerless(live.pid("air"), NOBODY)
    assert live.ping(0, "10.0.0.2", 3).returncode == 0


def test_metrics_holds_no_capability_and_is_nobody(live):
    process = start(live, "metrics", "--listen", "19468", stdout=subprocess.PIPE)
    url = process.stdout.readline().split()[-1]
    for _ in range(2):
        assert "perhop_up" in urllib.request.urlopen(url, timeout=10).read().decode()
    assert_powerless(process.pid, NOBODY)
    # Who asks the daemons owns their sockets, and holds no socket of the network.
    (asker,) = children_of(process.pid)
    assert_powerless(asker, 0)
    sockets = [str(entry.readlink()) for entry in Path(f"/proc/{asker}/fd").iterdir()]
    inodes = set(re.findall(r"socket:\[(\d+)\]", " ".join(sockets)))
    assert inodes
    table = Path(f"/proc/{asker}/net/tcp").read_text() + Path(f"/proc/{asker}/net/udp").read_text()
    assert not inodes & {line.split()[9] for line in table.splitlines() if line.split()[9].isdigit()}
    process.terminate()
    assert process.wait(5) == 0
    wait_until(lambda: not Path(f"/proc/{asker}").exists(), 5)


def test_dlep_opens_port_854_and_then_holds_no_capability_and_is_nobody(live):
    process = start(live, "dlep", "0", stderr=subprocess.PIPE)
    assert "port 854" in process.stderr.readline()
    assert_powerless(process.pid, NOBODY)
    (asker,) = children_of(process.pid)
    assert_powerless(asker, 0)
    process.terminate()
    assert process.wait(5) == 0
    wait_until(lambda: not Path(f"/proc/{asker}").exists(), 5)


def test_another_user_may_be_chosen_and_one_that_is_not_there_is_refused(live):
    other = pwd.getpwnam("daemon")
    process = start(live, "metrics", "--listen", "19469", "--user", other.pw_name, stdout=subprocess.PIPE)
    process.stdout.readline()
    assert_powerless(process.pid, other.pw_uid)
    process.terminate()
    assert process.wait(5) == 0
    done = live.perhop("metrics", "--name", live.name, "--user", "nosuchuser")
    assert done.returncode == 2 and "there is no user 'nosuchuser'" in done.stderr


def test_when_the_one_that_asks_ends_so_does_the_one_that_answers(live):
    process = start(live, "dlep", "0", "--interval", "0.1", stderr=subprocess.PIPE)
    assert "port 854" in process.stderr.readline()
    os.kill(children_of(process.pid)[0], 9)
    assert process.wait(5) == 0
    assert "the process that asks the daemons has ended" in process.stderr.read()
