# SPDX-License-Identifier: GPL-2.0-or-later
"""next_frame: what an RTS or DATA frame looks like, what it reserves, how long its answer is awaited (8.2.5)."""

import random

import cocotb
import pytest
from perhop.registers.spec_generated import FrameKind
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SIFS_US, TIMEOUT_US, RTS_US = 10, 222, 352
RESPONSE_US = (304, 248, 200, 190, 104, 88, 52, 44)


class Frame(Clocked):
    """next_frame has no clock: inputs are set, outputs follow."""

    def __init__(self, dut, **held: int) -> None:
        for rate, airtime_us in enumerate(RESPONSE_US):
            dut.cfg_response_airtime_us[rate].value = airtime_us
        super().__init__(
            dut, "cfg_rts_rate", "cfg_quirk_fixed_timeout", "rts_next", "unanswered",
            **{"cfg_sifs_us": SIFS_US, "cfg_response_timeout_us": TIMEOUT_US, "cfg_rts_airtime_us": RTS_US,
               "data_rate": 3, "data_airtime_us": 1192, "data_bytes": 250} | held,
        )  # fmt: skip


@cocotb.test()
async def data_reserves_sifs_and_its_mac_ack(dut):
    frame = Frame(dut)
    await frame.settle()
    assert (frame.kind, frame.rate, frame.bytes, frame.airtime_us) == (FrameKind.DATA, 3, 250, 1192)
    assert (frame.until_data_us, frame.after_data_us, frame.response_deadline_us) == (
        0,
        SIFS_US + 190,
        1192 + TIMEOUT_US,
    )


@cocotb.test()
async def an_rts_reserves_the_whole_exchange(dut):
    frame = Frame(dut, rts_next=1, cfg_rts_rate=1)
    await frame.settle()
    assert (frame.kind, frame.rate, frame.bytes, frame.airtime_us) == (FrameKind.RTS, 1, 20, RTS_US)
    assert (frame.until_data_us, frame.after_data_us) == (2 * SIFS_US + 248 + 1192, SIFS_US + 190)
    assert frame.response_deadline_us == RTS_US + TIMEOUT_US


@cocotb.test()
async def data_that_nobody_answers_reserves_nothing_and_is_over_with_its_end(dut):
    frame = Frame(dut, unanswered=1)
    await frame.settle()
    assert (frame.until_data_us, frame.after_data_us, frame.response_deadline_us) == (0, 0, 1192)
    await frame.set(rts_next=1)
    assert (frame.until_data_us, frame.after_data_us) == (2 * SIFS_US + 304 + 1192, 0)
    assert frame.response_deadline_us == RTS_US + TIMEOUT_US


@cocotb.test()
async def ns2_waits_for_the_whole_response(dut):
    frame = Frame(dut, cfg_quirk_fixed_timeout=1, cfg_rts_rate=4)
    await frame.settle()
    assert frame.response_deadline_us == 1192 + TIMEOUT_US + 190
    await frame.set(rts_next=1)
    assert frame.response_deadline_us == RTS_US + TIMEOUT_US + 104


@cocotb.test()
async def no_airtime_is_too_long_to_be_added(dut):
    frame = Frame(dut, rts_next=1, cfg_quirk_fixed_timeout=1)
    source = random.Random(1)
    largest = {"cfg_sifs_us": 0x1FFF, "data_airtime_us": 0xFFFF, "cfg_response_timeout_us": 0x7FFF}
    for given in (largest, *({name: source.randrange(most + 1) for name, most in largest.items()} for _ in range(200))):
        await frame.set(**given)
        sifs_us, data_us, timeout_us = given.values()
        assert frame.until_data_us == 2 * sifs_us + 304 + data_us
        assert (frame.after_data_us, frame.response_deadline_us) == (sifs_us + 190, RTS_US + timeout_us + 304)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_next_frame(name):
    simulate("next_frame", __file__, name, cocotb_tests(globals()))
