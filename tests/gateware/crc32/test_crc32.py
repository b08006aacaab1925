# SPDX-License-Identifier: GPL-2.0-or-later
"""crc32: the FCS of IEEE 802.11-2012, 8.2.4.8; zlib computes the same CRC-32."""

import random
import zlib

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1


async def fed(crc: Clocked, data: bytes) -> None:
    await crc.clock(clear=1)
    for byte in data:
        await crc.clock(valid=1, data=byte)


@cocotb.test()
async def the_published_check_value_comes_out(dut):
    crc = Clocked(dut, "clear", "valid", "data")
    await fed(crc, b"123456789")
    assert crc.fcs == 0xCBF43926
    await fed(crc, b"")
    assert crc.fcs == 0


@cocotb.test()
async def any_bytes_have_the_fcs_that_zlib_computes_and_are_good_with_it(dut):
    crc = Clocked(dut, "clear", "valid", "data")
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    for _ in range(60):
        data = source.randbytes(source.randrange(1, 60))
        await fed(crc, data)
        assert crc.fcs == zlib.crc32(data)
        for position, byte in enumerate(zlib.crc32(data).to_bytes(4, "little")):
            assert not crc.good, f"good after {position} bytes of the FCS"
            await crc.clock(valid=1, data=byte)
        assert crc.good


@cocotb.test()
async def a_wrong_bit_anywhere_is_found(dut):
    crc = Clocked(dut, "clear", "valid", "data")
    frame = random.Random(SEED).randbytes(12)
    frame += zlib.crc32(frame).to_bytes(4, "little")
    for bit in range(8 * len(frame)):
        wrong = bytearray(frame)
        wrong[bit // 8] ^= 1 << bit % 8
        await fed(crc, bytes(wrong))
        assert not crc.good


@cocotb.test()
async def without_valid_nothing_changes_and_clear_takes_no_byte(dut):
    crc = Clocked(dut, "clear", "valid", "data")
    await fed(crc, b"abc")
    await crc.clock(data=0x55)
    assert crc.fcs == zlib.crc32(b"abc")
    await crc.clock(clear=1, valid=1, data=0x55)
    assert crc.fcs == 0


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_crc32(name):
    simulate("crc32", __file__, name, cocotb_tests(globals()))
