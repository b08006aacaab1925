# SPDX-License-Identifier: GPL-2.0-or-later
"""mac_core against a model of the standard, under random traffic, random frames of others and random settings.

PERHOP_SEED=number repeats one run alone; every run prints its number.
"""

import os
import random
from collections.abc import Callable

import cocotb
import pytest
from cocotbext.perhop.coverage import MODE_OUTCOMES, OUTCOMES, QUEUE_OUTCOMES, SERIES_OUTCOMES, ExchangeCoverage
from cocotbext.perhop.dcf_model import DcfStation
from cocotbext.perhop.exchange import AVERAGES, PARTS, Completion, Output, TickInputs, comparable
from cocotbext.perhop.mac_core_driver import MacCoreDriver, Recorded, Split, every_tick, random_split, warp
from cocotbext.perhop.random_air import RandomAir, random_mode_settings, random_settings, random_two_queue_settings
from cocotbext.perhop.settings import MacSettings
from perhop.registers.spec_generated import TxResult
from testbench.build import cocotb_tests, simulate
from testbench.exchange_hits import save_hits

RUN_US = 150_000
UNIT_TICKS_RUN_US = 20_000
SettingsOf = Callable[[random.Random], MacSettings]


def check_same(found: list[Output], wanted: list[Output], inputs: list[TickInputs], about: str) -> None:
    """Two runs of the gateware gave the same; otherwise what went before their first difference is told."""
    for number in range(max(len(found), len(wanted))):
        one, other = (list_[number] if number < len(list_) else None for list_ in (found, wanted))
        if one != other:
            last_us = max(output.at_us for output in (one, other) if output)
            before = "\n  ".join(str(tick) for tick in inputs if tick.at_us <= last_us)
            earlier = "\n  ".join(map(str, found[:number]))
            raise AssertionError(
                f"{about}: output {number} is\n  {one}\nand not\n  {other}\n"
                f"after the inputs\n  {before[-4000:]}\nand the outputs\n  {earlier[-2000:]}"
            )


def check_averages(model: DcfStation, outputs: list[Output], shift: int) -> None:
    """The record's averages are those of exact arithmetic, but for rounding: at most 2**shift / 2 steps."""
    records = [output for output in outputs if isinstance(output, Completion)]
    for record, exact in zip(records, model.expected_averages, strict=True):
        wanted = (16 * exact.contention_us, 16 * exact.overhead_us, 256 * exact.data_attempts)
        for name, value in zip(AVERAGES, wanted, strict=True):
            assert abs(getattr(record, name) - value) <= 2**shift / 2, f"{name}: {value} in {record}"


async def compare(
    dut,
    seed: int,
    settings_of: SettingsOf = random_settings,
    *,
    rate_series: bool = False,
    queues: int = 1,
    until_us: int = RUN_US,
    split: Split | None = None,
) -> DcfStation:
    """One random run of the gateware; its inputs, recorded, replayed to the model."""
    cocotb.log.info("PERHOP_SEED=%d", seed)
    source = random.Random(seed)
    settings = settings_of(source)
    driver = MacCoreDriver(dut)
    await driver.reset(settings)
    at_random = source.random() < 0.3
    split = split or (random_split(random.Random(seed)) if at_random else warp)
    await driver.run(RandomAir(settings, source, until_us, rate_series=rate_series, queues=queues), until_us, split)
    model = DcfStation(settings, queues)
    model.run(driver.given, until_us)
    found, wanted = comparable(driver.outputs), comparable(model.outputs)
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


async def compare_many(
    dut,
    seeds: range,
    settings_of: SettingsOf = random_settings,
    outcomes: dict[str, tuple[str, ...]] = OUTCOMES,
    *,
    rate_series: bool = False,
    queues: int = 1,
) -> None:
    coverage = ExchangeCoverage(outcomes)
    if "PERHOP_SEED" in os.environ:
        seeds = range(int(os.environ["PERHOP_SEED"]), int(os.environ["PERHOP_SEED"]) + 1)
    for seed in seeds:
        coverage.add((await compare(dut, seed, settings_of, rate_series=rate_series, queues=queues)).seen)
    cocotb.log.info("%s", coverage.report())
    save_hits(coverage.seen)
    if len(seeds) > 1:
        assert not coverage.missing(), coverage.missing()


