# SPDX-License-Identifier: GPL-2.0-or-later
"""What a network lives through: traffic resumes by itself."""

import os
import signal
import socket
import time
from pathlib import Path

import pytest
from perhop import spec_generated as spec
from perhop.live import messages

from .conftest import kill_hard, wait_until


@pytest.fixture(scope="module")
def live(start_network):
    return start_network("--policy", "delay")


def air(live):
    return live.state / live.name / "air.sock"


def test_a_transfer_goes_on_after_the_medium_was_killed(live):
    listening = live.start(3, "iperf3", "-s", "-1")
    wait_until(lambda: "5201" in live.run(3, "ss", "-Hltn").stdout, 5)
    sending = live.start(0, "iperf3", "-c", "10.0.0.4", "-C", "reno", "-n", "300K")
    time.sleep(2)
    assert sending.poll() is None
    kill_hard(live.pid("air"))
    assert sending.wait(60) == 0, sending.stdout.read()
    listening.wait(10)
    assert live.daemon(0)["driver"]["ups"] == 2


def test_a_transfer_goes_on_after_a_routers_daemon_was_killed(live):
    listening = live.start(3, "iperf3", "-s", "-1")
    wait_until(lambda: "5201" in live.run(3, "ss", "-Hltn").stdout, 5)
    sending = live.start(0, "iperf3", "-c", "10.0.0.4", "-C", "reno", "-n", "300K")
    time.sleep(2)
    kill_hard(live.pid("node-1"))
    assert sending.wait(60) == 0, sending.stdout.read()
    listening.wait(10)


def test_a_transfer_goes_on_after_the_senders_daemon_was_killed(live):
    """The interface, its addresses and routes belong to the namespace, not to the daemon."""
    listening = live.start(3, "iperf3", "-s", "-1")
    wait_until(lambda: "5201" in live.run(3, "ss", "-Hltn").stdout, 5)
    sending = live.start(0, "iperf3", "-c", "10.0.0.4", "-C", "reno", "-n", "300K")
    time.sleep(2)
    kill_hard(live.pid("node-0"))
    assert sending.wait(60) == 0, sending.stdout.read()
    listening.wait(10)


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
    time.sleep(1)
    pid = live.pid("air")
    os.kill(pid, signal.SIGSTOP)
    time.sleep(1)
    os.kill(pid, signal.SIGCONT)
    assert sending.wait(60) == 0
    listening.wait(10)
    assert live.status()["medium"]["slips"] > slips
    assert live.ping(0, "10.0.0.4", 2).returncode == 0


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


def test_no_descriptor_and_no_memory_leaks_while_daemons_come_and_go(live):
    def descriptors(pid):
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))

    pid = live.pid("air")
    before = descriptors(pid)
    for _ in range(5):
        old = live.pid("node-2")
        kill_hard(old)
        wait_until(lambda old=old: live.pid("node-2") not in (None, old), 5)
        wait_until(lambda: (live.daemon(2) or {}).get("mac_up"), 5)
    assert descriptors(pid) <= before + 1
