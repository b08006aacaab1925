# SPDX-License-Identifier: GPL-2.0-or-later
"""airtime_calculator: the specification's airtime, to the microsecond, for every profile, rate and length."""

import random
from dataclasses import astuple, fields

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from perhop.registers.spec_generated import PROFILES, AirtimeCoefficients, airtime_coefficients, airtime_us
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
SHORTEST, LONGEST = 14, 4095
COEFFICIENTS = tuple(field.name for field in fields(AirtimeCoefficients))
WIDTHS = {"base_us": 10, "half_bits_per_unit": 9, "unit_shift": 3, "overhead_half_bits": 6}
RATES = [(profile, rate) for profile in PROFILES.values() for rate in range(len(profile.rates))]
# The bench has a calculator for each of these.
BENCH_TESTS = ["every_length_at_every_rate_of_every_profile_is_exact"]


async def computed(calculator: Clocked, bytes_: int, coefficients: AirtimeCoefficients) -> tuple[int, int]:
    """The airtime and the clocks that it took."""
    await calculator.clock(start=1, bytes=bytes_, **dict(zip(COEFFICIENTS, astuple(coefficients), strict=True)))
    for clocks in range(1, 40):
        assert calculator.busy != calculator.done
        if calculator.done:
            return calculator.airtime_us, clocks - 1
        await calculator.clock()
    raise AssertionError("no result")


@cocotb.test()
async def every_length_at_every_rate_of_every_profile_is_exact(dut):
    assert len(RATES) == 37
    for name in COEFFICIENTS:
        packed = sum(
            getattr(airtime_coefficients(profile, rate), name) << WIDTHS[name] * index
            for index, (profile, rate) in enumerate(RATES)
        )
        getattr(dut, name).value = packed
    dut.rst.value, dut.start.value = 1, 0
    Clock(dut.clk, 2, "ns").start()
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    for bytes_ in range(SHORTEST, LONGEST + 1):
        dut.start.value, dut.bytes.value = 1, bytes_
        await FallingEdge(dut.clk)
        dut.start.value = 0
        await RisingEdge(dut.all_idle)
        right = sum(airtime_us(profile, rate, bytes_) << 16 * index for index, (profile, rate) in enumerate(RATES))
        assert int(dut.airtime_us.value) == right, bytes_
        await FallingEdge(dut.clk)


async def started(dut) -> Clocked:
    calculator = Clocked(dut, "start", "bytes", *COEFFICIENTS)
    await calculator.reset()
    return calculator


@cocotb.test()
async def the_result_comes_18_clocks_and_the_shift_later_and_stands(dut):
    calculator = await started(dut)
    for name, clocks in (("dsss_long", 18), ("ofdm_20mhz", 20), ("ofdm_10mhz", 21)):
        right = airtime_us(PROFILES[name], 1, 1500)
        assert await computed(calculator, 1500, airtime_coefficients(PROFILES[name], 1)) == (right, clocks)
        await calculator.clock()
        assert (calculator.done, calculator.airtime_us) == (0, right)


@cocotb.test()
async def a_start_while_busy_begins_anew(dut):
    calculator = await started(dut)
    for clocks in range(19):
        coefficients = airtime_coefficients(PROFILES["dsss_long"], 0)
        await calculator.clock(start=1, bytes=4000, **dict(zip(COEFFICIENTS, astuple(coefficients), strict=True)))
        for _ in range(clocks):
            await calculator.clock()
        right = airtime_us(PROFILES["ofdm_20mhz"], 3, 777)
        assert await computed(calculator, 777, airtime_coefficients(PROFILES["ofdm_20mhz"], 3)) == (right, 20)


@cocotb.test()
async def senseless_coefficients_give_the_longest_airtime_and_no_standstill(dut):
    calculator = await started(dut)
    assert (await computed(calculator, 0, AirtimeCoefficients(0, 0, 0, 0)))[0] == 0xFFFF
    assert (await computed(calculator, 4095, AirtimeCoefficients(0, 1, 0, 63)))[0] == 0xFFFF
    assert (await computed(calculator, 4095, AirtimeCoefficients(0, 2, 7, 0)))[0] == 0xFFFF
    assert (await computed(calculator, 4095, AirtimeCoefficients(15, 1, 0, 0)))[0] == 16 * 4095 + 15
    assert (await computed(calculator, 4095, AirtimeCoefficients(16, 1, 0, 0)))[0] == 0xFFFF
    assert (await computed(calculator, 0, AirtimeCoefficients(1023, 511, 7, 0)))[0] == 1023


@cocotb.test()
async def any_coefficients_follow_the_formula(dut):
    calculator = await started(dut)
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    for _ in range(300):
        bytes_ = source.choice((source.getrandbits(12), source.getrandbits(6)))
        coefficients = AirtimeCoefficients(*(source.randrange(1 << width) for width in WIDTHS.values()))
        if coefficients.half_bits_per_unit == 0:
            continue
        units = -(-(16 * bytes_ + coefficients.overhead_half_bits) // coefficients.half_bits_per_unit)
        right = min(coefficients.base_us + (units << coefficients.unit_shift), 0xFFFF)
        assert (await computed(calculator, bytes_, coefficients))[0] == right, (bytes_, coefficients)


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_airtime_calculator(name):
    in_bench = name in BENCH_TESTS
    together = [test for test in cocotb_tests(globals()) if (test in BENCH_TESTS) == in_bench]
    simulate("airtime_bench" if in_bench else "airtime_calculator", __file__, name, together)
