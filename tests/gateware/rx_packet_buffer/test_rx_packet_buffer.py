# SPDX-License-Identifier: GPL-2.0-or-later
"""rx_packet_buffer: the host sees whole, good frames in order; what does not fit is lost whole and counted."""

import random
from collections import deque

import cocotb
import pytest
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
RING_BYTES, FRAMES, STATUS_W = 64, 4, 8
PARAMETERS = {"RING_BYTES": RING_BYTES, "FRAMES": FRAMES, "STATUS_W": STATUS_W}
INPUTS = ("start", "valid", "data", "keep", "status", "drop", "m_axis_tready")


class Buffer(Clocked):
    """Collects the frames that the host gets, and checks the rules of AXI4-Stream in every clock."""

    def __init__(self, dut, ready=lambda: False) -> None:
        super().__init__(dut, *INPUTS)
        self.ready = ready
        self.frames: list[tuple[int, bytes]] = []
        self.lost = self.kept = 0
        self._bytes = bytearray()
        self._offered: tuple[int, ...] | None = None

    async def step(self, **values: int) -> None:
        """One clock of input and output."""
        taking = self.ready()
        await self.set(m_axis_tready=int(taking))
        beat = None
        if self.m_axis_tvalid:
            beat = (self.m_status, self.m_axis_tdata if self.m_axis_tkeep else 0, self.m_axis_tkeep, self.m_axis_tlast)
        assert self._offered is None or beat == self._offered, "a beat that was offered changed"
        self._offered = None if taking else beat
        await self.clock(**values)
        self.lost += self.stat_overflow
        self.kept += self.stat_kept
        if beat and taking:
            status, byte, keep, last = beat
            assert keep or (last and not self._bytes)
            self._bytes += bytes([byte] * keep)
            if last:
                self.frames.append((status, bytes(self._bytes)))
                self._bytes.clear()

    async def frame(self, data: bytes, status: int = 0, end: str = "keep", gap: int = 0) -> None:
        await self.step(start=1)
        for byte in data:
            await self.step(valid=1, data=byte)
        for _ in range(gap):
            await self.step()
        if end:
            await self.step(**{end: 1, "status": status})


async def started(dut, ready=lambda: False) -> Buffer:
    buffer = Buffer(dut, ready)
    await buffer.reset()
    return buffer


async def emptied(buffer: Buffer) -> list[tuple[int, bytes]]:
    buffer.ready = lambda: True
    for _ in range(RING_BYTES + 4 * FRAMES + 8):
        await buffer.step()
    assert not buffer.m_axis_tvalid
    return buffer.frames


@cocotb.test()
async def a_good_frame_is_offered_two_clocks_after_keep_and_not_before(dut):
    buffer = await started(dut)
    await buffer.frame(b"abc", 0x5A, gap=5)
    assert not buffer.m_axis_tvalid
    await buffer.step()
    await buffer.settle()
    assert buffer.m_axis_tvalid and buffer.m_axis_tdata == ord("a") and buffer.m_status == 0x5A
    assert await emptied(buffer) == [(0x5A, b"abc")]
    assert (buffer.kept, buffer.lost) == (1, 0)


@cocotb.test()
async def frames_that_are_dropped_or_never_end_leave_nothing(dut):
    buffer = await started(dut)
    await buffer.frame(b"bad one", end="drop")
    await buffer.frame(b"no end", end="")
    await buffer.frame(b"good", 1)
    await buffer.frame(b"bad one", end="drop")
    await buffer.step(valid=1, data=9)  # bytes and verdicts of no frame
    await buffer.step(keep=1, status=7)
    await buffer.step(drop=1)
    await buffer.frame(b"better", 2)
    assert await emptied(buffer) == [(1, b"good"), (2, b"better")]
    assert (buffer.kept, buffer.lost) == (2, 0)


@cocotb.test()
async def a_frame_without_bytes_is_one_beat_without_a_byte(dut):
    buffer = await started(dut)
    await buffer.frame(b"", 3)
    await buffer.frame(b"x", 4)
    await buffer.frame(b"", 5)
    assert await emptied(buffer) == [(3, b""), (4, b"x"), (5, b"")]


@cocotb.test()
async def a_frame_may_fill_the_ring_to_the_last_byte_and_one_more_byte_loses_it(dut):
    buffer = await started(dut)
    full = bytes(range(RING_BYTES))
    await buffer.frame(full, 1)
    await buffer.frame(b"x", 2)
    assert (buffer.kept, buffer.lost) == (1, 1)
    assert await emptied(buffer) == [(1, full)]
    buffer.ready = lambda: False
    await buffer.frame(full + b"x", 3)
    assert (buffer.kept, buffer.lost) == (1, 2)
    await buffer.frame(b"y", 4)
    assert (await emptied(buffer))[1:] == [(4, b"y")]


@cocotb.test()
async def the_frame_after_the_last_entry_is_lost_whole(dut):
    buffer = await started(dut)
    for status in range(FRAMES + 2):
        await buffer.frame(bytes([status]), status)
    assert (buffer.kept, buffer.lost) == (FRAMES, 2)
    assert await emptied(buffer) == [(status, bytes([status])) for status in range(FRAMES)]


@cocotb.test()
async def a_verdict_in_the_clock_of_the_next_start_counts_for_the_frame_before(dut):
    buffer = await started(dut)
    await buffer.frame(b"first", end="")
    await buffer.step(start=1, keep=1, status=1)
    await buffer.step(valid=1, data=ord("2"))
    await buffer.step(start=1, drop=1)
    await buffer.step(valid=1, data=ord("3"))
    await buffer.step(keep=1, status=3)
    assert await emptied(buffer) == [(1, b"first"), (3, b"3")]


@cocotb.test()
async def a_flood_at_a_byte_a_clock_loses_whole_frames_only_and_counts_each(dut):
    """Frames without a pause, of any length and verdict, hosts of any speed."""
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    for share in (0.0, 0.2, 0.7, 1.0):
        buffer = await started(dut, lambda share=share: source.random() < share)
        right: deque[tuple[int, bytes]] = deque()
        good = 0
        for status in range(100):
            data = source.randbytes(source.choice((0, 1, source.randrange(20), source.randrange(90))))
            end = source.choice(("keep", "keep", "keep", "drop", ""))
            kept = buffer.kept
            await buffer.frame(data, status, end, gap=source.choice((0, 0, 3)))
            good += end == "keep"
            if buffer.kept != kept:
                right.append((status, data))
        assert buffer.kept + buffer.lost == good
        assert await emptied(buffer) == list(right)
        assert buffer.lost if share < 0.5 else len(right) > 20
        if share == 0.0:
            assert buffer.kept <= FRAMES


@cocotb.test()
async def nothing_is_lost_while_there_is_room(dut):
    """A host as fast as the air: with frames of half a ring every good one arrives."""
    source = random.Random(SEED)
    buffer = await started(dut, lambda: True)
    sent = []
    for status in range(60):
        data = source.randbytes(source.randrange(RING_BYTES // 2))
        await buffer.frame(data, status, gap=4)
        sent.append((status, data))
    assert await emptied(buffer) == sent
    assert buffer.lost == 0


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_rx_packet_buffer(name):
    simulate("rx_packet_buffer", __file__, name, cocotb_tests(globals()), PARAMETERS)