async def recorded(
    dut, seed: int, until_us: int, settings_of: SettingsOf = random_settings, *, queues: int = 1
) -> tuple[MacCoreDriver, MacSettings, list[TickInputs], list[Output]]:
    """A random run and what it recorded, to be replayed after a reset."""
    source = random.Random(seed)
    settings = settings_of(source)
    driver = MacCoreDriver(dut)
    await driver.reset(settings)
    await driver.run(RandomAir(settings, source, until_us, queues=queues), until_us)
    return driver, settings, driver.offered, driver.outputs


@cocotb.test()
async def time_may_pass_in_any_steps(dut):
    """Ticks a, then b, leave the same as a + b: whether one tick a clock or as far as allowed."""
    for seed in range(3001, 3009):
        until_us = 10_000
        settings_of = random_settings if seed < 3005 else random_mode_settings
        driver, settings, inputs, outputs = await recorded(dut, seed, until_us, settings_of)
        ways = {f"split {way}": random_split(random.Random(seed + way)) for way in range(3)}
        for way, split in ({"every tick": every_tick} | ways).items():
            await driver.reset(settings)
            await driver.run(Recorded(inputs), until_us, split)
            check_same(driver.outputs, outputs, inputs, f"seed {seed}, {way}")


@cocotb.test()
async def a_start_that_is_not_wanted_changes_nothing(dut):
    """The simulator leaves PHY-RXSTART out while want_rx_start is low."""
    for seed in range(4001, 4013):
        settings_of = random_settings if seed < 4009 else random_mode_settings
        driver, settings, inputs, outputs = await recorded(dut, seed, RUN_US, settings_of)
        await driver.reset(settings)
        driver.leaves_out_starts = True
        await driver.run(Recorded(inputs), RUN_US)
        check_same(driver.outputs, outputs, inputs, f"seed {seed}")


async def neighbours_add_up(dut, seeds: range, until_us: int, split: Split) -> None:
    for seed in seeds:
        source = random.Random(seed)
        settings = random_settings(source)
        driver = MacCoreDriver(dut)
        await driver.reset(settings)
        await driver.run(RandomAir(settings, source, until_us), until_us, split)
        records = [output for output in driver.outputs if isinstance(output, Completion)]
        assert records
        for peer in range(16):
            own = [record for record in records if record.peer == peer]
            entries = await driver.neighbour(peer)
            assert entries["packets"] == len(own)
            limits = (TxResult.SHORT_RETRY_LIMIT, TxResult.LONG_RETRY_LIMIT)
            assert entries["drops"] == sum(record.result in limits for record in own)
            assert entries["service_us"] == sum(record.t_done_us - record.t_head_us for record in own)
            for name in AVERAGES:
                assert entries[name] == (getattr(own[-1], name) if own else 0)
            bins = [(await driver.neighbour(peer, number))["histogram"] for number in range(16)]
            assert sum(bins) == len(own)
        assert int(dut.tsf_us.value) == driver.now_us


@cocotb.test()
async def the_neighbour_table_adds_up_the_records(dut):
    await neighbours_add_up(dut, range(5001, 5004), RUN_US, warp)


@cocotb.test()
@cocotb.parametrize(first_seed=[1, 1001])
async def the_gateware_does_what_the_model_does(dut, first_seed):
    await compare_many(dut, range(first_seed, first_seed + 25))


@cocotb.test()
@cocotb.parametrize(first_seed=[100_000, 200_000])
async def the_gateware_does_what_the_model_does_for_long(dut, first_seed):
    await compare_many(dut, range(first_seed, first_seed + 600))


@cocotb.test()
@cocotb.parametrize(first_seed=[6001])
async def in_every_access_mode_the_gateware_does_what_the_model_does(dut, first_seed):
    await compare_many(dut, range(first_seed, first_seed + 30), random_mode_settings, MODE_OUTCOMES)


@cocotb.test()
@cocotb.parametrize(first_seed=[8001])
async def retries_step_through_the_rate_series_as_the_model_does(dut, first_seed):
    await compare_many(dut, range(first_seed, first_seed + 25), random_settings, SERIES_OUTCOMES, rate_series=True)


