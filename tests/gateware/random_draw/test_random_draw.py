# SPDX-License-Identifier: GPL-2.0-or-later
"""random_draw: xoroshiro64+, its seeds, and whether what it draws is evenly spread and unrelated between stations."""

import random
from itertools import pairwise

import cocotb
import pytest
from cocotbext.perhop.xoroshiro import Xoroshiro64Plus, splitmix64
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

STATIONS = 48
DRAWS = 200
CW = 31
# Of the standard normal distribution: 1 in 10**9 beyond. The numbers tested are fixed by their seeds.
FAR = 6.0


def station_seed(run: int, station: int) -> int:
    """A station's seed as the simulator sets it: spread from the run's and the station's numbers."""
    return splitmix64(splitmix64(run) ^ station)


async def seeded(dut, seed: int) -> Clocked:
    source = Clocked(dut, "cfg_seed", "cfg_seed_load", "step")
    await source.reset()
    await source.clock(cfg_seed=seed, cfg_seed_load=1)
    return source


async def draw(source: Clocked) -> int:
    value = source.value
    await source.clock(step=1)
    return value


async def slots_of(dut, seed: int, cw: int = CW, *, below_cw: bool = False) -> list[int]:
    """The first draws of a station, as contention_window makes them."""
    source = await seeded(dut, seed)
    drawn = []
    while len(drawn) < DRAWS:
        slots = await draw(source) & cw
        if not (below_cw and slots == cw):
            drawn.append(slots)
    return drawn


@cocotb.test()
async def the_numbers_are_those_of_the_published_generator(dut):
    seeds = [1, 1 << 32, (1 << 64) - 1, *(random.Random(1).getrandbits(64) for _ in range(10))]
    for seed in seeds:
        source, published = await seeded(dut, seed), Xoroshiro64Plus(seed)
        for _ in range(100):
            assert await draw(source) == published.next_word() >> 22


@cocotb.test()
async def it_stands_still_unless_it_is_stepped(dut):
    source = await seeded(dut, 12345678901234)
    before = source.value
    for _ in range(20):
        await source.clock()
        assert source.value == before


@cocotb.test()
async def the_seed_of_zero_does_not_lock_it(dut):
    source = await seeded(dut, 0)
    assert len({await draw(source) for _ in range(64)}) > 32


@cocotb.test()
@cocotb.parametrize(below_cw=[False, True])
async def every_slot_is_drawn_equally_often(dut, below_cw):
    """Chi-squared over all stations' draws, of the first draws alone, and of all."""
    slots = CW if below_cw else CW + 1
    for first in (4, DRAWS):
        counts = [0] * (CW + 1)
        for station in range(STATIONS):
            for value in (await slots_of(dut, station_seed(7, station), below_cw=below_cw))[:first]:
                counts[value] += 1
        assert sum(counts[slots:]) == 0
        expected = first * STATIONS / slots
        chi_squared = sum((count - expected) ** 2 / expected for count in counts[:slots])
        # Mean slots - 1, variance twice that.
        deviation = (chi_squared - (slots - 1)) / (2 * (slots - 1)) ** 0.5
        assert abs(deviation) < FAR, f"{counts}: {deviation:.1f} standard deviations"


@cocotb.test()
@cocotb.parametrize(below_cw=[False, True])
async def draws_of_different_stations_are_unrelated(dut, below_cw):
    """Neighbours in number, and the same station in the next run: equal slots at equal places come by chance only."""
    slots = CW if below_cw else CW + 1
    runs = [
        [await slots_of(dut, station_seed(run, station), below_cw=below_cw) for station in range(STATIONS)]
        for run in (1, 2)
    ]
    pairs = [(runs[0][station], runs[0][station + 1]) for station in range(STATIONS - 1)]
    pairs += [(runs[0][station], runs[1][station]) for station in range(STATIONS)]
    pairs += [(runs[0][station], runs[1][station + 1]) for station in range(STATIONS - 1)]
    for first in (1, 4, DRAWS):
        samples = first * len(pairs)
        equal = sum(one == other for left, right in pairs for one, other in list(zip(left, right, strict=True))[:first])
        mean, variance = samples / slots, samples / slots * (1 - 1 / slots)
        assert abs(equal - mean) < FAR * variance**0.5, f"{equal} of {samples} equal, by chance {mean:.0f}"
        # The product of what lies above and below the middle: its mean is 0 for unrelated draws.
        middle = (slots - 1) / 2
        products = [
            (one - middle) * (other - middle)
            for left, right in pairs
            for one, other in list(zip(left, right, strict=True))[:first]
        ]
        spread = (slots**2 - 1) / 12
        correlation = sum(products) / samples / spread
        assert abs(correlation) < FAR / samples**0.5, f"correlation {correlation:.3f} of the first {first} draws"


@cocotb.test()
async def successive_draws_of_a_station_are_unrelated(dut):
    products = []
    for station in range(STATIONS):
        drawn = [slots - CW / 2 for slots in await slots_of(dut, station_seed(3, station))]
        products += [one * other for one, other in pairwise(drawn)]
    correlation = sum(products) / len(products) / (((CW + 1) ** 2 - 1) / 12)
    assert abs(correlation) < FAR / len(products) ** 0.5


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_random_draw(name):
    simulate("random_draw", __file__, name, cocotb_tests(globals()))
