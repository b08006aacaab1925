# SPDX-License-Identifier: GPL-2.0-or-later
"""mac_core: the frame exchange, from descriptors and PHY events to frames and completion records."""

import random

import cocotb
import pytest
from cocotbext.perhop.mac_core_driver import MacCoreDriver, Recorded, every_tick, random_split, warp
from cocotbext.perhop.scenario import Scenario, load_scenarios
from testbench.build import ROOT, simulate


def timeline(scenario: Scenario):
    """The cocotb test of a scenario: right when time jumps, and the same in every other way of passing time."""

    async def run(dut):
        driver = MacCoreDriver(dut)
        traces = {}
        for name, split in (("warp", warp), ("every tick", every_tick), ("random", random_split(random.Random(1)))):
            await driver.reset(scenario.settings)
            await driver.run(Recorded(scenario.inputs), scenario.until_us, split)
            traces[name] = driver.outputs
        scenario.check(traces["warp"])
        assert traces["every tick"] == traces["warp"]
        assert traces["random"] == traces["warp"]

    run.__doc__ = scenario.drawing
    run.__module__ = __name__
    return cocotb.test(name=scenario.name)(run)


TIMELINES: dict[str, list[str]] = {}
for _file in sorted((ROOT / "tests/scenarios").glob("*.yaml")):
    TIMELINES[_file.stem] = []
    for _scenario in load_scenarios(_file):
        TIMELINES[_file.stem].append(_scenario.name)
        globals()[_scenario.name] = timeline(_scenario)


@pytest.mark.parametrize(("name", "topic"), [(name, topic) for topic, names in TIMELINES.items() for name in names])
def test_timeline(name, topic):
    simulate("mac_core", __file__, name, together=TIMELINES[topic])
