# SPDX-License-Identifier: GPL-2.0-or-later
"""acquisition: locks where and when the model does: on a peak that stays, not on noise, not on one that wanders."""

import cocotb
import numpy as np
import pytest
from perhop.phy.receiver import SYMBOL_SAMPLES, Receiver
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


class Levels:
    """What the model's search reads: levels instead of samples."""

    def __init__(self, levels: np.ndarray) -> None:
        self._levels = levels
        self.samples = len(levels)

    def levels(self, start: int, end: int) -> np.ndarray:
        return self._levels[start:end]


async def lock_of(dut, levels: np.ndarray) -> tuple[int, int] | None:
    """Last sample of the symbol that decided, and the place."""
    unit = Clocked(dut, "rst", "sample_valid", "level", "searching", "place")
    await unit.reset()
    unit.hold(searching=1)
    for at, level in enumerate(levels.tolist()):
        await unit.set(sample_valid=1, level=level, place=at % SYMBOL_SAMPLES)
        if unit.lock:
            return at - 1, unit.lock_place
        await unit.clock()
        await unit.set(sample_valid=0)
        assert not unit.lock
        await unit.clock()
    return None


def noise(random: np.random.Generator, symbols: int) -> np.ndarray:
    return np.abs(random.standard_normal((symbols * SYMBOL_SAMPLES, 2)) @ [30, 30j]).astype(np.int64)


@cocotb.test()
async def a_peak_that_stays_is_found_when_the_model_finds_it(dut):
    random = np.random.default_rng(SEED)
    for place, begin, height in ((0, 0, 300), (21, 3, 150), (7, 9, 1056), (2, 5, 90)):
        levels = noise(random, 30)
        levels[begin * SYMBOL_SAMPLES + place :: SYMBOL_SAMPLES] += height
        found = await lock_of(dut, levels)
        assert found is not None and found[1] == place
        assert found == Receiver()._search(Levels(levels), 0)


@cocotb.test()
async def noise_and_wandering_peaks_are_no_signal(dut):
    random = np.random.default_rng(SEED)
    levels = noise(random, 30)
    assert await lock_of(dut, levels) is None
    for symbol in range(30):
        levels[symbol * SYMBOL_SAMPLES + 3 * symbol % SYMBOL_SAMPLES] = 1000
    assert await lock_of(dut, levels) is None and Receiver()._search(Levels(levels), 0) is None


@cocotb.test()
async def symbols_that_fade_in_the_average_are_no_signal(dut):
    """One to three symbols of a strong signal, the first of the search or later ones."""
    random = np.random.default_rng(SEED)
    for begin, symbols in ((0, 1), (0, 2), (0, 3), (6, 1), (9, 3)):
        levels = noise(random, 24)
        levels[begin * SYMBOL_SAMPLES + 7 : (begin + symbols) * SYMBOL_SAMPLES : SYMBOL_SAMPLES] += 1500
        assert await lock_of(dut, levels) is None and Receiver()._search(Levels(levels), 0) is None
    # Seven of them are one.
    levels = noise(random, 24)
    levels[7 : 7 * SYMBOL_SAMPLES : SYMBOL_SAMPLES] += 1500
    found = await lock_of(dut, levels)
    assert found is not None and found == Receiver()._search(Levels(levels), 0)


@cocotb.test()
async def a_symbol_that_noise_takes_half_of_does_not_begin_the_search_anew(dut):
    levels = np.full(12 * SYMBOL_SAMPLES, 20)
    levels[9::SYMBOL_SAMPLES] = 300
    levels[9 + 5 * SYMBOL_SAMPLES] = 120
    # Symbols 3, 4, 6 and 7 count.
    assert await lock_of(dut, levels) == (8 * SYMBOL_SAMPLES - 1, 9) == Receiver()._search(Levels(levels), 0)


@cocotb.test()
async def peaks_are_told_from_the_first_that_counts_to_the_first_that_is_missing(dut):
    """Of three that count, one fewer than a lock needs; and never in noise."""
    random = np.random.default_rng(SEED)
    levels = noise(random, 12)
    levels[7 : 6 * SYMBOL_SAMPLES : SYMBOL_SAMPLES] += 1500
    unit = Clocked(dut, "rst", "sample_valid", "level", "searching", "place")
    await unit.reset()
    unit.hold(searching=1, sample_valid=1)
    told = []
    for at, level in enumerate(levels.tolist()):
        await unit.clock(level=level, place=at % SYMBOL_SAMPLES)
        told.append(unit.peaks)
        assert not unit.lock
    assert [at for at, peaks in enumerate(told) if peaks] == list(range(4 * SYMBOL_SAMPLES, 7 * SYMBOL_SAMPLES))


@cocotb.test()
async def a_search_begins_anew_after_a_frame(dut):
    """What was averaged before does not count."""
    random = np.random.default_rng(SEED)
    levels = noise(random, 20)
    levels[5::SYMBOL_SAMPLES] += 500
    assert await lock_of(dut, levels) is not None
    unit = Clocked(dut, "rst", "sample_valid", "level", "searching", "place")
    await unit.clock(sample_valid=1, searching=0)
    assert not unit.lock
    assert await lock_of(dut, noise(random, 20)) is None


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_acquisition(name):
    simulate("acquisition", __file__, name, cocotb_tests(globals()))
