# SPDX-License-Identifier: GPL-2.0-or-later
"""phy_inputs: indications reach the MAC a clock later, or when the tick that is near has come."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

INPUTS = (
    *("rst", "phy_cca_busy", "phy_rx_start", "phy_rx_rate", "phy_rx_bytes", "phy_rx_data", "phy_rx_valid"),
    *("phy_rx_end", "phy_rx_error", "phy_rx_rssi_dbm", "hold_strobe", "hold_carrier"),
)


async def inputs_after_reset(dut) -> Clocked:
    inputs = Clocked(dut, *INPUTS)
    await inputs.reset()
    inputs.hold(rst=0)
    await inputs.clock()
    return inputs


@cocotb.test()
async def everything_passes_in_one_clock(dut):
    inputs = await inputs_after_reset(dut)
    await inputs.clock(phy_rx_start=1, phy_rx_rate=5, phy_rx_bytes=1234)
    assert (inputs.rx_start, inputs.rx_rate, inputs.rx_bytes, inputs.news) == (1, 5, 1234, 1)
    await inputs.clock(phy_rx_valid=1, phy_rx_data=0xA5)
    assert (inputs.rx_start, inputs.rx_valid, inputs.rx_data, inputs.news) == (0, 1, 0xA5, 0)
    await inputs.clock(phy_rx_end=1, phy_rx_error=1, phy_rx_rssi_dbm=0xC0)
    assert (inputs.rx_valid, inputs.rx_end, inputs.rx_error, inputs.rx_rssi_dbm, inputs.news) == (0, 1, 1, 0xC0, 1)
    await inputs.clock()
    assert (inputs.rx_end, inputs.rx_error, inputs.rx_rssi_dbm) == (0, 1, 0xC0)


@cocotb.test()
async def a_held_strobe_comes_once_with_what_it_said(dut):
    inputs = await inputs_after_reset(dut)
    await inputs.clock(phy_rx_start=1, phy_rx_rate=3, phy_rx_bytes=77, hold_strobe=1)
    assert (inputs.rx_start, inputs.news) == (0, 0)
    await inputs.clock(hold_strobe=1)
    assert inputs.rx_start == 0
    await inputs.clock()
    assert (inputs.rx_start, inputs.rx_rate, inputs.rx_bytes, inputs.news) == (1, 3, 77, 1)
    await inputs.clock()
    assert inputs.rx_start == 0
    await inputs.clock(phy_rx_end=1, phy_rx_error=1, phy_rx_rssi_dbm=1, hold_strobe=1)
    assert inputs.rx_end == 0
    await inputs.clock()
    assert (inputs.rx_end, inputs.rx_error, inputs.rx_rssi_dbm) == (1, 1, 1)


@cocotb.test()
async def a_held_carrier_stays_as_it_was(dut):
    inputs = await inputs_after_reset(dut)
    await inputs.set(phy_cca_busy=1, hold_carrier=1)
    for _ in range(10):
        await inputs.clock()
        assert (inputs.cca_busy, inputs.news) == (0, 0)
    await inputs.set(hold_carrier=0)
    await inputs.clock()
    assert (inputs.cca_busy, inputs.news) == (1, 1)
    await inputs.clock()
    assert (inputs.cca_busy, inputs.news) == (1, 0)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_phy_inputs(name):
    simulate("phy_inputs", __file__, name, cocotb_tests(globals()))
