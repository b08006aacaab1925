# SPDX-License-Identifier: GPL-2.0-or-later
"""Radios that exchange samples send when the core does, and collide as waveforms do: parts of `make verify-samples`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def verify(*options: str):
    command = [sys.executable, ROOT / "sim/verify_samples.py", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1].removeprefix("RESULT "))


def test_a_chain_of_radios_sends_when_the_core_does():
    result = verify("--quick")
    assert result["ok"], result
    assert result["transmissions"] > 40
    assert result["planted_in_trace_detected"]


@pytest.mark.long
def test_a_thousand_frames_of_radios_and_their_collisions():
    result = verify()
    assert result["ok"], result
    assert result["transmissions"] > 1000
    assert all(result["planted_in_gateware"].values())
