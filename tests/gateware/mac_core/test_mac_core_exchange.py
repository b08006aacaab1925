# SPDX-License-Identifier: GPL-2.0-or-later
"""mac_core in every step of the frame exchange, interrupted by everything that can interrupt it.

The model is played against surroundings that aim (cocotbext/perhop/steered_air.py); what reached it then reaches the
gateware, which must do the same. tests/find_exchange_seeds.py finds seeds that together meet every bin of
cocotbext/perhop/exchange_bins.py.
"""

import os
import random
from pathlib import Path

import cocotb
import pytest
from cocotbext.perhop.exchange import Completion, comparable
from cocotbext.perhop.exchange_bins import ObservedStation
from cocotbext.perhop.mac_core_driver import MacCoreDriver, Recorded, random_split, warp
from cocotbext.perhop.steered_air import RUN_US, Run, read_runs, rehearsal
from testbench.build import COVERAGE_FOLDER, cocotb_tests, simulate
from testbench.exchange_hits import save_hits

# By the number of queues. All of them take half a minute: `make test` runs every eighth, `make test-gateware` all.
RUNS = read_runs(Path(__file__).with_name("exchange_seeds.json"))
EVERY = 1 if COVERAGE_FOLDER else 8
PARTS = 2


async def replay(dut, queues: int, run: Run) -> ObservedStation:
    """What the model met under a seed, once more, with the gateware."""
    cocotb.log.info("run %s", run)
    station, inputs = rehearsal(queues, run)
    settings, seed = station.settings, run[0] if isinstance(run, tuple) else run
    driver = MacCoreDriver(dut)
    await driver.reset(settings)
    await driver.run(Recorded(inputs), RUN_US, warp if seed % 3 else random_split(random.Random(seed)))
    assert not driver.refused
    found, wanted = comparable(driver.outputs), comparable(station.outputs)
    for number in range(max(len(found), len(wanted))):
        one, other = (outputs[number] if number < len(outputs) else None for outputs in (found, wanted))
        if one != other:
            last_us = max(output[0] for output in (one, other) if output)
            before = "\n  ".join(str(tick) for tick in inputs if tick.at_us <= last_us)
            raise AssertionError(
                f"run {run}, {settings}\noutput {number} is\n  {one}\nand not\n  {other}\n"
                f"after the inputs\n  {before[-4000:]}"
            )
    # Every packet is reported once.
    tags = sorted(output.tag for output in driver.outputs if isinstance(output, Completion))
    given = [packet.tag for tick in inputs for packet in tick.packets]
    assert len(set(tags)) == len(tags) and set(tags) <= set(given)
    assert len(given) - len(tags) <= sum(1 + station.queued(number) for number in range(queues))
    return station


@cocotb.test()
@cocotb.parametrize(part=range(PARTS))
async def every_step_stands_every_interruption(dut, part):
    await replay_all(dut, 1, RUNS["1"][part :: PARTS * EVERY])


@cocotb.test()
@cocotb.parametrize(part=range(PARTS))
async def two_queues_meet_in_every_step(dut, part):
    await replay_all(dut, 2, RUNS["2"][part :: PARTS * EVERY])


async def replay_all(dut, queues: int, runs: list[Run]) -> None:
    for run in [int(os.environ["PERHOP_SEED"])] if "PERHOP_SEED" in os.environ else runs:
        station = await replay(dut, queues, run)
        save_hits(station.bins, station.seen)


NAMES = cocotb_tests(globals())


@pytest.mark.parametrize("name", [name for name in NAMES if "two_queues" not in name])
def test_exchange(name):
    simulate("mac_core", __file__, name)


@pytest.mark.parametrize("name", [name for name in NAMES if "two_queues" in name])
def test_exchange_of_two_queues(name):
    simulate("mac_core", __file__, name, parameters={"QUEUES": 2})
