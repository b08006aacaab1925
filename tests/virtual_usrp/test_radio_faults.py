# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes wrong during a run on virtual radios: each is told, counted, and over when its cause is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from ota.hosts import missing
from perhop.live.plan import INTERFACE
from waiting import wait_until

from .devices import ROOT
from .radio_hosts import RadioHosts

why = missing()
pytestmark = [pytest.mark.long, pytest.mark.uhd, pytest.mark.skipif(bool(why), reason=f"no hosts here: {why}")]

EXPERIMENT = ROOT / "sim/experiments/live_chain"
SETTINGS = ("policies=[none]", "seeds=[1]", "duration_s=20", "warmup_s=0.25", "topology.hops=1")
# Long packets, so that few of them fill what the FPGA has for a host that takes none.
FLOWS = "flows=[{kind: cbr, src: first, dst: last, payload_bytes: 1000, rate_bps: 320000}]"
# A link that fails gives up after a second; UHD then waits for the end of everything that it had open.
LONGEST_FALL_S, LONGEST_RISE_S = 90, 90
POLL_S = 0.5


class Run:
    """A run of a steady flow from host 0 to host 1 that is under way."""

    def __init__(self, hosts: RadioHosts, folder: Path) -> None:
        self.hosts = hosts
        words = hosts.run_words(folder / "out", hosts.inventory())
        self.process = hosts.start_perhop(*words, "--set", FLOWS)
        wait_until(lambda: self.arrived() > 3 or self.process.poll() is not None, 240, "packets", poll_s=POLL_S)
        assert self.process.poll() is None, "".join(self.process.communicate())

    def log(self, index: int) -> str:
        """What a host's daemon has said."""
        (path,) = self.hosts.disk(index).glob("perhop-*/node.log")
        return path.read_text()

    def trouble(self, *words: object) -> None:
        assert self.hosts.usrps
        self.hosts.usrps.trouble(*words)

    def arrived(self) -> int:
        """Packets that host 1 has got by its radio. UDP is no measure: UHD speaks it with the device."""
        said = subprocess.run(
            ["ip", "netns", "exec", self.hosts.namespace(1), "cat", "/proc/net/dev"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        received = re.findall(rf"^ *{INTERFACE}: *\d+ +(\d+)", said, re.MULTILINE)
        return int(received[0]) if received else 0

    def goes_on(self, within_s: float) -> None:
        before = self.arrived()
        wait_until(lambda: self.arrived() > before + 3, within_s, "packets arrive again", poll_s=POLL_S)

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def hosts() -> Iterator[RadioHosts]:
    with RadioHosts(EXPERIMENT, *SETTINGS) as made:
        yield made


@pytest.fixture
def run(hosts, tmp_path) -> Iterator[Run]:
    made = Run(hosts, tmp_path)
    try:
        yield made
    finally:
        made.end()


def test_a_device_that_is_unplugged_is_told_of_and_used_again_when_it_is_back(run):
    run.hosts.plug_device(0, False)
    wait_until(lambda: "mac_problem" in run.log(0), LONGEST_FALL_S, "host 0 says that its radio is away", poll_s=POLL_S)
    assert "mac_down" in run.log(0)
    assert "timed out" in run.log(0) or "No devices found" in run.log(0)
    ups = run.log(0).count("mac_up")
    run.hosts.plug_device(0)
    wait_until(lambda: run.log(0).count("mac_up") > ups, LONGEST_RISE_S, "the radio is used again", poll_s=POLL_S)
    run.goes_on(60)
    assert run.log(1).count("mac_up") == 1, "the other one has nothing to do with it"


def test_a_packet_that_is_lost_between_radio_and_host_is_told_of_and_counted(run):
    for index in range(2):
        run.trouble("lose", index)
    wait_until(
        lambda: "sequence_errors 1" in run.log(0) and "sequence_errors 1" in run.log(1),
        60,
        "both count it",
        poll_s=POLL_S,
    )
    run.goes_on(120)
    # What was lost at the sender was the record of a packet: without it a credit would be gone for ever.
    assert "mac_problem" in run.log(0) and "completion record was lost" in run.log(0)


def test_frames_for_which_there_is_no_room_are_told_of_and_counted(run):
    """The network to host 1 takes nothing: first the FPGA's buffers fill, then frames are lost in it."""
    run.trouble("hold", 1)
    wait_until(lambda: "overflows" in run.log(1), 120, "host 1 counts what was lost", poll_s=POLL_S)
    run.trouble("release", 1)
    run.goes_on(60)
    assert "mac_down" not in run.log(1), "nothing else is wrong"


def test_a_reference_that_is_lost_is_told_of_and_counted_and_used_again_when_it_is_back(run):
    run.trouble("spoil", 0, "reference")
    wait_until(lambda: "does not lock" in run.log(0), 60, "host 0 cannot use its radio", poll_s=POLL_S)
    said = run.log(0)
    assert "reference clock has lost its lock" in said and "times_lost 1" in said
    ups = said.count("mac_up")
    run.trouble("mend", 0, "reference")
    wait_until(lambda: run.log(0).count("mac_up") > ups, LONGEST_RISE_S, "the radio is used again", poll_s=POLL_S)
    run.goes_on(60)


def test_a_host_that_is_killed_ends_the_run_by_name_and_can_be_used_again(run):
    """That its radio is silent a second later shows test_heartbeat.py."""
    os.kill(run.hosts.daemon(0), signal.SIGKILL)
    run.hosts.kill_host(0)
    said = run.process.communicate(timeout=60)
    assert run.process.returncode not in (0, None) and "node 0 (h0)" in said[1], said
    run.hosts.start_host(0)
    # MPM lets go of a claim that nobody renews; then the radio is anybody's.
    looks = []

    def is_well() -> bool:
        looks.append(run.hosts.perhop("doctor", "--inventory", run.hosts.inventory()))
        return looks[-1].returncode == 0

    wait_until(is_well, 90, "both radios can be used again", poll_s=POLL_S)
