# SPDX-License-Identifier: GPL-2.0-or-later
"""A data packet takes hardly more instructions a hop than it did, whatever else the machine does."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim/bench"))
import instructions  # noqa: E402

RECORDED = json.loads(instructions.RECORDED.read_text())
MOST_GROWTH = 0.05


@pytest.mark.parametrize(("hops", "window"), [(1, 3), (8, 3)])
def test_a_packet_takes_no_more_than_five_percent_more_instructions_than_recorded(hops, window):
    if (here := instructions.compiler()) != RECORDED["compiler"]:
        pytest.skip(f"instructions are those of {RECORDED['compiler']!r}; here they would be those of {here!r}")
    counted = instructions.count(hops, window)
    assert counted <= RECORDED["instructions"][instructions.name(hops, window)] * (1 + MOST_GROWTH)
