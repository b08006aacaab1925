# SPDX-License-Identifier: GPL-2.0-or-later
"""Time warp changes nothing: a quick part of `make verify-warp`, and its comparison finds a difference."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim"))
import verify_warp  # noqa: E402


def test_traces_are_identical_in_all_warp_modes():
    done = subprocess.run(
        [sys.executable, ROOT / "sim/verify_warp.py", "--quick"], capture_output=True, text=True, timeout=600
    )
    result = json.loads(done.stdout.splitlines()[-1].removeprefix("RESULT "))
    assert done.returncode == 0, done.stderr
    assert len(result["cases"]) == 32
    assert all(case["identical"] and case["transmissions"] > 100 for case in result["cases"])


def test_the_comparison_finds_a_changed_byte_and_a_missing_line(tmp_path):
    same, changed, shorter = tmp_path / "same", tmp_path / "changed", tmp_path / "shorter"
    same.write_bytes(b"T 50 402\nT 413 717\n")
    changed.write_bytes(b"T 50 402\nT 413 718\n")
    shorter.write_bytes(b"T 50 402\n")
    assert verify_warp.first_difference(same, same) is None
    assert "line 2" in verify_warp.first_difference(same, changed)
    assert "line 2" in verify_warp.first_difference(same, shorter)
