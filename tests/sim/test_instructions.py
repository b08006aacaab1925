# SPDX-License-Identifier: GPL-2.0-or-later
"""A data packet and hop takes as many clocks of MACs as recorded, and hardly more instructions.

Where figures changed on purpose: `.venv/bin/python sim/bench/instructions.py --record`.
"""

import json
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "sim/bench"))
import instructions  # noqa: E402

RECORDED = json.loads(instructions.RECORDED.read_text())
REMEDY = "see sim/bench/instructions.py"


@pytest.fixture(scope="module")
def counted():
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed; remedy: apt-get install valgrind")
    program = instructions.build()
    return {instructions.name(*chain): instructions.count(program, *chain) for chain in instructions.RECORDED_CHAINS}


@pytest.mark.parametrize("chain", RECORDED["chains"])
def test_a_packet_takes_as_many_clocks_as_recorded(counted, chain):
    assert counted[chain].clocks_for == RECORDED["chains"][chain]["clocks_for"], REMEDY


def test_a_packet_takes_no_more_than_five_percent_more_instructions_than_recorded(counted):
    if instructions.compiler() != RECORDED["compiler"]:
        found = {chain: count.instructions for chain, count in counted.items()}
        pytest.skip(
            f"INSTRUCTIONS ARE NOT COMPARED: the recorded ones are of {RECORDED['compiler']}, this is "
            f"{instructions.compiler()}, which takes {found}; {REMEDY}"
        )
    for chain, figures in RECORDED["chains"].items():
        most = figures["instructions"] * (1 + instructions.MOST_GROWTH)
        assert counted[chain].instructions <= most, f"{chain}: {REMEDY}"
