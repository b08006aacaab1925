# SPDX-License-Identifier: GPL-2.0-or-later
"""UHD's own streams on the air of the gateware: what a flowgraph's USRP source and sink do, by UHD's Python.

GNU Radio itself is not asked: its blocks are UHD's streams, which are used here as gr-uhd uses them (a receiver without
end, a burst a frame).
"""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from .bench_steps import DELAYS, ON_AIR, step_command
from .devices import BENCH_PYTHON, CLIENT, args, plain_environment

pytestmark = [pytest.mark.long, pytest.mark.uhd]

FRAMES = 100


def test_a_hundred_frames_of_uhds_streams_are_heard_and_acknowledged_by_the_gateware(start_gateware, record_property):
    flowgraph, gateware = start_gateware(["e320_perhop_22", "e310_perhop_22"])
    hears = ["--rx-gain", "40", "--address", "02:00:00:00:00:02"]
    command = step_command("station", "--args", args(gateware), *ON_AIR, *hears, *DELAYS)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as station:
        assert station.stdout and "answers" in station.stdout.readline()
        done = subprocess.run(
            [BENCH_PYTHON, CLIENT.with_name("uhd_station.py"), args(flowgraph), str(FRAMES)],
            capture_output=True, text=True, env=plain_environment(), timeout=400,
        )  # fmt: skip
        station.send_signal(signal.SIGINT)
        heard, _ = station.communicate(timeout=60)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    record_property("uhd_streams", json.dumps(told))
    assert (told["own"], told["answers"], told["errors"]) == (FRAMES, FRAMES, 0)
    assert f"ok   frames heard: {FRAMES} " in heard, heard
    assert told["sifs_us"] == pytest.approx(10, abs=0.1)
