# SPDX-License-Identifier: GPL-2.0-or-later
"""With all its bytes the MAC sends when the core does, and right frames: a quick part of `make verify-bytes`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim"))
import capture_check  # noqa: E402


@pytest.fixture(scope="module")
def result():
    command = [sys.executable, ROOT / "sim/verify_bytes.py", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1].removeprefix("RESULT "))


def test_frames_start_when_those_of_the_core_do(result):
    assert result["ok"], [case for case in result["cases"] if not case["ok"]]
    assert result["identical"]
    assert result["frames"] > 2000


def test_tshark_finds_every_frame_right(result):
    assert {name: result[name] for name in capture_check.WRONG} == dict.fromkeys(capture_check.WRONG, 0)
    assert result["retries"] > 10
    assert result["four_address_frames"] > 50


def test_every_fault_in_a_capture_is_found(result):
    assert result["planted_in_capture"] == dict.fromkeys(capture_check.FAULTS, True)


@pytest.mark.parametrize("profile", ["dsss_long", "dsss_short", "ofdm_20mhz", "ofdm_10mhz", "erp_short_slot"])
def test_airtimes_computed_from_the_profile_are_the_generated_ones(profile):
    from perhop.registers.spec_generated import PROFILES, airtime_us

    timing, generated = capture_check.Timing(profile), PROFILES[profile]
    for rate in range(len(generated.rates)):
        for size_bytes in (14, 20, 28, 577, 1536, 4095):
            assert timing.airtime_us(rate, size_bytes) == airtime_us(generated, rate, size_bytes)
