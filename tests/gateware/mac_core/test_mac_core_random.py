# SPDX-License-Identifier: GPL-2.0-or-later
"""mac_core against a model of the standard, under random traffic, random frames of others and random settings.

PERHOP_SEED=number repeats one run alone; every run prints its number.
"""

import os
import random

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.coverage import ExchangeCoverage
from testbench.dcf_model import DcfStation
from testbench.exchange import PARTS, Completion, Output
from testbench.mac_core_driver import MacCoreDriver, Recorded, random_split, warp
from testbench.random_air import RandomAir, random_settings

RUN_US = 150_000
AVERAGES = ("avg_contention_us16", "avg_overhead_us16", "avg_data_attempts_256")


def in_order(outputs: list[Output]) -> list[tuple]:
    """Comparable without the averages; outputs of one microsecond in a fixed order."""
    return sorted(
        (
            output.at_us,
            type(output).__name__,
            *((name, value) for name, value in vars(output).items() if name not in AVERAGES),
        )
        for output in outputs
    )


def check_averages(model: DcfStation, outputs: list[Output], shift: int) -> None:
    """The record's averages are those of exact arithmetic, but for rounding: at most a step for each weight's inverse."""
    records = [output for output in outputs if isinstance(output, Completion)]
    for record, exact in zip(records, model.expected_averages, strict=True):
        wanted = (16 * exact.contention_us, 16 * exact.overhead_us, 256 * exact.data_attempts)
        for name, value in zip(AVERAGES, wanted, strict=True):
            assert abs(getattr(record, name) - value) <= 1 << shift, f"{name}: {value} in {record}"


async def compare(dut, seed: int) -> DcfStation:
    """One random run of the gateware; its inputs, recorded, replayed to the model."""
    cocotb.log.info("PERHOP_SEED=%d", seed)
    source = random.Random(seed)
    settings = random_settings(source)
    driver = MacCoreDriver(dut)
    await driver.reset(settings)
    split = random_split(random.Random(seed)) if source.random() < 0.3 else warp
    await driver.run(RandomAir(settings, source, RUN_US), RUN_US, split)
    model = DcfStation(settings)
    model.run(driver.given, RUN_US)
    found, wanted = in_order(driver.outputs), in_order(model.outputs)
    for number, (one, other) in enumerate(zip(found, wanted, strict=False)):
        if one != other:
            last_us = max(one[0], other[0])
            inputs = "\n  ".join(str(tick) for tick in driver.given if tick.at_us <= last_us)
            earlier = "\n  ".join(map(str, found[:number]))
            raise AssertionError(
                f"seed {seed}, {settings}\noutput {number} is\n  {one}\nand not\n  {other}\n"
                f"after the inputs\n  {inputs[-4000:]}\nand the outputs\n  {earlier[-2000:]}"
            )
    assert len(found) == len(wanted), f"seed {seed}: {(found + wanted)[min(len(found), len(wanted)) :][:1]} on one side"
    for output in driver.outputs:
        if isinstance(output, Completion):
            assert sum(getattr(output, part) for part in PARTS) == output.t_done_us - output.t_enqueue_us
    check_averages(model, driver.outputs, settings.average_shift)
    return model


async def compare_many(dut, seeds: range, *, all_outcomes: bool) -> None:
    coverage = ExchangeCoverage()
    if "PERHOP_SEED" in os.environ:
        seeds = range(int(os.environ["PERHOP_SEED"]), int(os.environ["PERHOP_SEED"]) + 1)
    for seed in seeds:
        coverage.add((await compare(dut, seed)).seen)
    cocotb.log.info("%s", coverage.report())
    if all_outcomes and len(seeds) > 1:
        assert not coverage.missing()


@cocotb.test()
@cocotb.parametrize(first_seed=[1, 1001])
async def the_gateware_does_what_the_model_does(dut, first_seed):
    await compare_many(dut, range(first_seed, first_seed + 25), all_outcomes=True)


@cocotb.test()
@cocotb.parametrize(first_seed=[100_000, 200_000])
async def the_gateware_does_what_the_model_does_for_long(dut, first_seed):
    await compare_many(dut, range(first_seed, first_seed + 600), all_outcomes=True)


@pytest.mark.parametrize("name", [name for name in cocotb_tests(globals()) if "for_long" not in name])
def test_random(name):
    simulate("mac_core", __file__, name)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in cocotb_tests(globals()) if "for_long" in name])
def test_random_for_long(name):
    simulate("mac_core", __file__, name)
