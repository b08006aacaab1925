# SPDX-License-Identifier: GPL-2.0-or-later
"""A host that is killed: its radio answers for a second more, by the shell's own clock, and is silent then."""

from __future__ import annotations

import os
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from perhop.registers.spec_generated import DEFAULT_HEARTBEAT_LIMIT_MS, SHELL_REGISTERS
from waiting import wait_until

from .devices import VirtualDevice
from .test_two_radios import daemons_on_radios, needs_root

pytestmark = [pytest.mark.long, pytest.mark.uhd]

SAMPLES_A_SECOND = 22e6
LIMIT_SAMPLES = DEFAULT_HEARTBEAT_LIMIT_MS / 1e3 * SAMPLES_A_SECOND
# The process tells its progress each second of the clock; when a beat came is known by a straight line between two.
KNOWN_WITHIN_SAMPLES = 0.02 * SAMPLES_A_SECOND


def samples_at(device: VirtualDevice, at_s: float) -> float:
    """How far the shells were at a time of the log."""
    for before, behind in pairwise(device.events("pace")):
        if before["at_s"] <= at_s < behind["at_s"]:
            share = (at_s - before["at_s"]) / (behind["at_s"] - before["at_s"])
            return before["samples"] + share * (behind["samples"] - before["samples"])
    raise AssertionError(f"the shells did not run at {at_s} s")


def sent(device: VirtualDevice, node: int, since_samples: float) -> list[float]:
    """The ends of a node's transmissions that began later."""
    return [
        each["first_sample"] + each["samples"]
        for each in device.events("sent")
        if each["node"] == node and each["first_sample"] > since_samples
    ]


@needs_root
def test_a_radio_is_silent_a_second_after_its_host_was_killed(start_gateware, tmp_path):
    with daemons_on_radios(start_gateware, tmp_path) as (names, radios, daemons):
        ping = subprocess.Popen(
            ["ip", "netns", "exec", names[1], "ping", "-i", "1", "-W", "20", "10.70.0.1"],
            stdout=(tmp_path / "ping.txt").open("w"), stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            wait_until(lambda: "icmp_seq=2" in (tmp_path / "ping.txt").read_text(), 120, "replies")
            # Each program of the command has become the next one; the last one is the daemon.
            os.kill(daemons[0].pid, signal.SIGKILL)
            daemons[0].wait(10)
            device = radios[0]
            beat = SHELL_REGISTERS["heartbeat"].address
            last_beat_s = max(each["at_s"] for each in device.events("access") if each["address"] == beat)
            wait_until(lambda: device.events("pace")[-1]["at_s"] > last_beat_s, 30, "the shells' progress", poll_s=1)
            enough = samples_at(device, last_beat_s) + 1.2 * LIMIT_SAMPLES
            wait_until(lambda: device.events("pace")[-1]["samples"] > enough, 500, "more than the limit", poll_s=3)
        finally:
            ping.terminate()
            ping.wait(10)
        killed = samples_at(device, last_beat_s)
        answers = sent(device, 0, killed)
        silent_from = killed + LIMIT_SAMPLES
        assert len([end for end in answers if end < silent_from]) > 5, "it answers for as long as the limit has it"
        assert max(answers) < silent_from + KNOWN_WITHIN_SAMPLES, "and no longer"
        assert len(sent(device, 1, silent_from + KNOWN_WITHIN_SAMPLES)) > 5, "the other still calls it"
        assert Path(f"/proc/{daemons[1].pid}").exists()
