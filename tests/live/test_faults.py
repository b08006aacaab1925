# SPDX-License-Identifier: GPL-2.0-or-later
"""What a network lives through: traffic resumes by itself."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from perhop import paths
from perhop.live import messages, namespaces, state_files
from perhop.registers import spec_generated as spec
from waiting import wait_until

from .conftest import UNDER_WAY_BYTES, kill_hard


@pytest.fixture(scope="module")
def live(start_network):
    return start_network("--policy", "delay")


# What runs on the nodes.
RECEIVE = """
import socket, sys
server = socket.create_server(("10.0.0.4", 9000))
peer, _ = server.accept()
with open(sys.argv[1], "wb") as file:
    while data := peer.recv(65536):
        file.write(data)
"""
SEND = """
import socket, sys
with socket.create_connection(("10.0.0.4", 9000), timeout=60) as connection:
    connection.sendall(open(sys.argv[1], "rb").read())
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
"""
FLOOD = """
import socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 5
while time.monotonic() < end:
    for _ in range(5):
        sender.sendto(bytes(1400), ("10.0.0.4", 9))
    time.sleep(0.01)
"""
JUMPING_CLOCK = """
#include <time.h>
#include <sys/syscall.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
  static int looks;
  int result = syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME && looks++ % 2) now->tv_sec += 86400;
  return result;
}
"""


def air(live):
    return live.state / live.name / "air/air.sock"


def nodes(live):
    return live.status()["nodes"]


def descriptors(pid):
    """Held for longer than a question: who answered one may close its connection a moment after the asker has gone."""

    def looks():
        for _ in range(10):
            yield len(list(Path(f"/proc/{pid}/fd").iterdir()))
            time.sleep(0.05)

    return min(looks())


def memory_kb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


@contextlib.contextmanager
def standing_in(live, node, *before):
    """The daemon of a node is one of our own, behind some words, in place of the supervisor's."""
    folder = live.state / live.name
    state_files.hold(folder, f"node-{node}", True)
    wait_until(lambda: live.daemon(node) is None, 5)
    ours = live.start(node, *before, str(paths.program("perhop-node")), str(folder / f"node-{node}.json"))
    try:
        wait_until(lambda: (live.daemon(node) or {}).get("mac_up") or ours.poll() is not None, 10)
        assert ours.poll() is None, ours.stdout.read()
        yield
        assert ours.poll() is None
    finally:
        ours.kill()
        ours.wait(5)
        state_files.hold(folder, f"node-{node}", False)
        wait_until(lambda: (live.daemon(node) or {}).get("mac_up"), 10)


@pytest.mark.parametrize("killed", ["air", "node-0", "node-1", "node-3"])
def test_a_transfer_goes_on_after_a_process_was_killed(live, killed):
    """The interface, its addresses and routes belong to the namespace, not to the daemon."""
    ups = live.daemon(0)["driver"]["ups"]
    live.transfer(200, lambda: kill_hard(live.pid(killed)))
    if killed == "air":
        assert live.daemon(0)["driver"]["ups"] == ups + 1


def test_a_transfer_goes_on_after_everything_was_killed_at_once(live):
    processes = live.status()["processes"]
    live.transfer(200, lambda: [kill_hard(process["pid"]) for process in processes.values()])


def test_a_transfer_goes_on_after_a_link_was_cut(live):
    def cut():
        messages.ask_medium(air(live), {"command": "link_down", "a": 1, "b": 2})
        time.sleep(1)
        messages.ask_medium(air(live), {"command": "link_up", "a": 1, "b": 2})

    live.transfer(200, cut)


def test_a_link_that_is_cut_stops_packets_until_it_is_back(live):
    messages.ask_medium(air(live), {"command": "link_down", "a": 1, "b": 2})
    assert live.ping(0, "10.0.0.4", 2).returncode != 0
    messages.ask_medium(air(live), {"command": "link_up", "a": 1, "b": 2})
    assert live.ping(0, "10.0.0.4", 2).returncode == 0


def test_a_stopped_medium_puts_time_off_instead_of_catching_up(live):
    slips = live.status()["medium"]["slips"]
    listening = live.start(3, "iperf3", "-s", "-1")
    wait_until(lambda: "5201" in live.run(3, "ss", "-Hltn").stdout, 5)
    sending = live.start(0, "iperf3", "-c", "10.0.0.4", "-C", "reno", "-n", "200K")
    wait_until(lambda: live.acknowledged_bytes() > UNDER_WAY_BYTES, 30)
    pid = live.pid("air")
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1)
    os.kill(pid, signal.SIGCONT)
    assert sending.wait(60) == 0
    listening.wait(10)
    assert live.status()["medium"]["slips"] > slips
    assert live.ping(0, "10.0.0.4", 2).returncode == 0


