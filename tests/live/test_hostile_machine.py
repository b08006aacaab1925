# SPDX-License-Identifier: GPL-2.0-or-later
"""What the machine below does to a live network: deleted interfaces and sockets, no descriptors, a full disk."""

import contextlib
import json
import os
import resource
import socket
import subprocess
import time
from pathlib import Path

import pytest
from perhop.errors import PerhopError
from perhop.live import messages, namespaces, network
from perhop.live.plan import INTERFACE
from waiting import wait_until

from .conftest import Live, kill_hard, run_perhop

IDLE_CLIENTS = 1100
MOST_CPU_SHARE = 0.02
CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def live(start_network):
    return start_network("--exact", "m1", hops=1)


def set_descriptor_limit(pid, soft, hard):
    """As the process's own user: root may be without the capability that it takes for another's."""
    owner = Path(f"/proc/{pid}").stat()
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setresgid(owner.st_gid, owner.st_gid, owner.st_gid)
            os.setresuid(owner.st_uid, owner.st_uid, owner.st_uid)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
            status = 0
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def cpu_share(pid, seconds=2.0):
    """Of one core, over the seconds that follow."""

    def used_s():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS_PER_S

    before_s, begun_s = used_s(), time.monotonic()
    time.sleep(seconds)
    return (used_s() - before_s) / (time.monotonic() - begun_s)


def ask_anything(live, which):
    """A question to a listening socket of the network, as a program of ours asks it."""
    folder = live.state / live.name
    if which == "air/air.sock":
        return messages.ask_medium(folder / which, {"command": "status"})
    if which == "node-0.sock":
        return messages.ask_node(folder / which, {"command": "status"})
    flow = {"source": "10.0.0.1", "source_port": 4000, "destination": "10.0.0.2", "destination_port": 5000}
    return messages.ask_node(folder / which, {"follow": flow})


def process_of(which):
    return "air" if which == "air/air.sock" else "node-0"


def ping_is_answered(live):
    return live.run(0, "ping", "-n", "-c", "1", "-W", "0.3", "10.0.0.2").returncode == 0


@contextlib.contextmanager
def many_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * IDLE_CLIENTS + 200), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("way", ["ip link del", "unregistered while packets wait"])
def test_traffic_is_back_within_three_seconds_after_the_interface_was_deleted(live, way):
    """The daemon notices and ends; it comes back on an interface with the addresses and routes that it had."""
    wait_until(lambda: ping_is_answered(live), 10)
    before = live.run(0, "ip", "route").stdout, live.run(0, "ip", "-6", "route").stdout
    pid = live.pid("node-0")
    flood = live.start(0, "ping", "-n", "-f", "-w", "3", "10.0.0.2") if way != "ip link del" else None
    assert live.run(0, "ip", "link", "del", INTERFACE).returncode == 0
    deleted_s = time.monotonic()
    wait_until(lambda: ping_is_answered(live), 20)
    assert time.monotonic() - deleted_s < 3
    if flood is not None:
        flood.wait(10)
    assert live.pid("node-0") != pid
    assert (live.run(0, "ip", "route").stdout, live.run(0, "ip", "-6", "route").stdout) == before


def test_an_interface_that_was_deleted_comes_back_with_the_route_of_a_later_event(start_network):
    """Three nodes in a row, the middle one is by-passed by an event: a route that the file does not know."""
    live = start_network("--set", "medium.tx_range_m=1000", "--set", "medium.cs_range_m=2000", hops=2)
    assert live.perhop("live", "event", "--name", live.name, "route", "path=[0,1,2]").returncode == 0
    route = live.run(0, "ip", "route", "get", "10.0.0.3").stdout
    assert "via 10.0.0.2" in route
    assert live.run(0, "ip", "link", "del", INTERFACE).returncode == 0
    wait_until(lambda: live.run(0, "ping", "-n", "-c", "1", "-W", "0.3", "10.0.0.3").returncode == 0, 20)
    assert live.run(0, "ip", "route", "get", "10.0.0.3").stdout == route


