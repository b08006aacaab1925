# SPDX-License-Identifier: GPL-2.0-or-later
"""plcp_framer: the bits of each kind of frame, in their order, whatever the pace of octets and bits."""

import random

import cocotb
import pytest
from perhop.phy import plcp
from perhop.phy.plcp import RATE_1MBPS, RATE_2MBPS, Frame
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_transmitter's tests run all of it, and sooner.
pytestmark = pytest.mark.long

KINDS = [(RATE_1MBPS, False), (RATE_2MBPS, False), (RATE_2MBPS, True)]
INPUTS = ("rst", "start", "start_2mbps", "start_short", "start_bytes", "s_data", "s_valid", "bit_take")
SEED = 1


def expected(frame: Frame) -> list[tuple[int, int]]:
    """Bits, and whether each is one of two in its symbol."""
    pairs = {"preamble": 0, "header": int(frame.short_preamble), "body": int(frame.rate == RATE_2MBPS)}
    parts = {
        "preamble": frame.preamble_bits(),
        "header": plcp.header_bits(frame.rate, len(frame.psdu)),
        "body": [bit for byte in frame.psdu for bit in plcp.low_bit_first(byte, 8)],
    }
    return [(bit, pairs[part]) for part, bits in parts.items() for bit in bits]


@cocotb.test()
async def every_kind_of_frame_has_its_bits_in_order(dut):
    source = random.Random(SEED)
    framer = Clocked(dut, *INPUTS)
    await framer.reset()
    for rate, short in KINDS * 2:
        frame = Frame(source.randbytes(source.randrange(1, 30)), rate, short)
        octets = [*frame.psdu, 0x77]
        await framer.clock(
            start=1, start_2mbps=rate == RATE_2MBPS, start_short=short, start_bytes=len(frame.psdu), s_valid=1, s_data=9
        )
        bits = []
        while framer.bit_valid:
            give, take = source.random() < 0.4, source.random() < 0.5
            await framer.set(s_valid=give, s_data=octets[0], bit_take=take)
            if take:
                bits.append((framer.bit_data, framer.bit_pair))
            taken = give and framer.s_ready
            assert not framer.evt_underrun
            await framer.clock()
            if taken:
                octets.pop(0)
        framer.hold(s_valid=0, bit_take=0)
        assert bits == expected(frame)
        assert octets == [0x77], "the octet after the frame stays"


@cocotb.test()
async def an_octet_that_comes_too_late_is_sent_as_zeros_and_told(dut):
    framer = Clocked(dut, *INPUTS)
    await framer.reset()
    await framer.clock(start=1, start_bytes=2)
    bits, underruns = [], 0
    await framer.set(bit_take=1)
    while framer.bit_valid:
        bits.append(framer.bit_data)
        underruns += framer.evt_underrun
        await framer.clock()
        framer.hold(bit_take=1)
        await framer.settle()
    assert bits == [bit for bit, _ in expected(Frame(bytes(2)))]
    assert underruns == 2


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_plcp_framer(name):
    simulate("plcp_framer", __file__, name, cocotb_tests(globals()))
