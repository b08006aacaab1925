# SPDX-License-Identifier: GPL-2.0-or-later
"""burst_join: the pieces of a burst come out as one packet, whose length stands beside it from the first word."""

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout
from testbench.build import cocotb_tests, simulate

WORDS = 16
SEED = 5


class Unit:
    """Pieces go in, packets come out; either side waits at will."""

    def __init__(self, dut, random: np.random.Generator, pause: float) -> None:
        self.dut, self.random, self.pause = dut, random, pause
        self.come: list[tuple[list[int], int]] = []
        """Words of each packet, and the bytes that stood beside every one of them."""
        cocotb.start_soon(self._take())

    @classmethod
    async def start(cls, dut, pause: float = 0.0) -> "Unit":
        Clock(dut.clk, 10, "ns").start()
        dut.rst.value, dut.s_valid.value, dut.m_ready.value = 1, 0, 0
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        return cls(dut, np.random.default_rng(SEED), pause)

    async def _take(self) -> None:
        dut, words, lengths = self.dut, [], set()
        while True:
            dut.m_ready.value = int(self.random.random() >= self.pause)
            await RisingEdge(dut.clk)
            if dut.m_valid.value == 1 and dut.m_ready.value == 1:
                words.append(int(dut.m_word.value))
                lengths.add(int(dut.m_packet_bytes.value))
                if dut.m_last.value == 1:
                    (length,) = lengths
                    self.come.append((words, length))
                    words, lengths = [], set()

    async def send(self, words: list[int], size_bytes: int, ends: bool) -> None:
        """A piece. Its length stands with the first word, whether the burst ends with the last one."""
        dut = self.dut
        for at, word in enumerate(words):
            while self.random.random() < self.pause:
                await RisingEdge(dut.clk)
            last = at == len(words) - 1
            dut.s_word.value, dut.s_last.value = word, int(last)
            dut.s_burst_ends.value = int(ends if last else self.random.integers(2))
            dut.s_packet_bytes.value = size_bytes if at == 0 else int(self.random.integers(1 << 16))
            dut.s_valid.value = 1
            while True:
                await RisingEdge(dut.clk)
                if dut.s_ready.value == 1:
                    break
            dut.s_valid.value = 0

    async def until(self, count: int) -> list[tuple[list[int], int]]:
        async def wait() -> None:
            while len(self.come) < count:
                await RisingEdge(self.dut.clk)

        await with_timeout(wait(), 20, "us")
        return self.come


@cocotb.test()
async def pieces_are_joined_and_what_is_whole_stays_as_it_is(dut):
    """
    pieces   [1 2 3] [4 5].        [6].        [7 8].
    packets                [1 .. 5]      [6]          [7 8]
    """
    unit = await Unit.start(dut)
    await unit.send([1, 2, 3], 12, ends=False)
    await unit.send([4, 5], 7, ends=True)
    await unit.send([6], 4, ends=True)
    await unit.send([7, 8], 8, ends=True)
    assert await unit.until(3) == [([1, 2, 3, 4, 5], 19), ([6], 4), ([7, 8], 8)]


@cocotb.test()
async def nothing_is_given_before_all_of_it_is_there(dut):
    unit = await Unit.start(dut)
    await unit.send([1, 2, 3], 12, ends=False)
    for _ in range(50):
        await RisingEdge(dut.clk)
        assert dut.m_valid.value == 0
    await unit.send([4], 4, ends=True)
    assert await unit.until(1) == [([1, 2, 3, 4], 16)]


@cocotb.test()
async def what_has_no_room_is_left_out_and_told_and_the_next_is_whole(dut):
    unit = await Unit.start(dut)
    long = list(range(100, 100 + 3 * WORDS))
    for at in range(0, len(long), WORDS):
        await unit.send(long[at : at + WORDS], 4 * WORDS, ends=at + WORDS == len(long))
    await unit.send(list(range(WORDS)), 4 * WORDS, ends=True)
    (first, told), second = await unit.until(2)
    assert (first, told) == (long[:WORDS], 4 * len(long))
    assert second == (list(range(WORDS)), 4 * WORDS)


@cocotb.test()
@cocotb.parametrize(pause=[0.0, 0.3, 0.8])
async def any_pieces_make_their_packets(dut, pause: float):
    unit = await Unit.start(dut, pause)
    random = np.random.default_rng([SEED, int(10 * pause)])
    dut._log.info("seed %d", SEED)
    wanted = []
    for _ in range(40):
        words = [int(word) for word in random.integers(1 << 32, size=random.integers(1, WORDS + 1))]
        less = int(random.integers(4))
        wanted.append((words, 4 * len(words) - less))
        left = list(words)
        while left:
            piece, left = left[: (count := int(random.integers(1, 6)))], left[count:]
            await unit.send(piece, 4 * len(piece) - (0 if left else less), ends=not left)
    assert await unit.until(len(wanted)) == wanted


NAMES = cocotb_tests(globals())


@pytest.mark.parametrize("name", NAMES)
def test_burst_join(name):
    simulate("burst_join", __file__, name, NAMES, {"WORDS": WORDS})
