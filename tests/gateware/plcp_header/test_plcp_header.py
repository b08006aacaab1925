# SPDX-License-Identifier: GPL-2.0-or-later
"""plcp_header: the fields of known headers, each single wrong bit, and any SERVICE."""

import cocotb
import pytest
from perhop.phy import plcp
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


async def given(unit: Clocked, bits: list[int]) -> None:
    await unit.clock(clear=1, valid=1, data=1)
    for place, bit in enumerate(bits):
        assert not unit.complete, place
        await unit.clock(valid=1, data=bit)
        await unit.clock(data=1 - bit)


@cocotb.test()
async def fields_come_out_whatever_service_says(dut):
    unit = Clocked(dut, "clear", "valid", "data")
    # The standard's example, an access point's header (with the CRC that was heard), ours, and every bit of SERVICE.
    heard = [int(bit) for bit in f"{0xA109:016b}"]
    access_point = [bit for octet in bytes.fromhex("0A043006") for bit in plcp.low_bit_first(octet, 8)] + heard
    assert plcp.header_of(0x0A, 0x04, 0x0630) == access_point
    for signal, service, length_us in ((0x0A, 0, 192), (0x0A, 4, 0x630), (0x14, 0xFF, 0xFFFF), (0x6E, 0x80, 1)):
        await given(unit, plcp.header_of(signal, service, length_us))
        assert unit.complete and unit.good
        assert (unit.signal, unit.service, unit.length_us) == (signal, service, length_us)
        # What follows is not the header's.
        await unit.clock(valid=1, data=1)
        assert unit.complete and unit.good and unit.length_us == length_us


@cocotb.test()
async def no_wrong_bit_is_good(dut):
    unit = Clocked(dut, "clear", "valid", "data")
    for wrong in range(48):
        bits = plcp.header_of(0x14, 4, 456)
        bits[wrong] ^= 1
        await given(unit, bits)
        assert unit.complete and not unit.good


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_plcp_header(name):
    simulate("plcp_header", __file__, name, cocotb_tests(globals()))
