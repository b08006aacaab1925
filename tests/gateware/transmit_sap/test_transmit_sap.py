# SPDX-License-Identifier: GPL-2.0-or-later
"""transmit_sap: rates and preambles as the MAC and the setting say; foreign rates are taken and not sent."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_phy's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


INPUTS = ("rst", "cfg_short_preamble", "phy_tx_start", "phy_tx_rate", "phy_tx_bytes", "phy_tx_data", "phy_tx_valid")
INPUTS += ("phy_tx_last", "data_ready")


@cocotb.test()
async def a_start_has_its_rate_and_preamble(dut):
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    for rate, short in ((0, 0), (0, 1), (1, 0), (1, 1)):
        await unit.set(phy_tx_start=1, phy_tx_rate=rate, cfg_short_preamble=short, phy_tx_bytes=77)
        assert unit.start and not unit.evt_unsupported and unit.start_bytes == 77
        assert (unit.start_2mbps, unit.start_short) == (rate, rate & short)
        await unit.clock()
        await unit.set(phy_tx_start=0, phy_tx_valid=1, phy_tx_data=0x3C)
        assert unit.data_valid and unit.data == 0x3C and not unit.phy_tx_ready
        await unit.set(data_ready=1)
        assert unit.phy_tx_ready
        await unit.set(data_ready=0, phy_tx_valid=0)


@cocotb.test()
async def a_frame_at_another_rate_is_swallowed_to_its_last_octet(dut):
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    for rate in (2, 3, 7):
        await unit.set(phy_tx_start=1, phy_tx_rate=rate)
        assert not unit.start and unit.evt_unsupported
        await unit.clock()
        await unit.set(phy_tx_start=0)
        for left in (2, 1, 0):
            await unit.set(phy_tx_valid=1, phy_tx_last=left == 0)
            assert unit.phy_tx_ready and not unit.data_valid
            await unit.clock()
        await unit.set(phy_tx_valid=1, phy_tx_last=0)
        assert not unit.phy_tx_ready and unit.data_valid, "the next frame's"
        await unit.set(phy_tx_valid=0)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_transmit_sap(name):
    simulate("transmit_sap", __file__, name, cocotb_tests(globals()))
