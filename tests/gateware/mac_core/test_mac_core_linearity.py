# SPDX-License-Identifier: GPL-2.0-or-later
"""Linearity of the time warp: a ticks, then b, leave each register as a + b ticks do, from any state reached.

The same inputs, in jumps as long as allowed and in any other portions; now and then both stop, and all registers are
compared. That of two runs the outputs agree says less: a register may be wrong for long before an output tells.
"""

import os
import random

import cocotb
import pytest
from cocotbext.perhop.exchange_bins import ObservedStation
from cocotbext.perhop.mac_core_driver import MacCoreDriver, Recorded, Split, every_tick, random_split, warp
from cocotbext.perhop.settings import MacSettings
from cocotbext.perhop.steered_air import RUN_US, SteeredAir, rehearse, steered_settings
from testbench.build import cocotb_tests, simulate

SEEDS = range(20_000, 20_006)
# Stops in a run: at random, so that most are in the middle of something.
STOPS = 40


def registers(handle, path: str = "") -> dict[str, object]:
    """Handles of every register below a module, by its name from there."""
    found: dict[str, object] = {}
    for child in handle:
        name = f"{path}{child._name}"
        if child._name.endswith("_q"):
            found[name] = child
        elif isinstance(child, cocotb.handle.HierarchyObject) or (
            isinstance(child, cocotb.handle.HierarchyArrayObject) and child._name.startswith("g_")
        ):
            found |= registers(child, f"{name}.")
    return found


async def states(
    driver: MacCoreDriver, settings: MacSettings, inputs: list, stops: list[int], split: Split
) -> list[dict[str, str]]:
    """What all registers hold at each stop."""
    await driver.reset(settings)
    surroundings = Recorded(inputs)
    found = []
    handles = registers(driver.dut)
    assert handles
    for stop_us in stops:
        await driver.run(surroundings, stop_us, split)
        found.append({name: str(handle.value) for name, handle in handles.items()})
    return found


@cocotb.test()
async def the_test_sees_the_registers(dut):
    names = registers(dut)
    for module in ("tsf_timer", "nav_counter", "own_transmission", "interframe_space", "responder", "random_draw"):
        assert any(f"u_{module}." in name for name in names), sorted(names)
    for module in ("frame_sequence", "backoff_counter", "service_time", "contention_window", "descriptor_queue"):
        assert any(f"u_{module}." in name for name in names), sorted(names)
    cocotb.log.info("%d registers: %s", len(names), " ".join(sorted(names)))
    assert len(names) > 90


@cocotb.test()
async def ticks_a_then_b_leave_what_a_plus_b_ticks_leave(dut):
    seeds = [int(os.environ["PERHOP_SEED"])] if "PERHOP_SEED" in os.environ else SEEDS
    for seed in seeds:
        cocotb.log.info("PERHOP_SEED=%d", seed)
        source = random.Random(seed)
        settings = steered_settings(source)
        inputs = rehearse(ObservedStation(settings), SteeredAir(settings, source, RUN_US), RUN_US)
        stops = sorted(source.sample(range(1, RUN_US), STOPS))
        driver = MacCoreDriver(dut)
        # Once for nothing: what no reset clears is then what this very run leaves.
        await states(driver, settings, inputs, stops, warp)
        wanted = await states(driver, settings, inputs, stops, warp)
        for way, split in {"random portions": random_split(random.Random(seed)), "single ticks": every_tick}.items():
            found = await states(driver, settings, inputs, stops, split)
            for stop_us, one, other in zip(stops, found, wanted, strict=True):
                wrong = {name: (one[name], other[name]) for name in one if one[name] != other[name]}
                assert not wrong, f"seed {seed}, {way}, at {stop_us} us (these, in one jump): {wrong}"


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_linearity(name):
    simulate("mac_core", __file__, name, cocotb_tests(globals()), inside=True)
