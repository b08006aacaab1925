# SPDX-License-Identifier: GPL-2.0-or-later
"""virtual_carrier_sense: until when the medium is spoken for, and what inter-frame space is left then."""

import random

import cocotb
import pytest
from cocotb.triggers import Timer
from testbench.build import cocotb_tests, simulate


async def result(dut, own_left_us: int, nav_until_us: int, idle_us: int, ifs_us: int) -> tuple[int, int]:
    dut.own_left_us.value = own_left_us
    dut.nav_until_us.value = nav_until_us
    dut.idle_us.value = idle_us
    dut.ifs_us.value = ifs_us
    await Timer(1, "ns")
    return int(dut.reserved_us.value), int(dut.ifs_left_us.value)


@cocotb.test()
async def the_longer_of_own_frame_and_nav_reserves_the_medium(dut):
    assert await result(dut, 304, 100, 0, 50) == (304, 50)
    assert await result(dut, 100, 3000, 0, 50) == (3000, 50)


@cocotb.test()
async def the_whole_inter_frame_space_follows_a_reservation_whatever_was_idle_before(dut):
    assert await result(dut, 1, 0, 5000, 50) == (1, 50)
    assert await result(dut, 0, 1, 5000, 364) == (1, 364)


@cocotb.test()
async def idle_time_counts_towards_the_inter_frame_space(dut):
    assert await result(dut, 0, 0, 0, 50) == (0, 50)
    assert await result(dut, 0, 0, 49, 50) == (0, 1)
    assert await result(dut, 0, 0, 50, 50) == (0, 0)
    assert await result(dut, 0, 0, 0xFFFF, 50) == (0, 0)


@cocotb.test()
async def every_input_gives_what_arithmetic_gives(dut):
    source = random.Random(1)
    for _ in range(500):
        own_us, nav_us, idle_us, ifs_us = (source.choice((0, 1, source.getrandbits(16), 0xFFFF)) for _ in range(4))
        reserved_us = max(own_us, nav_us)
        left_us = ifs_us if reserved_us else max(ifs_us - idle_us, 0)
        assert await result(dut, own_us, nav_us, idle_us, ifs_us) == (reserved_us, left_us)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_virtual_carrier_sense(name):
    simulate("virtual_carrier_sense", __file__, name, cocotb_tests(globals()))
