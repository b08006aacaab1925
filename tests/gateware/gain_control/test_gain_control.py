# SPDX-License-Identifier: GPL-2.0-or-later
"""gain_control: when the front end's gain goes down and up again, and when it stands."""

import random
from dataclasses import dataclass

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

STEP_DB, LOOK_SAMPLES = 12, 16
LOUD, HEARD = 28672, 4096
"""Seven eighths of the converter's range, and an eighth."""
SEED = 1


@dataclass
class Model:
    """What the module's header says, a sample at a time."""

    range_steps: int
    settle_looks: int
    below_db: int = 0
    settling: int = 0
    samples: int = 0
    loud: int = 0
    heard: bool = False

    def _step(self, db: int) -> None:
        self.below_db = min(max(self.below_db + db, 0), STEP_DB * self.range_steps)
        self.settling = LOOK_SAMPLES * self.settle_looks
        self._look()

    def _look(self) -> None:
        self.samples, self.loud, self.heard = 0, 0, False

    def sample(self, i: int, q: int, hold: bool) -> None:
        if hold:
            self._look()
        if self.settling:
            self.settling -= 1
            return
        if hold:
            return
        # A negative number has one more of size than its complement.
        size = max(value if value >= 0 else -1 - value for value in (i, q))
        self.samples += 1
        self.loud += size >= LOUD
        self.heard |= size >= HEARD
        if size >= LOUD and self.loud > 1 and self.below_db < STEP_DB * self.range_steps:
            self._step(STEP_DB)
        elif self.samples == LOOK_SAMPLES:
            if not self.heard and self.below_db:
                self._step(-STEP_DB)
            else:
                self._look()


class Unit(Clocked):
    """The module, samples at every third clock."""

    def __init__(self, dut, range_steps: int, settle_looks: int) -> None:
        super().__init__(dut, "rst", "sample_valid", "in_i", "in_q", "hold")
        self.hold(cfg_range_steps=range_steps, cfg_settle_looks=settle_looks)

    async def sample(self, i: int, q: int = 0, hold: bool = False) -> None:
        await self.clock(sample_valid=1, in_i=i & 0xFFFF, in_q=q & 0xFFFF, hold=hold)
        await self.clock(in_i=0x7FFF, hold=hold)
        await self.clock(in_q=0x8000, hold=hold)


@cocotb.test()
async def a_strong_signal_takes_the_gain_down_step_by_step(dut):
    """A timeline in samples, at a settle time of two looks:

    LOUD LOUD | settling 32 | LOUD LOUD | settling 32 | LOUD LOUD | at its least
    """
    unit = Unit(dut, range_steps=3, settle_looks=2)
    await unit.reset()
    for below_db in (12, 24, 36):
        await unit.sample(LOUD)
        before = unit.below_db
        await unit.sample(0, -LOUD - 1)
        assert unit.below_db == below_db > before
        for left in range(2 * LOOK_SAMPLES, 0, -1):
            assert unit.settling, left
            await unit.sample(32767, -32768)
            assert unit.below_db == below_db
        assert not unit.settling
    for _ in range(3 * LOOK_SAMPLES):
        await unit.sample(32767, 32767)
        assert unit.below_db == 36 and not unit.settling


@cocotb.test()
async def one_loud_sample_in_a_look_is_a_spike(dut):
    unit = Unit(dut, range_steps=5, settle_looks=1)
    await unit.reset()
    for _ in range(4):
        for at in range(LOOK_SAMPLES):
            await unit.sample(32767 if at == 3 else LOUD - 1)
            assert unit.below_db == 0


@cocotb.test()
async def the_gain_comes_back_when_nothing_is_near_the_range(dut):
    unit = Unit(dut, range_steps=2, settle_looks=1)
    await unit.reset()
    for _ in range(2):
        await unit.sample(LOUD)
        await unit.sample(LOUD)
        for _ in range(LOOK_SAMPLES):
            await unit.sample(0)
    assert unit.below_db == 24
    # One sample of a look at an eighth of the range: a step up could send it beyond seven eighths.
    for _ in range(2):
        for at in range(LOOK_SAMPLES):
            await unit.sample(0, HEARD if at == LOOK_SAMPLES - 1 else 0)
        assert unit.below_db == 24
    for below_db in (12, 0):
        for _ in range(LOOK_SAMPLES):
            assert unit.below_db > below_db
            await unit.sample(HEARD - 1, -HEARD)
        assert unit.below_db == below_db
        for _ in range(LOOK_SAMPLES):
            await unit.sample(0)
    for _ in range(2 * LOOK_SAMPLES):
        await unit.sample(0)
        assert unit.below_db == 0 and not unit.settling


@cocotb.test()
async def it_stands_while_a_signal_is_received_and_without_a_range(dut):
    unit = Unit(dut, range_steps=4, settle_looks=1)
    await unit.reset()
    for _ in range(2 * LOOK_SAMPLES):
        await unit.sample(32767, hold=True)
        assert unit.below_db == 0
    for _ in range(3):
        await unit.sample(32767)
    assert unit.below_db == 12
    for _ in range(3 * LOOK_SAMPLES):
        await unit.sample(0, hold=True)
        assert unit.below_db == 12
    unit.hold(cfg_range_steps=0)
    await unit.reset()
    for _ in range(LOOK_SAMPLES):
        assert unit.below_db == 0
        await unit.sample(32767)


@cocotb.test()
async def it_does_what_the_model_does(dut):
    """Bursts of any level, and of signals that are being received."""
    source = random.Random(SEED)
    for _ in range(20):
        range_steps, settle_looks = source.randrange(8), source.randint(1, 3)
        unit, model = Unit(dut, range_steps, settle_looks), Model(range_steps, settle_looks)
        await unit.reset()
        for _ in range(40):
            level = source.choice((100, HEARD, 12000, LOUD, 32767))
            held, rose = source.random() < 0.2, 0
            for _ in range(source.randrange(1, 40)):
                i, q = source.randint(-level - 1, level), source.randint(-level - 1, level)
                before = model.below_db
                await unit.clock(sample_valid=1, in_i=i & 0xFFFF, in_q=q & 0xFFFF, hold=held)
                model.sample(i, q, held)
                rose = unit.rose
                assert (unit.below_db, unit.settling, rose) == (
                    model.below_db,
                    model.settling > 0,
                    model.below_db < before,
                ), f"seed {SEED}"


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_gain_control(name):
    simulate("gain_control", __file__, name, cocotb_tests(globals()))
