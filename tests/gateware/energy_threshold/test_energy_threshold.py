# SPDX-License-Identifier: GPL-2.0-or-later
"""energy_threshold: what the clause allows at each power, and that no setting is above it."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_phy's tests run all of it, and sooner.
pytestmark = pytest.mark.long


def clause_dbm(power_dbm: int) -> int:
    """IEEE 802.11-2012, 16.4.8.5: -80 dBm above 100 mW, -76 dBm above 50 mW, -70 dBm else; to a whole decibel."""
    milliwatts = 10 ** (power_dbm / 10)
    return -80 if milliwatts > 100 else -76 if milliwatts > 51 else -70


@cocotb.test()
async def the_threshold_is_what_is_set_and_never_above_the_clause_s(dut):
    unit = Clocked(dut)
    for power in range(-128, 128):
        for threshold in (-128, -81, -80, -79, -77, -76, -75, -71, -70, -69, -62, 0, 127):
            for limited in (0, 1):
                await unit.set(
                    cfg_transmit_power_dbm=power & 0xFF,
                    cfg_energy_threshold_dbm=threshold & 0xFF,
                    cfg_limit_threshold=limited,
                )
                limit = clause_dbm(power) if limited else 127
                assert dut.limit_dbm.value.to_signed() == limit, power
                assert dut.threshold_dbm.value.to_signed() == min(threshold, limit), (power, threshold)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_energy_threshold(name):
    simulate("energy_threshold", __file__, name, cocotb_tests(globals()))
