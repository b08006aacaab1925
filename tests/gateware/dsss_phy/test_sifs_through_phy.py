# SPDX-License-Identifier: GPL-2.0-or-later
"""Two mac_tops with a dsss_phy each, antenna to antenna: packets cross, responses come SIFS after what they answer."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.perhop.mac_host import ADDRESS, MacHost
from perhop.registers.spec_generated import PROFILES, TxResult, airtime_us
from testbench.build import cocotb_tests, simulate

pytestmark = pytest.mark.long

CLOCKS_PER_US = 64
SEED = 1
# Of dsss_phy at 64 clocks a microsecond, from a frame's begin and end in barker_spreader, by samples a chip.
DELAYS_CLOCKS = {2: (6, 50), 4: (6, 67)}


async def stations(dut, profile: str, delays_clocks: tuple[int, int]):
    Clock(dut.clk, 10, "ns").start()
    dut.preamble_us.value = PROFILES[profile].preamble_us
    dut.damage.value = dut.tx_delay_clocks.value = dut.rx_delay_clocks.value = 0
    dut.rst.value = 1
    a, b = MacHost(dut, "a"), MacHost(dut, "b")
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    for seed, station in enumerate((a, b), 1):
        await station.set_up(profile, seed, delays_clocks)
    return a, b


@cocotb.test()
@cocotb.parametrize(profile=["dsss_short", "dsss_long"])
async def packets_cross_and_responses_come_sifs_after_what_they_answer(dut, profile: str):
    source = random.Random(SEED)
    samples_per_chip = int(dut.SAMPLES_PER_CHIP.value)
    a, b = await stations(dut, profile, DELAYS_CLOCKS[samples_per_chip])
    timing = PROFILES[profile]
    gaps = []
    for tag, (length, rts) in enumerate(((10, False), (33, True), (1, False), (60, True))):
        sender, receiver = (a, b) if tag % 2 else (b, a)
        msdu = source.randbytes(length)
        await sender.give(msdu, ADDRESS[receiver.name], 1, tag=tag, force_rts=rts)
        record = await sender.completion()
        assert (record["tag"], record["result"], record["data_attempts"]) == (tag, TxResult.DELIVERED, 1)
        assert record["data_us"] == airtime_us(timing, 1, length + 28)
        assert await receiver.reception() == msdu
        gaps.append(int(dut.response_clocks[1 if receiver is b else 0].value))
        if rts:
            gaps.append(int(dut.response_clocks[0 if receiver is b else 1].value))
    dut._log.info("clocks from the end of a frame to the begin of its response: %s", gaps)
    sifs_clocks = timing.sifs_us * CLOCKS_PER_US
    # A sample is three clocks: a frame can begin and end only with one.
    assert all(abs(gap - sifs_clocks) <= 4 for gap in gaps), gaps


@pytest.mark.parametrize("samples_per_chip", [2, 4])
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_sifs_through_phy(name, samples_per_chip):
    simulate("mac_top_pair_bench", __file__, name, cocotb_tests(globals()), {"SAMPLES_PER_CHIP": samples_per_chip})