def test_a_mac_that_completes_nothing_for_five_seconds_is_an_incident_until_it_does(live):
    """The medium stops with packets of node 0: its daemon says so, and is well again when one is completed."""

    def status():
        return messages.ask_node(live.state / live.name / "node-0.sock", {"command": "status"})

    stalls = status()["packets"]["mac_stalls"]
    pid = live.pid("air")
    os.kill(pid, signal.SIGSTOP)
    try:
        pinging = live.start(0, "ping", "-n", "-i", "0.5", "10.0.0.2")
        wait_until(lambda: not status()["mac_up"], 20)
        failed = status()
        assert "credits are out" in failed["mac_problem"] and failed["packets"]["mac_stalls"] == stalls + 1
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: status()["mac_up"] and status()["mac_problem"] == "", 20)
    pinging.kill()
    assert live.ping(0, "10.0.0.4", 5).returncode == 0
    log = (live.state / live.name / "node-0.log").read_text()
    assert re.search(r"mac_problem problem=.*credits are out", log), log[-2000:]


def test_strangers_on_the_mediums_socket_do_no_harm(live):
    before = live.status()["medium"]["malformed"]
    for length in range(1, 200):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
            stranger.connect(str(air(live)))
            stranger.send(bytes([length % 9]) * length)
    assert live.status()["medium"]["malformed"] > before + 100
    assert live.ping(0, "10.0.0.4", 2).returncode == 0


