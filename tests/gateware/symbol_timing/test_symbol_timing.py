# SPDX-License-Identifier: GPL-2.0-or-later
"""symbol_timing: prompt samples where the lock says, 21 to 23 samples a symbol as the peak moves, the carrier's end."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


INPUTS = ("rst", "sample_valid", "in_i", "in_q", "level", "lock", "lock_place", "finish")


class Timing(Clocked):
    """Samples whose correlation is their number, and whose level stands in a list of 22 or follows a peak."""

    def __init__(self, dut) -> None:
        super().__init__(dut, *INPUTS)
        self.at = 0
        self.prompts: list[int] = []
        self.befores: list[int | None] = []

    async def sample(self, level: int, **inputs: int) -> None:
        await self.set(sample_valid=1, level=level, in_i=self.at % 1024, in_q=0, **inputs)
        await self.clock()
        if self.symbol:
            self.prompts.append(self.at - 1)
            assert self.now_i == (self.at - 1) % 1024
            self.befores.append(None if self.symbol_first else self.before_i)
        await self.set(sample_valid=0, lock=0)
        await self.clock()
        assert not self.symbol
        self.at += 1

    async def lock(self, place: int) -> None:
        """One symbol of search, then the lock with the next one's first sample."""
        for _ in range(22):
            assert self.searching
            await self.sample(10)
        await self.sample(10, lock=1, lock_place=place)
        assert self.tracking


@cocotb.test()
async def the_first_symbol_is_the_first_whole_one_at_any_place(dut):
    for place in range(22):
        timing = Timing(dut)
        await timing.reset()
        await timing.lock(place)
        begin = timing.at - 1
        for _ in range(70):
            await timing.sample(10)
        first = timing.prompts[0]
        assert first % 22 == place and begin + 2 <= first <= begin + 23
        assert [later - first for later in timing.prompts] == [22 * number for number in range(len(timing.prompts))]
        assert timing.befores == [None, *timing.prompts[:-1]]


@cocotb.test()
@cocotb.parametrize(drift=[-1, 1])
async def the_prompt_sample_follows_a_peak_that_moves(dut, drift: int):
    """A sample in 30 symbols: 1500 ppm."""
    timing = Timing(dut)
    await timing.reset()
    await timing.lock(9)
    peak, period = 22 + 9.0, 22 + drift / 30
    for _ in range(22 * 150):
        while timing.at - peak > period / 2:
            peak += period
        await timing.sample(max(300 - int(100 * abs(timing.at - peak)), 20))
    lengths = [later - before for before, later in zip(timing.prompts, timing.prompts[1:], strict=False)]
    assert set(lengths) == {22, 22 + drift}
    assert sum(length != 22 for length in lengths) == pytest.approx(150 / 30, abs=2)
    # The one before is always 22 samples away, so that the carrier's turn is that of a symbol.
    assert all(
        before == (prompt - 22) % 1024 for before, prompt in zip(timing.befores[1:], timing.prompts[1:], strict=True)
    )


@cocotb.test()
@cocotb.parametrize(peak=[300, 1000, 10])
async def without_a_peak_the_carrier_is_lost_and_the_timing_stands(dut, peak: int):
    """As soon whether the peak was the strongest of all or weaker than what comes behind it."""
    timing = Timing(dut)
    await timing.reset()
    await timing.lock(4)
    for _ in range(22 * 20):
        await timing.sample(peak if timing.at % 22 == 4 else peak // 10)
        assert not timing.carrier_lost and timing.carrier == 7
    begin = timing.at
    while not timing.carrier_lost:
        await timing.sample(100)
    # Two symbols' trust a symbol, which is judged when the next one begins.
    assert timing.at - begin <= 22 * 6
    for _ in range(22 * 30):
        await timing.sample(100)
    assert timing.carrier_lost
    known = len(timing.prompts)
    for _ in range(22 * 10):
        await timing.sample(200 if timing.at % 22 == 5 else 100)
    assert all(prompt % 22 == timing.prompts[known - 1] % 22 for prompt in timing.prompts[known:])


@cocotb.test()
async def trust_in_the_carrier_goes_twice_as_fast_as_it_comes(dut):
    """A peak counts against its own symbol's sum: 1/8, 1/12, 1/16 of it; lost from 0 until it is 7 again."""
    timing = Timing(dut)
    await timing.reset()
    await timing.lock(4)

    async def symbol(peak: int) -> tuple[int, int]:
        """Another one whose other 21 levels are 100; then what is said of it."""
        while True:
            await timing.sample(peak if timing.at % 22 == 4 else 100)
            if timing.at % 22 == 4:
                return timing.carrier, timing.carrier_lost

    assert [await symbol(400) for _ in range(3)][-1] == (7, 0)
    # 8 * 300 = 2400 = 300 + 2100; 12 * 190 < 190 + 2100 < 12 * 191; 16 * 140 = 2240 = 140 + 2100.
    assert [await symbol(peak) for peak in (300, 301, 191, 190)] == [(7, 0), (7, 0), (7, 0), (6, 0)]
    assert [await symbol(peak) for peak in (141, 140, 301)] == [(5, 0), (3, 0), (4, 0)]
    assert [await symbol(peak) for peak in (100, 100, 400, 100)] == [(2, 0), (0, 1), (1, 1), (0, 1)]
    assert [await symbol(400) for _ in range(8)] == [(trust, trust < 7) for trust in (1, 2, 3, 4, 5, 6, 7, 7)]


@cocotb.test()
async def a_frame_that_is_finished_ends_with_its_symbol(dut):
    timing = Timing(dut)
    await timing.reset()
    await timing.lock(4)
    while len(timing.prompts) < 3:
        await timing.sample(10)
    timing.hold(finish=1)
    for _ in range(18):
        await timing.sample(10)
        assert timing.tracking
    await timing.sample(10)
    assert timing.searching and not timing.tracking and timing.place == 0


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_symbol_timing(name):
    simulate("symbol_timing", __file__, name, cocotb_tests(globals()))
