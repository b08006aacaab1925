# SPDX-License-Identifier: GPL-2.0-or-later
"""ad936x_port: I and Q take turns on 12 wires, each way."""

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from testbench.build import cocotb_tests, simulate

SAMPLES = 200


@cocotb.test()
async def samples_pass_both_ways_as_they_are(dut):
    """I while the frame signal is high, then Q; a strobe for each pair, and the sample to send behind it."""
    random = np.random.default_rng(1)
    Clock(dut.clk, 22, "ns").start()
    dut.rst.value = 1
    dut.rx_frame.value = dut.rx_data.value = dut.tx_sample.value = 0
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    heard = random.integers(-2048, 2048, (SAMPLES, 2))
    to_send = random.integers(-2048, 2048, (2 * SAMPLES, 2))
    got, sent, expected, half = [], [], [], None
    taken = 0
    for sample in heard:
        for index, value in enumerate(sample):
            dut.rx_frame.value = int(index == 0)
            dut.rx_data.value = int(value) & 0xFFF
            word = to_send[taken]
            dut.tx_sample.value = (int(word[0]) & 0xFFF) << 20 | (int(word[1]) & 0xFFF) << 4
            await RisingEdge(dut.clk)
            if dut.stb.value == 1:
                value_now = int(dut.rx_sample.value)
                pair = [value_now >> 20, value_now >> 4 & 0xFFF]
                got.append([each - 4096 if each & 0x800 else each for each in pair])
                expected.append(list(map(int, word)))
                taken += 1
            out = dut.tx_data.value.to_signed() if half is not None or dut.tx_frame.value == 1 else None
            if dut.tx_frame.value == 1:
                half = out
            elif half is not None:
                sent.append([half, out])
                half = None
    assert len(got) > SAMPLES - 4
    # The first strobe may have only half a sample behind it.
    first = next(at for at in range(4) if got[2] == list(map(int, heard[at])))
    assert got[2:] == [list(map(int, each)) for each in heard[first : first + len(got) - 2]]
    assert len(sent) > SAMPLES - 6
    assert sent == expected[: len(sent)]


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_ad936x_port(name):
    simulate("ad936x_port", __file__, name, cocotb_tests(globals()))
