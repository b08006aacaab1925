# SPDX-License-Identifier: GPL-2.0-or-later
"""plcp_crc: the CRC-16 of PLCP headers, against the standard's example and one heard from an access point."""

import random

import cocotb
import pytest
from perhop.phy import plcp
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_transmitter's tests run all of it, and sooner.
pytestmark = pytest.mark.long

# Octets of SIGNAL, SERVICE and LENGTH; the CRC's bits as they are on the air.
HEADERS = {"0A00C000": "0101101101010111", "0A043006": f"{0xA109:016b}"}


def bits_of(octets: str) -> list[int]:
    return [bit for octet in bytes.fromhex(octets) for bit in plcp.low_bit_first(octet, 8)]


@cocotb.test()
async def known_headers_have_their_crc_with_its_high_bit_first(dut):
    crc = Clocked(dut, "clear", "valid", "data", "send")
    for octets, expected in HEADERS.items():
        await crc.clock(clear=1, valid=1, data=1)
        for bit in bits_of(octets):
            await crc.clock(valid=1, data=bit)
            await crc.clock(data=1)
        sent = ""
        for _ in range(16):
            sent += str(crc.next_bit)
            await crc.clock(send=1, data=random.getrandbits(1))
        assert sent == expected


@cocotb.test()
async def a_header_is_good_with_its_crc_and_with_no_other(dut):
    crc = Clocked(dut, "clear", "valid", "data", "send")
    for octets, expected in HEADERS.items():
        header = bits_of(octets) + [int(bit) for bit in expected]
        for wrong in (None, *range(48)):
            await crc.clock(clear=1)
            for place, bit in enumerate(header):
                assert not crc.good or place < 48
                await crc.clock(valid=1, data=bit ^ (place == wrong))
            assert crc.good == (wrong is None)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_plcp_crc(name):
    simulate("plcp_crc", __file__, name, cocotb_tests(globals()))
