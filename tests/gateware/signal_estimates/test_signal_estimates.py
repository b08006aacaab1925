# SPDX-License-Identifier: GPL-2.0-or-later
"""signal_estimates: RSSI averages, energy does not; the ratio follows the error beside the rotation."""

import cocotb
import pytest
from perhop.phy.receiver import ERROR_SHIFT, SNR_BASE_DB, decibels
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_phy's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


INPUTS = ("rst", "cfg_rssi_base_dbm", "block_sum", "block_done", "tracking", "symbol_done", "error_valid", "error_size")
INPUTS += ("rotation_i", "rotation_q", "below_db", "settling")


@cocotb.test()
async def rssi_takes_some_blocks_and_energy_one(dut):
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    unit.hold(cfg_rssi_base_dbm=-100 & 0x1FF)
    four_times_average = 0
    for block_sum in [1000] * 12 + [100000] * 3:
        unit.hold(block_sum=block_sum)
        await unit.clock(block_done=1)
        four_times_average += block_sum - (four_times_average >> 2)
        for _ in range(12):
            await unit.clock()
        assert dut.rssi_dbm.value.to_signed() == decibels(four_times_average >> 2) - 100
        assert dut.energy_dbm.value.to_signed() == decibels(block_sum) - 100
    # Beyond 8 bits it stays at their end.
    unit.hold(cfg_rssi_base_dbm=100, block_sum=(1 << 21) - 1)
    await unit.clock(block_done=1)
    for _ in range(12):
        await unit.clock()
    assert dut.energy_dbm.value.to_signed() == 127
    # A converter that is loud already at little power: below the ends of 8 bits, too, and beyond them at the lower one.
    for base_dbm, block_sum in ((-146, 2000), (-200, 20000), (-256, 20000)):
        unit.hold(cfg_rssi_base_dbm=base_dbm & 0x1FF, block_sum=block_sum)
        await unit.clock(block_done=1)
        for _ in range(12):
            await unit.clock()
        assert dut.energy_dbm.value.to_signed() == max(decibels(block_sum) + base_dbm, -128)


@cocotb.test()
async def levels_are_those_of_the_antenna_whatever_the_front_end_s_gain(dut):
    """A timeline in blocks: 20 of 8000 | 24 dB less gain, settling | 500, the same level | the gain comes back."""
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    unit.hold(cfg_rssi_base_dbm=-100 & 0x1FF, block_sum=8000)
    for _ in range(20):
        await unit.clock(block_done=1)
    for below_db, block_sum in ((24, 500), (0, 100)):
        average = 0
        # Before a block with the new gain is told, nothing has changed.
        told = dut.energy_dbm.value.to_signed()
        unit.hold(below_db=below_db)
        for _ in range(15):
            await unit.clock(settling=1)
            assert dut.energy_dbm.value.to_signed() == told
        unit.hold(block_sum=block_sum)
        for _ in range(20):
            await unit.clock(block_done=1)
            # The average begins anew: no block of another gain is in it.
            average += block_sum - (average >> 2)
            for _ in range(12):
                await unit.clock()
            assert dut.rssi_dbm.value.to_signed() == decibels(average >> 2) - 100 + below_db
        assert dut.energy_dbm.value.to_signed() == decibels(block_sum) - 100 + below_db


@cocotb.test()
async def the_ratio_is_that_of_rotation_and_averaged_error(dut):
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    unit.hold(tracking=1, rotation_i=8000, rotation_q=0)
    error = 0
    for number in range(60):
        size = 300 if number < 40 else 3000
        for part in (size, size // 2):
            await unit.clock(error_valid=1, error_size=part)
        error += size + size // 2 - (error >> ERROR_SHIFT)
        for _ in range(3):
            await unit.clock()
        await unit.clock(symbol_done=1)
        for _ in range(12):
            await unit.clock()
        assert dut.snr_db.value.to_signed() == min(decibels(8000 << ERROR_SHIFT) - decibels(error) + SNR_BASE_DB, 63)
    # The next frame begins from nothing.
    await unit.clock(tracking=0)
    await unit.clock(symbol_done=1)
    for _ in range(12):
        await unit.clock()
    assert dut.snr_db.value.to_signed() == 63


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_signal_estimates(name):
    simulate("signal_estimates", __file__, name, cocotb_tests(globals()))
