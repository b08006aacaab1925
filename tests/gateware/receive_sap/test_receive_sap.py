# SPDX-License-Identifier: GPL-2.0-or-later
"""receive_sap: which frames the MAC gets, that each that begins ends, and what becomes of those that it does not."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_phy's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


INPUTS = ("rst", "stopped", "frame_start", "signal", "length_us", "octet", "octet_valid", "frame_end", "frame_lost")
INPUTS += ("header_error", "idle_next", "rssi_dbm", "snr_db", "tangent_128")


@cocotb.test()
async def only_frames_at_our_rates_that_fit_reach_the_mac(dut):
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    for signal, length_us, expected in (
        (0x0A, 304, (0, 38)),
        (0x0A, 311, (0, 38)),
        (0x14, 456, (1, 114)),
        (0x14, 4, (1, 1)),
        (0x14, 3, None),
        (0x0A, 7, None),
        (0x0A, 8 * 4095, (0, 4095)),
        (0x0A, 8 * 4096, None),
        (0x14, 65535, None),
        (0x37, 100, None),
        (0x6E, 100, None),
        (0x00, 100, None),
    ):
        await unit.clock(frame_start=1, signal=signal, length_us=length_us)
        assert unit.phy_rx_start == (expected is not None) and unit.evt_unsupported == (expected is None)
        if expected is not None:
            assert (unit.phy_rx_rate, unit.phy_rx_bytes) == expected
        await unit.clock(octet_valid=1, octet=0xA5)
        assert unit.phy_rx_valid == (expected is not None) and unit.phy_rx_data == 0xA5
        lost = length_us == 456
        await unit.clock(frame_end=1, rssi_dbm=0xB0, snr_db=20, tangent_128=5, frame_lost=lost)
        assert unit.phy_rx_end == unit.frame_ended == (expected is not None) and not unit.phy_rx_valid
        if expected is not None:
            assert (unit.phy_rx_rssi_dbm, unit.rx_snr_db, unit.rx_tangent_128) == (0xB0, 20, 5)
            assert unit.phy_rx_error == lost
        await unit.clock(idle_next=1)
        assert not unit.phy_rx_start and not unit.frame_ended
        # An error, not of a frame that the MAC has heard of, when the medium becomes idle.
        assert unit.phy_rx_end == (expected is None)
        if expected is None:
            assert unit.phy_rx_error
        await unit.clock(idle_next=1)
        assert not unit.phy_rx_end


UNREAD = {
    "bad_crc": ({"header_error": 1},),
    "rate_11": ({"frame_start": 1, "signal": 0x6E, "length_us": 100}, {"frame_end": 1}),
    "rate_11_carrier_lost": ({"frame_start": 1, "signal": 0x6E, "length_us": 9}, {"frame_end": 1, "frame_lost": 1}),
    "length_0": ({"frame_start": 1, "signal": 0x0A, "length_us": 0, "frame_end": 1},),
}


@cocotb.test()
@cocotb.parametrize(what=list(UNREAD))
async def what_nobody_could_read_ends_with_one_error_when_the_medium_becomes_idle(dut, what: str):
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    for _ in range(2):
        await unit.clock(idle_next=1)
        assert not unit.phy_rx_end
        for inputs in UNREAD[what]:
            await unit.clock(**inputs)
            assert not unit.phy_rx_end and not unit.phy_rx_start
        for _ in range(5):
            await unit.clock()
            assert not unit.phy_rx_end
        await unit.clock(idle_next=1)
        assert unit.phy_rx_end and unit.phy_rx_error and not unit.frame_ended


@cocotb.test()
@cocotb.parametrize(what=list(UNREAD))
async def an_error_that_waits_is_forgotten_when_a_good_header_comes_or_the_station_sends(dut, what: str):
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    for then in ({"stopped": 1}, {"frame_start": 1, "signal": 0x0A, "length_us": 80}):
        for inputs in UNREAD[what]:
            await unit.clock(**inputs)
        await unit.clock(**then)
        assert unit.phy_rx_start == ("signal" in then) and not unit.phy_rx_end
        if "signal" in then:
            await unit.clock(frame_end=1)
            assert unit.phy_rx_end and not unit.phy_rx_error and unit.frame_ended
        await unit.clock(idle_next=1)
        assert not unit.phy_rx_end


@cocotb.test()
async def a_frame_that_the_station_s_own_breaks_off_ends_with_an_error(dut):
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    await unit.clock(stopped=1)
    assert not unit.phy_rx_end
    await unit.clock(frame_start=1, signal=0x0A, length_us=80)
    unit.hold(stopped=1)
    await unit.clock()
    assert unit.phy_rx_end and unit.phy_rx_error
    await unit.clock(octet_valid=1)
    assert not unit.phy_rx_end and not unit.phy_rx_valid


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_receive_sap(name):
    simulate("receive_sap", __file__, name, cocotb_tests(globals()))