@pytest.mark.parametrize("which", ["node-0.sock", "rates-0.sock", "air/air.sock"])
def test_a_process_at_its_descriptor_limit_does_not_spin_and_answers_when_it_may_again(live, which):
    pid = live.pid(process_of(which))
    held = {int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    lowest_free = next(number for number in range(len(held) + 1) if number not in held)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    set_descriptor_limit(pid, lowest_free, most)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as waiting:
            waiting.connect(str(live.state / live.name / which))
            assert cpu_share(pid) < MOST_CPU_SHARE
    finally:
        set_descriptor_limit(pid, most, most)
    begun_s = time.monotonic()
    assert ask_anything(live, which)["ok"]
    assert time.monotonic() - begun_s < 3
    assert live.pid(process_of(which)) == pid


@pytest.mark.parametrize("which", ["node-0.sock", "rates-0.sock", "air/air.sock"])
def test_a_thousand_idle_clients_cost_nothing_and_keep_nobody_out(live, which):
    pid = live.pid(process_of(which))
    with many_descriptors(), contextlib.ExitStack() as idle:
        for _ in range(IDLE_CLIENTS):
            client = idle.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            client.settimeout(5)
            client.connect(str(live.state / live.name / which))
        for _ in range(5):
            assert ask_anything(live, which)["ok"]
        assert cpu_share(pid) < MOST_CPU_SHARE
        assert len(list(Path(f"/proc/{pid}/fd").iterdir())) < 400
        assert ask_anything(live, which)["ok"]
    assert live.pid(process_of(which)) == pid
    assert ping_is_answered(live)


@pytest.mark.parametrize("which", ["node-0.sock", "rates-0.sock", "air/air.sock"])
def test_a_client_that_says_nothing_is_sent_away(live, which):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as silent:
        silent.connect(str(live.state / live.name / which))
        silent.settimeout(20)
        assert silent.recv(100) == b""


@pytest.mark.parametrize("which", ["node-0.sock", "rates-0.sock", "air/air.sock"])
@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        '{{"command": "registers", "accesses": {}}}',
        '{{"command": "policy", "policy": {}}}',
        '{{"wanted_bps": {}}}',
    ],
)
def test_a_message_nested_deeply_is_refused_and_nothing_else(live, which, frame):
    pid = live.pid(process_of(which))
    path = live.state / live.name / which
    room = {"node-0.sock": 65000, "rates-0.sock": 4000, "air/air.sock": 16000}[which]
    depth = (room - len(frame)) // 2
    text = frame.format("[" * depth + "]" * depth).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
        stranger.settimeout(5)
        stranger.connect(str(path))
        if which == "air/air.sock":
            stranger.send(messages.spec.AirHello(node=messages.NO_NODE).encode())
            stranger.recv(100)
            stranger.send(messages.spec.AirCommand().encode() + text)
            answer = json.loads(stranger.recv(4096)[messages.spec.AirAnswer.SIZE_BYTES :])
        else:
            stranger.send(text)
            answer = json.loads(stranger.recv(4096))
    assert not answer["ok"] and len(answer["error"]) < 300
    assert live.pid(process_of(which)) == pid


@pytest.mark.parametrize("which", ["node-0.sock", "rates-0.sock", "air/air.sock"])
def test_a_socket_whose_file_was_removed_is_there_again(live, which):
    pid = live.pid(process_of(which))
    (live.state / live.name / which).unlink()

    def answers():
        with contextlib.suppress(PerhopError):
            return ask_anything(live, which)["ok"]

    wait_until(answers, 5)
    assert live.pid(process_of(which)) == pid


def test_a_namespace_whose_name_is_gone_is_told_and_costs_nothing(start_network):
    live = start_network(hops=1)
    pid = live.pid("node-1")
    subprocess.run(["ip", "netns", "delete", f"perhop-{live.name}-1"], check=True)
    assert cpu_share(pid) < MOST_CPU_SHARE
    done = live.perhop("live", "status", "--name", live.name)
    assert done.returncode == 1 and "node 1" in done.stdout and "namespace" in done.stdout


def test_the_supervisor_outlives_a_full_disk_and_records_again_when_there_is_room(state):
    """A small tmpfs holds the state folder. While it is full, a process that dies is started again all the same."""
    folder = state / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)], check=True)
    name = f"tfull{os.getpid()}"
    live = Live(name, folder)
    before = os.environ["PERHOP_LIVE_STATE"]
    os.environ["PERHOP_LIVE_STATE"] = str(folder)
    try:
        done = run_perhop(
            "live", "up", str(Path(__file__).parents[2] / "sim/experiments/chain"), "--set", "topology.hops=1",
            "--name", name, state=folder,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        supervisor, old = live.status()["supervisor"], live.pid("node-0")
        fill = folder / "fill"
        with contextlib.suppress(OSError), fill.open("wb", buffering=0) as file:
            while file.write(bytes(4096)) == 4096:
                pass
        kill_hard(old)
        wait_until(lambda: (live.daemon(0) or {}).get("mac_up"), 10)
        wait_until(lambda: ping_is_answered(live), 10)
        assert live.status()["supervisor"] == supervisor
        # What would have to be written is refused in one message, and changes nothing.
        for words in (("policy", "fixed 2"), ("event", "loss", "frame_error_rate=1")):
            refused = live.perhop("live", words[0], "--name", name, *words[1:])
            assert refused.returncode == 2 and "No space left" in refused.stderr, refused.stderr
            assert "Traceback" not in refused.stderr
        assert ping_is_answered(live)
        fill.unlink()
        wait_until(lambda: live.pid("node-0") not in (None, old), 5)
        again = live.pid("node-0")
        kill_hard(again)
        wait_until(lambda: live.pid("node-0") not in (None, again) and ping_is_answered(live), 10)
        assert live.status()["supervisor"] == supervisor
    finally:
        network.down(name)
        os.environ["PERHOP_LIVE_STATE"] = before
        subprocess.run(["umount", str(folder)], check=False)
    assert not namespaces.existing(name)
