# SPDX-License-Identifier: GPL-2.0-or-later
"""completion_stream: records become words in the specification's layout; none is torn, none is lost unseen."""

import random

import cocotb
import pytest
from perhop.registers.spec_generated import COMPLETION_FIELDS, COMPLETION_RECORD_WORDS, decode_completion_record
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
MEMORY_WORDS = 64
WORDS = len(COMPLETION_RECORD_WORDS)
ROOM = MEMORY_WORDS // WORDS  # records


class Stream(Clocked):
    """Collects the words that the host gets, and checks the rules of AXI4-Stream in every clock."""

    def __init__(self, dut, ready=lambda: True) -> None:
        super().__init__(dut, "record_valid", "m_axis_tready")
        self.ready = ready
        self.records: list[dict[str, int]] = []
        self.lost = 0
        self._words: list[int] = []
        self._offered: tuple[int, int] | None = None

    async def step(self, record: dict[str, int] | None = None) -> None:
        """One clock."""
        taking = self.ready()
        await self.set(m_axis_tready=int(taking))
        beat = (self.m_axis_tdata, self.m_axis_tlast) if self.m_axis_tvalid else None
        assert self._offered is None or beat == self._offered, "a word that was offered changed"
        assert self.m_axis_tkeep == 0xF
        self._offered = None if taking else beat
        await self.clock(record_valid=int(record is not None), **pins(record or {}))
        self.lost += self.stat_overflow
        if beat and taking:
            self._words.append(beat[0])
            if beat[1]:
                self.records.append(decode_completion_record(self._words))
                self._words = []


def pins(record: dict[str, int]) -> dict[str, int]:
    """The record at the module's pins."""
    return {f"record_{name}": value for name, value in record.items()}


def any_record(source: random.Random) -> dict[str, int]:
    return {field.name: source.getrandbits(field.width_bits) for field in COMPLETION_FIELDS}


async def started(dut, ready=lambda: True) -> Stream:
    stream = Stream(dut, ready)
    await stream.reset()
    return stream


async def given(stream: Stream, record: dict[str, int]) -> None:
    await stream.step(record)
    while stream.busy:
        await stream.step()


@cocotb.test()
async def every_field_arrives_in_its_place(dut):
    stream = await started(dut)
    for field in COMPLETION_FIELDS:
        one = dict.fromkeys((each.name for each in COMPLETION_FIELDS), 0)
        one[field.name] = (1 << field.width_bits) - 1
        await given(stream, one)
        for _ in range(4):
            await stream.step()
        assert stream.records.pop() == one


@cocotb.test()
async def a_record_takes_a_clock_a_word(dut):
    stream = await started(dut)
    await stream.step(any_record(random.Random(SEED)))
    for clock in range(WORDS):
        assert stream.busy, clock
        await stream.step()
    assert not stream.busy


@cocotb.test()
async def a_record_that_finds_no_room_is_lost_whole_and_counted(dut):
    stream = await started(dut, lambda: False)
    source = random.Random(SEED)
    records = [any_record(source) for _ in range(ROOM + 3)]
    for record in records:
        await given(stream, record)
    assert stream.lost == 3
    stream.ready = lambda: True
    for _ in range(2 * MEMORY_WORDS):
        await stream.step()
    assert stream.records == records[:ROOM]
    await given(stream, records[-1])
    for _ in range(4):
        await stream.step()
    assert stream.records[-1] == records[-1]


@cocotb.test()
async def a_record_that_comes_too_early_is_lost_and_counted_and_the_one_before_stays_whole(dut):
    stream = await started(dut)
    source = random.Random(SEED)
    first = any_record(source)
    await stream.step(first)
    for _ in range(WORDS):
        await stream.step(any_record(source))
    assert stream.lost == WORDS
    for _ in range(WORDS):
        await stream.step()
    assert stream.records == [first]


@cocotb.test()
async def hosts_of_any_speed_get_whole_records_in_order(dut):
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    for share in (0.1, 0.5, 0.9, 1.0):
        stream = await started(dut, lambda share=share: source.random() < share)
        right = []
        for _ in range(25):
            record = any_record(source)
            lost = stream.lost
            await given(stream, record)
            if stream.lost == lost:
                right.append(record)
            for _ in range(source.randrange(30)):
                await stream.step()
        stream.ready = lambda: True
        for _ in range(2 * MEMORY_WORDS):
            await stream.step()
        assert stream.records == right
        assert len(right) + stream.lost == 25
        assert stream.lost if share < 0.5 else stream.lost == 0 or share < 0.9


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_completion_stream(name):
    simulate("completion_stream", __file__, name, cocotb_tests(globals()), {"MEMORY_WORDS": MEMORY_WORDS})
