# SPDX-License-Identifier: GPL-2.0-or-later
"""clear_channel: energy, carrier, hold and a frame's end, each by itself."""

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

# dsss_phy's tests run all of it, and sooner.
pytestmark = pytest.mark.long

SEED = 1


INPUTS = ("rst", "deaf", "cfg_energy_threshold_dbm", "cfg_energy_detect", "cfg_carrier_sense", "sample_valid")
INPUTS += ("block_done", "energy_dbm", "tracking", "framing", "finish", "frame_end", "frame_lost", "frame_left_us")
INPUTS += ("search_again", "carrier", "peaks")
SYMBOL = 22


async def ready(dut, **settings: int) -> Clocked:
    unit = Clocked(dut, *INPUTS)
    await unit.reset()
    unit.hold(cfg_energy_threshold_dbm=-60 & 0xFF, cfg_energy_detect=1, cfg_carrier_sense=1)
    unit.hold(**settings)
    return unit


async def block(unit: Clocked, energy_dbm: int, **inputs: int) -> int:
    unit.hold(energy_dbm=energy_dbm & 0xFF)
    await unit.clock(block_done=1, **inputs)
    await unit.clock()
    await unit.clock()
    return unit.busy


@cocotb.test()
async def two_blocks_at_the_threshold_are_busy_one_is_not(dut):
    unit = await ready(dut)
    said = [await block(unit, energy) for energy in (-61, -60, -61, -60, -60, 5, -61, -60)]
    assert said == [0, 0, 0, 0, 1, 1, 0, 0]
    unit = await ready(dut, cfg_energy_detect=0)
    assert not any([await block(unit, 0) for _ in range(4)])


@cocotb.test()
async def a_frame_s_energy_does_not_outlive_it(dut):
    unit = await ready(dut)
    unit.hold(tracking=1)
    assert [await block(unit, -30) for _ in range(3)] == [1, 1, 1]
    await unit.clock(frame_end=1)
    unit.hold(finish=1)
    await unit.clock()
    assert not unit.busy
    unit.hold(tracking=0, finish=0)
    # Two blocks do not count; if the energy stays it is another's.
    assert [await block(unit, -30) for _ in range(4)] == [0, 0, 0, 1]


@cocotb.test()
async def a_signal_without_header_is_held_while_it_is_looked_for_again(dut):
    """The shorter the longer it has not been seen; not at all where it is gone."""
    for carrier, blocks in ((7, 10), (6, 8), (4, 4), (3, 2), (2, 0), (1, 0), (0, 0)):
        unit = await ready(dut)
        unit.hold(tracking=1)
        await unit.clock()
        assert unit.busy
        await unit.clock(search_again=1, carrier=carrier)
        unit.hold(tracking=0, carrier=0)
        await unit.clock()
        assert [await block(unit, -99) for _ in range(16)] == [1] * max(blocks - 1, 0) + [0] * (16 - max(blocks - 1, 0))
    unit = await ready(dut, cfg_carrier_sense=0, tracking=1)
    await unit.clock(search_again=1, carrier=7)
    assert not any([await block(unit, -99) for _ in range(4)])


@cocotb.test()
@cocotb.parametrize(found=[False, True])
async def the_medium_is_held_on_while_the_search_has_peaks(dut, found: bool):
    """Until there is none any more; or until one is tracked, and then for no longer than that."""
    unit = await ready(dut, tracking=1)
    await unit.clock(search_again=1, carrier=7)
    unit.hold(tracking=0)
    await unit.clock()
    assert all([await block(unit, -99, peaks=1) for _ in range(20)])
    if found:
        unit.hold(tracking=1)
        assert await block(unit, -99)
        await unit.clock(search_again=1, carrier=0)
        unit.hold(tracking=0)
        await unit.clock()
    else:
        await block(unit, -99)
    await unit.clock()
    assert not unit.busy


