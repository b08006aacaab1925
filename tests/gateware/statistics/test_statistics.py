# SPDX-License-Identifier: GPL-2.0-or-later
"""statistics: counters in a memory that lose no strobe, whatever readers and other counters do.

Timelines are in clocks.
"""

import os
import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = int(os.environ.get("PERHOP_SEED", "17"))
SIZES = (2, 17, 32)
# As the module says: a strobe may come again after 6 COUNTERS clocks.
APART = 6


class Counters(Clocked):
    """Clocked, with the number of counters of the build."""

    def __init__(self, dut) -> None:
        super().__init__(dut, "strobes", "clear", "clear_index", "hold", "read_index")
        self.counters = len(dut.strobes)

    async def read(self, index: int) -> int:
        """A count as a reader sees it who comes once all strobes have had their turn."""
        for _ in range(2 * self.counters):
            await self.clock()
        return await self.read_now(index)

    async def read_now(self, index: int) -> int:
        await self.clock(hold=1, read_index=index)
        await self.clock(hold=1, read_index=index)
        return Clocked.__getattr__(self, "count")


async def started(dut) -> Counters:
    counters = Counters(dut)
    await counters.reset()
    for index in range(counters.counters):
        await counters.clock(clear=1, clear_index=index)
    return counters


@cocotb.test()
async def a_strobe_counts_once_when_its_turn_comes(dut):
    """Of counter 1, whose turn comes a clock after counter 0's.

    clock     0         1         2         3
    turn      0         1         1         2, or 0 again
    strobe    1
    adds                reads     writes
    count               0                   1
    """  # fmt: skip
    counters = await started(dut)
    await counters.clock(strobes=0b10)
    await counters.clock()
    await counters.clock()
    assert await counters.read_now(1) == 1
    assert await counters.read(0) == 0
    assert await counters.read(1) == 1


@cocotb.test()
async def the_first_counter_counts_every_clock(dut):
    """clock     0        1        2     ...      99
       strobe    0        0        0              0
       reader    x                 x     now and then
    """  # fmt: skip
    counters = await started(dut)
    for clock in range(100):
        await counters.clock(strobes=1, hold=int(clock % 6 < 4))
    assert await counters.read(0) == 100


@cocotb.test()
async def nothing_is_counted_during_reset_and_while_counters_are_cleared(dut):
    """clock     0      1      2      3      4
       strobe    1             1      1
       rst                     x
       clear                          counter 1
       counted   lost          lost   lost
    """  # fmt: skip
    counters = await started(dut)
    await counters.clock(strobes=2)
    assert await counters.read(1) == 1
    await counters.clock(strobes=2)
    await counters.clock(strobes=2, rst=1)
    await counters.clock(strobes=2, clear=1, clear_index=1)
    assert await counters.read(1) == 0


@cocotb.test()
@cocotb.parametrize(part=list(range(3)))
async def no_strobe_is_lost(dut, part):
    """Random strobes, each as dense as allowed; a reader that stands up to four clocks of every six."""
    print(f"PERHOP_SEED={SEED}")
    source = random.Random(f"{SEED} {part}")
    counters = await started(dut)
    number = counters.counters
    model, next_clock = [0] * number, [0] * number
    dense = source.choice((0.02, 0.3, 1.0))
    clock = 0
    while clock < 6000:
        strobes = 0
        for index in range(number):
            if clock >= next_clock[index] and source.random() < dense:
                strobes |= 1 << index
                model[index] += 1
                next_clock[index] = clock + (1 if index == 0 else APART * number)
        await counters.clock(
            strobes=strobes, hold=int(clock % 6 < 4 and source.random() < 0.9), read_index=source.randrange(number)
        )
        clock += 1
    for _ in range(APART * number):
        await counters.clock()
    assert [await counters.read(index) for index in range(number)] == model
    assert all(model)


@cocotb.test()
async def a_count_wraps(dut):
    counters = await started(dut)
    dut.u_counts.memory_q[1].value = 0xFFFF_FFFF
    await counters.clock(strobes=2)
    assert await counters.read(1) == 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_statistics(name, size):
    simulate("statistics", __file__, name, cocotb_tests(globals()), {"COUNTERS": size})
