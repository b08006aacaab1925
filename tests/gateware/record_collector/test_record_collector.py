# SPDX-License-Identifier: GPL-2.0-or-later
"""record_collector: the account is collected whole, the record's words come in the specification's order."""

import random

import cocotb
import pytest
from perhop.registers.spec_generated import COMPLETION_FIELDS, COMPLETION_RECORD_WORDS, decode_completion_record
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

WORDS = len(COMPLETION_RECORD_WORDS)
COLLECT_CLOCKS = 15
PARTS = (
    *("ifs_us", "backoff_us", "frozen_cca_us", "frozen_nav_us", "control_us", "data_us", "response_us", "timeout_us"),
    "responder_us",
)
TIMES = ("t_enqueue_us", "t_head_us", "t_first_tx_us", "t_done_us", "queue_us")
WORD = (1 << 32) - 1


def pins(record: dict[str, int]) -> dict[str, int]:
    """The record at the module's pins."""
    return {f"record_{name}": value for name, value in record.items()}


class Collector(Clocked):
    """A queue's account, given as it is asked for."""

    def __init__(self, dut) -> None:
        super().__init__(dut, "tsf_us", "report", "t_enqueue_us", "t_head_us", "t_first_tx_us", "part_us", "updated")
        self.account: dict[str, int] = {}
        self.collections = 0

    def queue(self, source: random.Random) -> dict[str, int]:
        """A queue that reports now: its times, its parts, and the rest of its record."""
        record = {field.name: source.getrandbits(field.width_bits) for field in COMPLETION_FIELDS}
        record["queue_us"] = (record["t_head_us"] - record["t_enqueue_us"]) & WORD
        self.account = record
        self.hold(**{name: record[name] for name in TIMES[:3]}, tsf_us=record["t_done_us"], **pins(record))
        return record

    async def step(self, **values: int) -> None:
        part = self.part_index
        await self.set(part_us=self.account[PARTS[part]] if part < len(PARTS) else 0)
        await self.clock(**values)
        self.collections += self.collected


async def started(dut) -> Collector:
    collector = Collector(dut)
    await collector.reset()
    return collector


async def collect(collector: Collector) -> None:
    clocks = 1
    await collector.step(report=1)
    while not collector.collected:
        assert collector.busy
        await collector.step()
        clocks += 1
    assert clocks == COLLECT_CLOCKS


async def words(collector: Collector) -> list[int]:
    await collector.step(updated=1)
    found = []
    for _ in range(WORDS):
        found.append(collector.word)
        await collector.step()
    return found


@cocotb.test()
async def records_come_whole_and_word_by_word(dut):
    collector = await started(dut)
    source = random.Random(1)
    for _ in range(30):
        record = collector.queue(source)
        await collect(collector)
        for name in (*TIMES, *PARTS):
            assert getattr(collector, f"done_{name}") == record[name], name
        for _ in range(source.randrange(40)):
            assert collector.busy
            await collector.step()
        assert decode_completion_record(await words(collector)) == record
        assert not collector.busy
        for _ in range(source.randrange(3)):
            await collector.step()


@cocotb.test()
async def the_next_packet_may_begin_while_the_account_goes(dut):
    """The queue waits for the words that it gives, and not for those of the account."""
    collector = await started(dut)
    collector.queue(random.Random(2))
    await collect(collector)
    await collector.step(updated=1)
    busy = []
    for _ in range(WORDS):
        busy.append(collector.busy)
        await collector.step()
    first = next(number for number, word in enumerate(COMPLETION_RECORD_WORDS) if "t_enqueue_us" in str(word))
    assert busy == [1] * first + [0] * (WORDS - first)


@cocotb.test()
async def a_report_that_comes_before_the_last_word_waits(dut):
    collector = await started(dut)
    source = random.Random(3)
    for early in range(4, WORDS):
        record = collector.queue(source)
        await collect(collector)
        await collector.step(updated=1)
        found = []
        averages = {name: record[name] for name in record if name.startswith("avg_")}
        for number in range(WORDS):
            found.append(collector.word)
            if number == early:
                # Another queue's; the table still has the averages of the packet before.
                following = collector.queue(source) | averages
                collector.hold(**pins(following))
            await collector.step(report=int(number == early))
        assert decode_completion_record(found) == record
        while not collector.collected:
            assert collector.busy
            await collector.step()
        assert decode_completion_record(await words(collector)) == following


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_record_collector(name):
    simulate("record_collector", __file__, name, cocotb_tests(globals()))
