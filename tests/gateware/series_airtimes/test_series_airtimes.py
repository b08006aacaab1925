# SPDX-License-Identifier: GPL-2.0-or-later
"""series_airtimes: every rate of a packet's series has its airtime before the MAC is told of the packet."""

import random

import cocotb
import pytest
from perhop.registers.spec_generated import PROFILES, airtime_coefficients, airtime_us
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

RATES = 8
# An entry takes 18 clocks, up to 7 more for its unit, and two of handing over.
CLOCKS_AN_ENTRY = 27


class Series(Clocked):
    """The airtimes of a profile, and packets that wait for them."""

    def __init__(self, dut, profile: str) -> None:
        self.timing = PROFILES[profile]
        for rate in range(RATES):
            coefficients = airtime_coefficients(self.timing, min(rate, len(self.timing.rates) - 1))
            for name in ("base_us", "half_bits_per_unit", "unit_shift", "overhead_half_bits"):
                getattr(dut, f"cfg_airtime_{name}")[rate].value = getattr(coefficients, name)
        super().__init__(dut, "valid", "bytes", "rate", "series_attempts", "series_rate", "taken")

    def airtime_us_of(self, rate: int, size_bytes: int) -> int:
        return airtime_us(self.timing, min(rate, len(self.timing.rates) - 1), size_bytes)

    async def gives(self, size_bytes: int, rates: list[int], attempts: list[int]) -> tuple[int, list[int]]:
        """The airtimes that come of four rates and their attempts; they stand until the packet is taken."""
        await self.set(
            valid=1, bytes=size_bytes, rate=rates[0],
            series_rate=sum(rate << 3 * number for number, rate in enumerate(rates[1:])),
            series_attempts=sum(count << 5 * number for number, count in enumerate(attempts)),
        )  # fmt: skip
        for _ in range(4 * CLOCKS_AN_ENTRY):
            if self.ready:
                break
            await self.clock()
        assert self.ready
        for _ in range(3):
            await self.clock()
            assert self.ready
        word = int(self.dut.series_airtime_us.value)
        found = (int(self.dut.airtime_us.value), [word >> 16 * number & 0xFFFF for number in range(3)])
        await self.clock(taken=1)
        await self.set(valid=0)
        assert not self.ready
        return found


@cocotb.test()
@cocotb.parametrize(profile=["dsss_long", "ofdm_20mhz"])
async def each_entry_of_a_series_has_the_airtime_of_its_rate(dut, profile):
    """A series ends with its first entry without attempts; what is behind has airtime 0, whatever was there before."""
    series = Series(dut, profile)
    await series.reset()
    source = random.Random(1)
    known = len(series.timing.rates)
    lengths = set()
    for _ in range(60):
        size_bytes = source.randrange(28, 2346)
        rates = [source.randrange(known) for _ in range(4)]
        attempts = [source.choice((0, 1, 2, 31)) for _ in range(4)]
        first, later = await series.gives(size_bytes, rates, attempts)
        entries = next((number for number, count in enumerate(attempts) if count == 0), 4)
        lengths.add(max(entries, 1))
        wanted = [series.airtime_us_of(rate, size_bytes) for rate in rates[:entries]]
        assert first == series.airtime_us_of(rates[0], size_bytes)
        assert later == [*wanted[1:], 0, 0, 0][:3]
    assert lengths == {1, 2, 3, 4}


@cocotb.test()
async def without_series_only_the_first_rate_counts(dut):
    series = Series(dut, "dsss_long")
    await series.reset()
    for size_bytes in (28, 1000, 2346):
        found = await series.gives(size_bytes, [1, 2, 3, 0], [1, 1, 1, 1])
        assert found == (series.airtime_us_of(1, size_bytes), [0, 0, 0])


ONE = [name for name in cocotb_tests(globals()) if name.startswith("without")]


@pytest.mark.parametrize("name", [name for name in cocotb_tests(globals()) if name not in ONE])
def test_series_airtimes(name):
    simulate("series_airtimes", __file__, name, parameters={"RATE_SERIES": 4})


@pytest.mark.parametrize("name", ONE)
def test_airtime_of_one_rate(name):
    simulate("series_airtimes", __file__, name)