def test_a_hostile_neighbour_with_malformed_path_headers_is_counted(live):
    """Somebody takes node 3's place on the air and sends nonsense to node 2."""
    supervisor = live.status()["supervisor"]
    os.kill(supervisor, signal.SIGSTOP)
    try:
        kill_hard(live.pid("node-3"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as hostile:
            hostile.connect(str(air(live)))
            hostile.settimeout(5)
            hostile.send(spec.AirHello(node=3).encode())
            welcome = spec.AirWelcome.decode(hostile.recv(100))
            receiver = welcome.address - 1
            snap = bytes.fromhex("aaaa0300000088b5")
            for attempt in range(40):
                msdu = (snap + bytes((attempt * 7 + i * 13) % 256 for i in range(attempt * 3)))[: 8 + attempt * 3]
                send = spec.AirSend(peer=0, rate=1, flags=1, cookie=attempt, receiver_address=receiver)
                hostile.send(send.encode() + msdu)
                while hostile.recv(4096)[0] != spec.AirCompletion().kind:
                    pass
        daemon = live.daemon(2)
        assert daemon["shim"]["malformed"] + daemon["packets"]["malformed"] + daemon["packets"]["foreign"] >= 40
    finally:
        os.kill(supervisor, signal.SIGCONT)
    wait_until(lambda: live.ping(0, "10.0.0.4", 1).returncode == 0, 10)


def test_half_of_all_frames_lost_leaves_a_slow_but_correct_transfer(start_network):
    lossy = start_network("--policy", "delay", "--set", "medium.frame_error_rate=0.5", hops=2)
    listening = lossy.start(2, "sh", "-c", "iperf3 -s -1 >/dev/null")
    wait_until(lambda: "5201" in lossy.run(2, "ss", "-Hltn").stdout, 5)
    done = lossy.run(0, "iperf3", "-c", "10.0.0.3", "-C", "reno", "-n", "60K", timeout_s=90)
    assert done.returncode == 0, done.stdout + done.stderr
    listening.wait(20)


def test_a_network_that_corrupts_repeats_and_reorders_leaves_what_arrives_correct(live, tmp_path):
    """Faults on every node's receptions. Checksums end to end find what the corruption leaves whole."""

    def spoil(config):
        rates = {"drop": 0.02, "duplicate": 0.05, "corrupt": 0.05, "delayed": 0.05, "delay_us": 30_000, "reorder": 0.05}
        config["driver"]["faults"] = {"seed": 7, **rates}

    for node in range(4):
        live.reconfigure(node, spoil)
    try:
        content = bytes(range(256)) * 300
        (tmp_path / "content").write_bytes(content)
        receiving = live.start(3, sys.executable, "-c", RECEIVE, str(tmp_path / "arrived"))
        wait_until(lambda: "9000" in live.run(3, "ss", "-Hltn").stdout, 5)
        done = live.run(0, sys.executable, "-c", SEND, str(tmp_path / "content"), timeout_s=120)
        assert done.returncode == 0, done.stderr
        receiving.wait(30)
        assert (tmp_path / "arrived").read_bytes() == content
        wrong = [node["daemon"]["packets"]["malformed"] + node["daemon"]["shim"]["malformed"] for node in nodes(live)]
        assert sum(wrong) > 0, "some corruption hits headers"
    finally:
        for node in range(4):
            live.reconfigure(node, lambda config: config["driver"].pop("faults"))
    assert live.ping(0, "10.0.0.4").returncode == 0


def test_a_capture_of_the_driver_is_read_by_tshark_after_its_daemon_was_killed(live, tmp_path):
    file = tmp_path / "driver.pcapng"
    live.reconfigure(1, lambda config: config["driver"].update(capture={"file": str(file), "most_bytes": 10_000_000}))
    assert live.ping(0, "10.0.0.4").returncode == 0
    live.reconfigure(1, lambda config: None)
    assert live.ping(0, "10.0.0.4").returncode == 0
    live.reconfigure(1, lambda config: config["driver"].pop("capture"))
    fields = ["-T", "fields", "-e", "frame.packet_flags_direction", "-e", "wlan.ta", "-e", "wlan.ra", "-e", "llc.type"]
    read = subprocess.run(["tshark", "-r", file, *fields], capture_output=True, text=True, check=True)
    rows = {tuple(line.split("\t")[:3]) for line in read.stdout.splitlines()}
    first, second, third = (node["mac"] for node in nodes(live)[:3])
    # Both ways over the router, each packet once in and once out.
    for row in (("1", first, second), ("2", second, third), ("1", third, second), ("2", second, first)):
        assert any(found[0].endswith(row[0]) and found[1:] == row[1:] for found in rows), (row, rows)
    assert len(read.stdout.splitlines()) >= 2 * 3 * 4, "three pings before and after the kill"
    assert "alformed" not in read.stdout + read.stderr


@pytest.mark.resident_memory
def test_full_queues_drop_packets_and_nothing_else(live):
    """Ten times what the chain carries, for five seconds: memory stays, and then the chain is as before."""
    pid = live.pid("node-0")
    before_kb = memory_kb(pid)
    drops = live.daemon(0)["packets"]["queue_drops"]
    flood = live.run(0, sys.executable, "-c", FLOOD, timeout_s=60)
    assert flood.returncode == 0, flood.stderr
    daemon = live.daemon(0)
    assert daemon["packets"]["queue_drops"] > drops + 100
    assert daemon["queued_packets"] <= 64
    wait_until(lambda: live.daemon(0)["queued_packets"] == 0, 20)
    assert memory_kb(pid) < before_kb + 2048
    assert live.pid("node-0") == pid
    live.transfer(100)


def test_a_daemon_that_was_stopped_goes_on(live):
    """For the daemon the clock jumps by three seconds; its timers and its credits must not hang."""

    def stop():
        pid = live.pid("node-1")
        os.kill(pid, signal.SIGSTOP)
        time.sleep(3)
        os.kill(pid, signal.SIGCONT)

    live.transfer(200, stop)


def test_daemons_whose_clocks_disagree_by_days_work_together(live):
    """A time namespace sets one daemon's monotonic clock apart from the others', as that of a host just booted."""
    with standing_in(
        live, 1, "unshare", "--time", "--monotonic", "900000", "--boottime", "900000", "--fork", "--kill-child", "--"
    ):
        live.transfer(100)


def test_a_wall_clock_that_jumps_is_not_even_noticed(live, tmp_path):
    """Each look at it is a day before or after the last one. Captures and logs have its times; nothing else may."""
    source, library = tmp_path / "jump.c", tmp_path / "jump.so"
    source.write_text(JUMPING_CLOCK)
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    live.reconfigure(1, lambda config: config["driver"].update(capture={"file": str(tmp_path / "driver.pcapng")}))
    with standing_in(live, 1, "env", f"LD_PRELOAD={library}"):
        live.transfer(100)
    live.reconfigure(1, lambda config: config["driver"].pop("capture"))
    read = subprocess.run(
        ["tshark", "-r", tmp_path / "driver.pcapng", "-T", "fields", "-e", "frame.time_epoch"],
        capture_output=True,
        text=True,
        check=True,
    )
    times = [float(line) for line in read.stdout.splitlines()]
    assert max(times) - min(times) > 80_000, "the clock did jump"


@pytest.mark.resident_memory
def test_no_descriptor_and_no_memory_leaks_while_processes_come_and_go(live):
    air_pid, node_pid = live.pid("air"), live.pid("node-1")
    before = descriptors(air_pid), descriptors(node_pid), memory_kb(air_pid), memory_kb(node_pid)
    for _ in range(5):
        live.reconfigure(2, lambda config: None)
    after = descriptors(air_pid), descriptors(node_pid), memory_kb(air_pid), memory_kb(node_pid)
    assert after[:2] == before[:2]
    for _ in range(5):
        old = live.pid("air")
        kill_hard(old)
        wait_until(lambda old=old: live.pid("air") not in (None, old), 5)
        wait_until(lambda: all((node["daemon"] or {}).get("mac_up") for node in nodes(live)), 10)
    assert live.pid("node-1") == node_pid
    assert descriptors(node_pid) == before[1]
    assert descriptors(live.pid("air")) == before[0]
    assert memory_kb(node_pid) < before[3] + 1024
    assert len(namespaces.existing(live.name)) == 4


def test_nothing_is_left_of_a_network_after_all_of_this(live):
    folder = live.state / live.name
    assert live.perhop("live", "down", live.name).returncode == 0
    assert not folder.exists() and not namespaces.existing(live.name)
    named = subprocess.run(["pgrep", "-f", f"{folder}/"], capture_output=True, text=True, check=False).stdout
    assert not named
