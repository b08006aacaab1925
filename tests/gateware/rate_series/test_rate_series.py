# SPDX-License-Identifier: GPL-2.0-or-later
"""rate_series: which of a packet's rates its next DATA frame has."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# Rate index, airtime, attempts of each entry.
SERIES = ((3, 1192, 2), (2, 2200, 1), (1, 6408, 3), (0, 12624, 0))


async def loaded(dut, series=SERIES) -> Clocked:
    rates = Clocked(dut, "head_taken", "data_failed")
    await rates.reset()
    filled = (*series, *((0, 0, 0),) * (4 - len(series)))
    await rates.clock(
        head_taken=1,
        head_rate=filled[0][0],
        head_airtime_us=filled[0][1],
        head_series_attempts=sum(attempts << 5 * i for i, (_, _, attempts) in enumerate(filled)),
        head_series_rate=sum(rate << 3 * i for i, (rate, _, _) in enumerate(filled[1:])),
        head_series_airtime_us=sum(airtime_us << 16 * i for i, (_, airtime_us, _) in enumerate(filled[1:])),
    )
    return rates


async def used(rates: Clocked, failures: int) -> list[tuple[int, int]]:
    """(rate, airtime) of the first DATA frame, and of each after a failure."""
    found = []
    for failed in range(failures + 1):
        if failed:
            await rates.clock(data_failed=1)
        await rates.clock()
        await rates.clock()
        found.append((int(rates.rate), int(rates.airtime_us)))
    return found


def expected(series, failures: int) -> list[tuple[int, int]]:
    """Each rate as often as it may; the last one from then on, and one without a limit for ever."""
    found = []
    for index, (rate, airtime_us, attempts) in enumerate(series):
        last = index == len(series) - 1 or attempts == 0
        found += [(rate, airtime_us)] * (failures + 1 if last else attempts)
    return found[: failures + 1]


@cocotb.test()
async def a_rate_goes_as_often_as_it_may_and_then_the_next(dut):
    assert await used(await loaded(dut), 9) == expected(SERIES, 9)


@cocotb.test()
@cocotb.parametrize(entries=[1, 2, 3])
async def the_last_entry_stays(dut, entries):
    series = SERIES[:entries]
    assert await used(await loaded(dut, series), 8) == expected(series, 8)


@cocotb.test()
async def a_rate_without_a_limit_stays(dut):
    series = ((3, 1192, 1), (2, 2200, 0), (1, 6408, 1))
    assert await used(await loaded(dut, series), 8) == expected(series, 8)


@cocotb.test()
async def another_packet_begins_with_its_first_rate(dut):
    rates = await loaded(dut)
    await used(rates, 5)
    await rates.clock(head_taken=1, head_rate=1, head_airtime_us=6408, head_series_attempts=1, head_series_airtime_us=0)
    assert await used(rates, 3) == [(1, 6408)] * 4


@cocotb.test()
async def one_rate_is_all_there_is(dut):
    assert await used(await loaded(dut), 5) == [SERIES[0][:2]] * 6


ONE = ["one_rate_is_all_there_is"]
FOUR = [name for name in cocotb_tests(globals()) if name not in ONE]


@pytest.mark.parametrize("queues", [1, 2])
@pytest.mark.parametrize("name", FOUR)
def test_rate_series(name, queues):
    simulate("rate_series", __file__, name, FOUR, {"RATE_SERIES": 4, "QUEUES": queues})


@pytest.mark.parametrize("name", ONE)
def test_rate_series_of_one_rate(name):
    simulate("rate_series", __file__, name, ONE, {"RATE_SERIES": 1})
