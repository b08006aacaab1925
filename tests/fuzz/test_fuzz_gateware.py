# SPDX-License-Identifier: GPL-2.0-or-later
"""A short run of `make fuzz-gateware`: after each burst mac_top works, and a host that stalls it is noticed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import fuzz_gateware

SEED = 9  # ofdm_20mhz


def test_after_bursts_of_anything_the_mac_answers_and_delivers():
    # The tenth burst is the one in which the MAC is switched off and its settings are written at random.
    found = fuzz_gateware.fuzz(10_000, SEED)
    assert found["problem"] == ""
    assert (found["frames"], found["bursts"], found["exchanges_after_bursts"]) == (10_000, 10, 10)
    assert found["packets_given"] > 20
    assert found["writes_refused"] > 50
    assert found["writes_judged"] - found["writes_refused"] > 0


def test_a_completion_that_does_not_come_is_noticed():
    found = fuzz_gateware.fuzz(2000, SEED, "fault")
    assert fuzz_gateware.NOTICED in found["problem"]
