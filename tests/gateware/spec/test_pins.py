# SPDX-License-Identifier: GPL-2.0-or-later
"""The wrapper with flat pins: outputs that stand while nobody reads them, and what cannot be held."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PINS = ROOT / "gateware/spec/pins.py"
CORE = ROOT / "gateware/rtl/mac/mac_core.sv"


def write_pins(tmp_path, *held):
    """Returns what the program did, and the wrapper."""
    wrapper = tmp_path / "mac_core_pins.sv"
    done = subprocess.run([sys.executable, PINS, CORE, wrapper, *held], capture_output=True, text=True)
    return done, wrapper.read_text() if wrapper.exists() else ""


def test_a_held_outputs_pins_move_with_its_signal_only(tmp_path):
    done, text = write_pins(tmp_path, "done=done_valid")
    assert done.returncode == 0, done.stderr
    _, _, held = text.partition("always_latch if (done_valid) begin")
    assert "done_tag = done_tag_now;" in held
    assert "output logic [15:0] done_tag" in text
    assert "assign done_tag" not in text
    assert "assign phy_tx_tag = phy_tx.tag;" in text, "other outputs are as they were"


@pytest.mark.parametrize("port", ["settings", "quiescent", "nothing"])
def test_what_is_no_struct_output_cannot_be_held(tmp_path, port):
    done, text = write_pins(tmp_path, f"{port}=done_valid")
    assert done.returncode == 1
    assert port in done.stderr and not text
