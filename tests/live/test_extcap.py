# SPDX-License-Identifier: GPL-2.0-or-later
"""Wireshark's live capture of a live network: each node an interface, from now on, until the network is down."""

import os
import subprocess
import sys

from waiting import wait_until


def extcap(live, pipe):
    module = (sys.executable, "-m", "perhop.wireshark.extcap")
    return [*module, "--extcap-interface", f"perhop-live-{live.name}", "--capture", "--fifo", str(pipe)]


def test_tshark_sees_a_ping_at_each_node_while_it_passes(start_network, tmp_path):
    live = start_network("--capture", hops=2)
    pipe, capture = tmp_path / "pipe", tmp_path / "ping.pcapng"
    os.mkfifo(pipe)
    capturing = subprocess.Popen(extcap(live, pipe))
    reading = subprocess.Popen(["tshark", "-i", str(pipe), "-w", str(capture)], stderr=subprocess.DEVNULL)
    wait_until(lambda: capture.exists() and capture.stat().st_size > 0, 20, "tshark captures")
    done = live.ping(0, "10.0.0.3", 10)
    assert done.returncode == 0, done.stdout + done.stderr
    assert live.perhop("live", "down", live.name).returncode == 0
    assert capturing.wait(20) == 0 and reading.wait(20) == 0
    fields = ["-T", "fields", "-e", "frame.interface_name", "-e", "wlan.ta", "-e", "wlan.ra"]
    told = subprocess.run(["tshark", "-r", str(capture), *fields], capture_output=True, text=True, check=True).stdout
    frames = [line.split("\t") for line in told.splitlines()]
    first, middle = "02:00:00:00:00:01", "02:00:00:00:00:02"
    # A request leaves node 0, and comes to node 1, which sends it on.
    assert frames.count(["n0", first, middle]) >= 10 and frames.count(["n1", first, middle]) >= 10
    assert {name for name, _, _ in frames} == {"n0", "n1", "n2"}


def test_a_network_that_records_nothing_is_said_to_need_capture(start_network, tmp_path):
    live = start_network(hops=2)
    (tmp_path / "file").touch()
    done = subprocess.run(extcap(live, tmp_path / "file"), capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1 and "perhop live up FILE --capture" in done.stderr
