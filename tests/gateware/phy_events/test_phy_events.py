# SPDX-License-Identifier: GPL-2.0-or-later
"""phy_events: what a received frame is to this station."""

from itertools import product

import cocotb
import pytest
from perhop.registers.spec_generated import FrameKind
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

OWN, OTHER, GROUP = 0x0200_0000_0001, 0x0200_0000_0002, 0x0100_5E00_0001
FLAGS = {
    "rx_rts_for_us": FrameKind.RTS,
    "rx_cts_for_us": FrameKind.CTS,
    "rx_data_for_us": FrameKind.DATA,
    "rx_mac_ack_for_us": FrameKind.MAC_ACK,
}


async def started(dut) -> Clocked:
    fields = ("ok", "kind", "rate", "duration_us", "ra", "ta", "sequence", "retry", "start", "end")
    events = Clocked(dut, "phy_cca_busy", *(f"phy_rx_{name}" for name in fields), cfg_address=OWN)
    await events.reset()
    return events


@cocotb.test()
async def every_frame_is_what_its_kind_address_and_fcs_make_it(dut):
    events = await started(dut)
    for kind, ra, ok in product(FrameKind, (OWN, OTHER, GROUP, (1 << 48) - 1), (0, 1)):
        await events.clock(phy_rx_end=1, phy_rx_ok=ok, phy_rx_kind=kind, phy_rx_ra=ra)
        group = ra in (GROUP, (1 << 48) - 1)
        assert events.rx_end == 1
        assert events.rx_bad == (not ok)
        assert events.rx_overheard == (ok and ra != OWN)
        assert events.rx_data_for_group == (ok and group and kind == FrameKind.DATA)
        for flag, wanted in FLAGS.items():
            assert getattr(events, flag) == (ok and ra == OWN and kind == wanted), flag
        assert events.rx_is_rts == (kind == FrameKind.RTS)
        await events.clock()
        outputs = (*FLAGS, "rx_end", "rx_bad", "rx_overheard", "rx_data_for_group")
        assert not any(getattr(events, output) for output in outputs)


@cocotb.test()
async def the_fields_stand_after_the_frame_s_end(dut):
    events = await started(dut)
    await events.clock(
        phy_rx_end=1, phy_rx_ok=1, phy_rx_kind=FrameKind.DATA, phy_rx_rate=5, phy_rx_duration_us=0x5A5A,
        phy_rx_ra=OWN, phy_rx_ta=0xFEDC_BA98_7654, phy_rx_sequence=0xABC, phy_rx_retry=1,
    )  # fmt: skip
    await events.clock(phy_rx_rate=1, phy_rx_ta=7)
    fields = (events.rx_rate, events.rx_duration_us, events.rx_ta, events.rx_sequence, events.rx_retry)
    assert fields == (5, 0x5A5A, 0xFEDC_BA98_7654, 0xABC, 1)


@cocotb.test()
async def start_and_carrier_are_registered(dut):
    events = await started(dut)
    await events.clock(phy_rx_start=1, phy_cca_busy=1)
    assert (events.rx_start, events.cca_busy) == (1, 1)
    await events.clock()
    assert (events.rx_start, events.cca_busy) == (0, 0)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_phy_events(name):
    simulate("phy_events", __file__, name, cocotb_tests(globals()))