@cocotb.test()
@cocotb.parametrize(first_seed=[10_001])
async def with_unit_ticks_the_gateware_does_what_the_model_does(dut, first_seed):
    """The core of hardware, a tick a clock at most; its neighbour table is another, too."""
    for seed in range(first_seed, first_seed + 9):
        settings_of = (random_settings, random_mode_settings, random_two_queue_settings)[seed % 3]
        queues = 2 if settings_of is random_two_queue_settings else 1
        await compare(
            dut, seed, settings_of, rate_series=True, queues=queues, until_us=UNIT_TICKS_RUN_US, split=every_tick
        )


@cocotb.test()
async def with_unit_ticks_the_neighbour_table_adds_up_the_records(dut):
    await neighbours_add_up(dut, range(5001, 5002), UNIT_TICKS_RUN_US, every_tick)


@cocotb.test()
@cocotb.parametrize(first_seed=[300_000])
async def in_every_access_mode_the_gateware_does_what_the_model_does_for_long(dut, first_seed):
    await compare_many(dut, range(first_seed, first_seed + 600), random_mode_settings, MODE_OUTCOMES)


@cocotb.test()
@cocotb.parametrize(first_seed=[9001])
async def two_queues_do_what_the_model_does(dut, first_seed):
    await compare_many(
        dut,
        range(first_seed, first_seed + 40),
        random_two_queue_settings,
        QUEUE_OUTCOMES,
        rate_series=True,
        queues=2,
    )


@cocotb.test()
@cocotb.parametrize(first_seed=[400_000])
async def two_queues_do_what_the_model_does_for_long(dut, first_seed):
    await compare_many(
        dut,
        range(first_seed, first_seed + 800),
        random_two_queue_settings,
        QUEUE_OUTCOMES,
        rate_series=True,
        queues=2,
    )


@cocotb.test()
async def one_queue_of_two_does_what_a_mac_of_one_queue_does(dut):
    """With nothing in the other queue, CW, back-off, times and draws are the same."""
    for seed in range(10001, 10013):
        await compare(dut, seed)


@cocotb.test()
async def two_queues_in_any_steps_of_time(dut):
    """Ticks a, then b, leave the same as a + b."""
    for seed in range(11001, 11005):
        until_us = 10_000
        driver, settings, inputs, outputs = await recorded(dut, seed, until_us, random_two_queue_settings, queues=2)
        for way, split in {"every tick": every_tick, "random": random_split(random.Random(seed))}.items():
            await driver.reset(settings)
            await driver.run(Recorded(inputs), until_us, split)
            check_same(driver.outputs, outputs, inputs, f"seed {seed}, {way}")


TWO_QUEUES = [name for name in cocotb_tests(globals()) if "queue" in name]
SHORT = [name for name in cocotb_tests(globals()) if "for_long" not in name and name not in TWO_QUEUES]


@pytest.mark.parametrize("name", [name for name in TWO_QUEUES if "for_long" not in name])
def test_random_with_two_queues(name):
    simulate("mac_core", __file__, name, parameters={"RATE_SERIES": 4, "QUEUES": 2})


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in TWO_QUEUES if "for_long" in name])
def test_random_with_two_queues_for_long(name):
    simulate("mac_core", __file__, name, parameters={"RATE_SERIES": 4, "QUEUES": 2})


UNIT_TICKS = [name for name in SHORT if "unit_ticks" in name]


@pytest.mark.parametrize("name", [name for name in SHORT if "rate_series" not in name and name not in UNIT_TICKS])
def test_random(name):
    simulate("mac_core", __file__, name)


@pytest.mark.parametrize("name", [name for name in SHORT if "rate_series" in name])
def test_random_with_a_rate_series(name):
    simulate("mac_core", __file__, name, parameters={"RATE_SERIES": 4})


@pytest.mark.parametrize("name", UNIT_TICKS)
def test_random_with_unit_ticks(name):
    simulate("mac_core", __file__, name, parameters={"RATE_SERIES": 4, "QUEUES": 2, "UNIT_TICKS": 1})


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [name for name in cocotb_tests(globals()) if "for_long" in name and name not in TWO_QUEUES]
)
def test_random_for_long(name):
    simulate("mac_core", __file__, name)
