# SPDX-License-Identifier: GPL-2.0-or-later
"""tx_switch: how long before and after a frame the antenna's switch is turned, sample by sample."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_phy's tests run all of it, and sooner.
pytestmark = pytest.mark.long

FRAME = {"start_2mbps": 1, "start_short": 1, "start_bytes": 0xA5C}
OTHER = {"start_2mbps": 0, "start_short": 0, "start_bytes": 0x123}
CLOCKS_PER_SAMPLE = 3


@cocotb.test()
@cocotb.parametrize(lead=[0, 1, 2, 40, 127], hold=[0, 1, 127])
async def the_switch_is_turned_as_long_before_and_after_as_is_said(dut, lead: int, hold: int):
    """A timeline in samples; the frame's are those at which the transmitter says that it sends.

    start   go          sending ends
      | lead | .. frame .. | hold |
      |------------ active -------|
    """
    unit = Clocked(dut, "rst", "start", *FRAME, "sample_take", "sending")
    await unit.reset()
    for _ in range(2):
        unit.hold(cfg_lead_samples=lead, cfg_hold_samples=hold, **OTHER)
        await unit.set(start=1, **FRAME)
        assert unit.go == (lead == 0)
        if unit.go:
            assert (unit.go_2mbps, unit.go_short, unit.go_bytes) == tuple(FRAME.values())
        await unit.clock()
        # What the MAC says next is of no other frame.
        await unit.set(start=0, **OTHER)
        taken = 0
        while taken < lead:
            for clock in range(CLOCKS_PER_SAMPLE):
                last = clock == CLOCKS_PER_SAMPLE - 1
                await unit.set(sample_take=int(last))
                taken += last
                assert unit.active
                assert unit.go == (last and taken == lead), taken
                if unit.go:
                    assert (unit.go_2mbps, unit.go_short, unit.go_bytes) == tuple(FRAME.values())
                await unit.clock()
        await unit.set(sending=1)
        for clock in range(30):
            await unit.set(sample_take=int(clock % CLOCKS_PER_SAMPLE == 0))
            assert unit.active and not unit.go
            await unit.clock()
        await unit.set(sending=0, sample_take=0)
        held = 0
        while unit.active:
            await unit.set(sample_take=1)
            await unit.clock()
            await unit.set(sample_take=0)
            await unit.clock()
            held += 1
        assert held == hold
        for _ in range(5):
            await unit.clock(sample_take=1)
            assert not unit.active and not unit.go


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_tx_switch(name):
    simulate("tx_switch", __file__, name, cocotb_tests(globals()))
