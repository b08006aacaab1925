# SPDX-License-Identifier: GPL-2.0-or-later
"""ad936x_gain: the chip, which counts pulses, has the gain that was asked for."""

import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

PULSE_DB, PULSE_CLOCKS = 6, 4
SEED = 1


class Chip:
    """An AD936x in manual gain by pins: a rise of a pin that was low, and stays high, for long enough is a step."""

    def __init__(self) -> None:
        self.below_db = 0
        self._high = {"more": 0, "less": 0}
        self._low = {"more": PULSE_CLOCKS, "less": PULSE_CLOCKS}

    def clock(self, pins: dict[str, int]) -> None:
        assert not (pins["more"] and pins["less"])
        for pin, level in pins.items():
            if level:
                self._high[pin] += 1
                if self._high[pin] == 1:
                    assert self._low[pin] >= PULSE_CLOCKS, "the pin was not low for long enough"
                    self.below_db += PULSE_DB if pin == "less" else -PULSE_DB
                self._low[pin] = 0
            else:
                assert self._high[pin] in (0, PULSE_CLOCKS), "the pin was not high for as long as it must"
                self._high[pin] = 0
                self._low[pin] += 1
        assert self.below_db >= 0


async def run(unit: Clocked, chip: Chip, clocks: int) -> None:
    for _ in range(clocks):
        await unit.clock()
        chip.clock({"more": unit.more, "less": unit.less})


@cocotb.test()
async def a_step_of_12_db_is_two_pulses(dut):
    """A timeline in clocks: less is high 4, low 4, high 4; 16 later the chip has what was asked for."""
    unit, chip = Clocked(dut, "rst", "below_db"), Chip()
    await unit.reset()
    unit.hold(below_db=12)
    pins = []
    for _ in range(20):
        await unit.clock()
        pins.append(unit.less)
        chip.clock({"more": unit.more, "less": unit.less})
    assert pins == [1] * 4 + [0] * 4 + [1] * 4 + [0] * 8
    assert chip.below_db == 12
    unit.hold(below_db=0)
    await run(unit, chip, 16)
    assert chip.below_db == 0


@cocotb.test()
async def the_chip_follows_whatever_is_asked_for(dut):
    source = random.Random(SEED)
    unit, chip = Clocked(dut, "rst", "below_db"), Chip()
    await unit.reset()
    for _ in range(60):
        wanted = source.randrange(0, 77)
        unit.hold(below_db=wanted)
        # Another is asked for before this one is there, at times.
        await run(unit, chip, source.choice((3, 11, 30)))
        unit.hold(below_db=wanted)
        await run(unit, chip, 8 * (127 // PULSE_DB + 2))
        assert wanted - PULSE_DB < chip.below_db <= wanted, f"seed {SEED}"


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_ad936x_gain(name):
    simulate("ad936x_gain", __file__, name, cocotb_tests(globals()))
