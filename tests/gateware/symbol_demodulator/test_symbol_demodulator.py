# SPDX-License-Identifier: GPL-2.0-or-later
"""symbol_demodulator: turns, rotation and bits of any correlations are the model's."""

import cocotb
import numpy as np
import pytest
from perhop.phy.receiver import _Track
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_receiver's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


INPUTS = ("rst", "symbol", "symbol_first", "now_i", "now_q", "before_i", "before_q", "in_sync", "two_bits")


class Model(_Track):
    """The model's demodulation alone."""

    def __init__(self) -> None:
        self._previous = None
        self._rotation = (0, 0)
        self._parser = self

    def of(self, now: complex, in_sync: bool, two_bits: bool) -> tuple[tuple[int, ...], tuple, tuple]:
        self.in_sync, self.two_bits = in_sync, two_bits
        bits = self._demodulate(np.array([[0, 0], [int(now.real), int(now.imag)], [0, 0]]), 0)
        return bits, *self._last


@cocotb.test()
@cocotb.parametrize(in_sync=[0, 1], two_bits=[0, 1])
async def bits_and_rotation_are_those_of_the_model(dut, in_sync: int, two_bits: int):
    random = np.random.default_rng(SEED)
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    model, before, phase = Model(), 0j, 0.0
    unit.hold(in_sync=in_sync, two_bits=two_bits)
    for number in range(120):
        # A carrier that turns 40 degrees a symbol, data, noise; then the largest values that there are.
        phase += np.deg2rad(40) + np.pi / 2 * random.integers(4)
        now = np.round(300 * np.exp(1j * phase) + 60 * (random.standard_normal(2) @ [1, 1j]))
        if number > 100:
            now = complex(*random.choice([-704, 704], 2))
        for name, value in (("now", now), ("before", before)):
            getattr(dut, f"{name}_i").value, getattr(dut, f"{name}_q").value = int(value.real), int(value.imag)
        bits = []
        await unit.clock(symbol=1, symbol_first=number == 0)
        for _ in range(36):
            if unit.bit_valid:
                bits.append(unit.bit_data)
            if unit.symbol_done:
                break
            await unit.clock()
        else:
            raise AssertionError("not done within a symbol of two clocks a sample")
        expected, turn, rotation = model.of(now, bool(in_sync), bool(two_bits))
        assert tuple(bits) == expected
        if number:
            assert (dut.turn_i.value.to_signed(), dut.turn_q.value.to_signed()) == turn
            assert (dut.rotation_i.value.to_signed(), dut.rotation_q.value.to_signed()) == rotation
        before = now


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_symbol_demodulator(name):
    simulate("symbol_demodulator", __file__, name, cocotb_tests(globals()))
