# SPDX-License-Identifier: GPL-2.0-or-later
"""barker_spreader: chips of symbols as signs, their places, and where the amplitude rises and falls."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_transmitter's tests run all of it, and sooner.
pytestmark = pytest.mark.long

CODE = "+-++-+++---"
DIAGONALS = {0: (1, 1), 1: (0, 1), 2: (0, 0), 3: (1, 0)}
SAMPLES_PER_CHIP, RAMP, PULSE_CHIPS = 2, 16, 6


@cocotb.test()
async def symbols_become_chips_and_the_last_goes_on_while_the_amplitude_falls(dut):
    spreader = Clocked(dut, "rst", "sample_take", "symbol_valid", "symbol_quadrant", cfg_ramp_log2_samples=4)
    await spreader.reset()
    symbols = [0, 2, 1, 3, 3]
    waiting = list(symbols)
    signs, places, rises, falls = [], [], [], []
    for _ in range(3):
        await spreader.clock(sample_take=1)
        assert not spreader.sending and spreader.plus_i == spreader.plus_q == 0x3F
    # Until a sample is taken nothing moves.
    await spreader.set(symbol_valid=1, symbol_quadrant=waiting[0])
    await spreader.clock()
    assert not spreader.sending and not spreader.symbol_take
    while True:
        await spreader.set(symbol_valid=bool(waiting), symbol_quadrant=waiting[0] if waiting else 0, sample_take=1)
        taken = spreader.symbol_take
        await spreader.clock()
        if taken:
            waiting.pop(0)
        if not spreader.sending:
            break
        signs.append((spreader.plus_i & 1, spreader.plus_q & 1))
        places.append(spreader.place)
        rises.append(spreader.rise)
        falls.append(spreader.fall)
        for _ in range(2):
            spreader.hold(sample_take=0)
            await spreader.clock()
            assert (spreader.place, spreader.rise, spreader.fall) == (places[-1], rises[-1], falls[-1])
    frame = len(symbols) * 11 * SAMPLES_PER_CHIP
    falls_at = frame + (PULSE_CHIPS // 2 + 1) * SAMPLES_PER_CHIP
    assert len(signs) == falls_at + RAMP
    longer = [*symbols, symbols[-1], symbols[-1]]
    chips = [DIAGONALS[quadrant if chip == "+" else quadrant ^ 2] for quadrant in longer for chip in CODE]
    assert signs == [chips[sample // SAMPLES_PER_CHIP] for sample in range(len(signs))]
    assert places == [sample % SAMPLES_PER_CHIP for sample in range(len(signs))]
    assert rises == [int(sample < RAMP) for sample in range(len(signs))]
    assert falls == [int(sample >= falls_at) for sample in range(len(signs))]


@cocotb.test()
async def the_history_holds_the_last_six_chips(dut):
    spreader = Clocked(dut, "rst", "sample_take", "symbol_valid", "symbol_quadrant", cfg_ramp_log2_samples=4)
    await spreader.reset()
    history = [1] * PULSE_CHIPS
    spreader.hold(symbol_valid=1, sample_take=1)
    await spreader.clock(sample_take=1)
    spreader.hold(sample_take=1)
    for sample in range(44):
        if sample % SAMPLES_PER_CHIP == 0:
            history = [int(CODE[sample // 2 % 11] == "+"), *history[:-1]]
        assert spreader.plus_q == spreader.plus_i == sum(sign << age for age, sign in enumerate(history))
        await spreader.clock()


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_barker_spreader(name):
    simulate("barker_spreader", __file__, name, cocotb_tests(globals()))
