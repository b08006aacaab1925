# SPDX-License-Identifier: GPL-2.0-or-later
"""The radio block's streams on the air of the gateware: by UHD's Python, and by GNU Radio's USRP source and sink."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

from .bench_steps import DELAYS, ON_AIR, step_command
from .devices import BENCH_PYTHON, CLIENT, GNURADIO_PYTHON, args, plain_environment

pytestmark = [pytest.mark.long, pytest.mark.uhd]

FRAMES = 100
STATIONS = {"uhd": (BENCH_PYTHON, "uhd_station.py"), "gnuradio": (GNURADIO_PYTHON, "gnuradio_station.py")}
NO_GNU_RADIO = "NO GNU RADIO HERE: `make virtual-usrp` installs it"


@pytest.mark.parametrize(
    "kind",
    [
        "uhd",
        pytest.param("gnuradio", marks=pytest.mark.skipif(not GNURADIO_PYTHON.exists(), reason=NO_GNU_RADIO)),
    ],
)
def test_a_hundred_frames_of_a_station_are_heard_and_acknowledged_by_the_gateware(
    start_gateware, record_property, kind
):
    python, program = STATIONS[kind]
    flowgraph, gateware = start_gateware(["e320_perhop_22", "e310_perhop_22"])
    hears = ["--rx-gain", "40", "--address", "02:00:00:00:00:02"]
    command = step_command("station", "--args", args(gateware), *ON_AIR, *hears, *DELAYS)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as station:
        assert station.stdout and "answers" in station.stdout.readline()
        done = subprocess.run(
            [python, CLIENT.with_name(program), args(flowgraph), str(FRAMES)],
            capture_output=True, text=True, env=plain_environment(), timeout=400,
        )  # fmt: skip
        station.send_signal(signal.SIGINT)
        heard, _ = station.communicate(timeout=60)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    record_property("streams", json.dumps({"kind": kind, **told}))
    assert (told["own"], told["answers"], told["errors"]) == (FRAMES, FRAMES, 0)
    assert f"ok   frames heard: {FRAMES} " in heard, heard
    assert told["sifs_us"] == pytest.approx(10, abs=0.1)