@cocotb.test()
async def a_frame_keeps_the_medium_busy_without_carrier_sense(dut):
    """From its SFD until nothing more is wanted of it; a preamble alone does not."""
    unit = await ready(dut, cfg_carrier_sense=0, cfg_energy_detect=0)
    said = []
    for levels in ({"tracking": 1}, {"framing": 1}, {"finish": 1}, {"tracking": 0, "framing": 0, "finish": 0}):
        unit.hold(**levels)
        await unit.clock()
        await unit.clock()
        said.append(unit.busy)
    assert said == [0, 1, 0, 0]


async def busy_for(unit: Clocked, most: int) -> int:
    """Samples, three clocks each, until the medium is free; `ends` comes with the clock before, and with no other."""
    for sample in range(most):
        for valid in (1, 0, 0):
            ends, was_busy = unit.ends, unit.busy
            await unit.clock(sample_valid=valid)
            assert unit.busy == (was_busy and not ends)
            if not unit.busy:
                return sample
    return most


@cocotb.test()
@cocotb.parametrize(carrier_sense=[0, 1], left_us=[1, 2, 40])
async def a_lost_frame_keeps_the_medium_busy_for_what_its_length_had_to_come(dut, carrier_sense: int, left_us: int):
    """To the sample, whatever the settings."""
    unit = await ready(dut, cfg_energy_detect=0, cfg_carrier_sense=carrier_sense, tracking=1, framing=1)
    await unit.clock()
    await unit.clock(frame_end=1, frame_lost=1, frame_left_us=left_us)
    unit.hold(finish=1)
    await unit.clock()
    unit.hold(tracking=0, framing=0, finish=0)
    assert await busy_for(unit, 1000) == SYMBOL * left_us - 1


@cocotb.test()
@cocotb.parametrize(left_us=[(40, 5), (5, 40), (20, 20)])
async def of_several_lost_frames_the_last_end_counts(dut, left_us: tuple[int, int]):
    unit = await ready(dut, cfg_energy_detect=0)
    await unit.clock(frame_end=1, frame_lost=1, frame_left_us=left_us[0])
    await unit.clock()
    passed = SYMBOL + 7
    assert await busy_for(unit, passed) == passed
    # A frame that ended with its LENGTH reserves nothing.
    await unit.clock(frame_end=1, frame_left_us=99)
    await unit.clock(frame_end=1, frame_lost=1, frame_left_us=left_us[1])
    await unit.clock()
    assert await busy_for(unit, 2000) == max(SYMBOL * left_us[0] - passed, SYMBOL * left_us[1]) - 1


@cocotb.test()
async def an_own_frame_does_not_shorten_what_is_reserved(dut):
    """While the station sends nothing is heard; behind it the medium is busy again, until the LENGTH is over."""
    unit = await ready(dut)
    await unit.clock(frame_end=1, frame_lost=1, frame_left_us=10)
    unit.hold(deaf=1)
    await unit.clock()
    await unit.clock()
    for _ in range(SYMBOL * 4):
        await unit.clock(sample_valid=1)
        assert not unit.busy
    unit.hold(deaf=0)
    await unit.clock()
    await unit.clock()
    assert unit.busy
    assert await busy_for(unit, 1000) == SYMBOL * 6 - 1


@cocotb.test()
async def the_energy_of_a_reservation_s_end_does_not_outlive_it(dut):
    unit = await ready(dut)
    await unit.clock(frame_end=1, frame_lost=1, frame_left_us=4)
    for _ in range(4):
        for sample in range(SYMBOL):
            unit.hold(energy_dbm=-30 & 0xFF)
            await unit.clock(sample_valid=1, block_done=sample == 10)
    await unit.clock()
    await unit.clock()
    assert not unit.busy
    # If the energy stays it is another's.
    assert [await block(unit, -30) for _ in range(4)] == [0, 0, 0, 1]


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_clear_channel(name):
    simulate("clear_channel", __file__, name, cocotb_tests(globals()))
