# SPDX-License-Identifier: GPL-2.0-or-later
"""deframer: whatever bytes come, it says what the standard says of them, and is ready for the next frame."""

import random

import cocotb
import pytest
from cocotbext.perhop.mpdu import any_frame, control_frame, data_frame, read, with_fcs
from perhop.registers.spec_generated import FrameKind
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
US, PEER, NET = 0x0200_0000_0001, 0x0200_0000_0002, 0x0211_2233_4455
PORTS = {"sequence": "sequence_number"}
READ = ("kind", "duration_us", "ra", "ta", "a3", "a4", "sequence", "retry", "header_bytes")


async def started(dut, **settings: int) -> Clocked:
    deframer = Clocked(
        dut, "cfg_whole", "rx_start", "rx_bytes", "rx_valid", "rx_data", "rx_end", "rx_error", **settings
    )
    await deframer.reset()
    return deframer


async def received(
    deframer: Clocked, frame: bytes, told_bytes: int | None = None, *, error: bool = False, gap=lambda: 0
) -> bytes:
    """Gives the bytes; returns those that came out. The verdict stands in the clock of rx_end, and stays."""
    await deframer.clock(rx_start=1, rx_bytes=min(len(frame) if told_bytes is None else told_bytes, 4095))
    out = bytearray()
    for byte in frame:
        for _ in range(gap()):
            await deframer.clock()
        await deframer.set(rx_valid=1, rx_data=byte)
        if deframer.m_valid:
            out.append(deframer.m_data)
        await deframer.clock()
        deframer.hold(rx_valid=0)
    await deframer.set(rx_end=1, rx_error=int(error))
    assert not deframer.m_valid
    return bytes(out)


async def check(deframer: Clocked, frame: bytes, told_bytes: int | None = None, **how) -> bool:
    """The deframer reads the frame as the model does; returns whether it is ok."""
    out = await received(deframer, frame, told_bytes, **how)
    right = read(frame, len(frame) if told_bytes is None else told_bytes, how.get("error", False))
    assert deframer.ok == right.ok, frame.hex()
    if right.ok:
        for name in READ:
            value = getattr(right, name)
            assert value is None or getattr(deframer, PORTS.get(name, name)) == value, (name, frame.hex())
        assert right.msdu is None or out == right.msdu, frame.hex()
    await deframer.clock()
    deframer.hold(rx_end=0, rx_error=0)
    return right.ok


@cocotb.test()
async def every_kind_of_frame_is_known(dut):
    deframer = await started(dut)
    await check(deframer, control_frame(FrameKind.RTS, 1200, US, PEER))
    await check(deframer, control_frame(FrameKind.CTS, 1000, US))
    await check(deframer, control_frame(FrameKind.MAC_ACK, 0, US))
    await check(deframer, data_frame(314, (US, PEER, NET), 7, bytes(range(20)), retry=True))
    await check(deframer, data_frame(314, (US, PEER, NET, 0x77), 4095, bytes(range(20))))
    await check(deframer, data_frame(0, (0xFFFF_FFFF_FFFF, PEER, NET), 0, b""))


@cocotb.test()
async def what_this_station_cannot_take_is_other(dut):
    """QoS, null data, fragments, encryption, management, other control frames, another version: none is DATA."""
    deframer = await started(dut)
    addresses = (US, PEER, NET)
    others = [
        data_frame(314, addresses, 7, b"x" * 9, frame_control=0x88, qos=b"\0\0"),
        data_frame(314, (*addresses, 0x77), 7, b"x" * 9, frame_control=0x88, qos=b"\0\0"),
        data_frame(314, addresses, 7, b"", frame_control=0x48),
        data_frame(314, addresses, 7, b"x" * 9, flags=4),
        data_frame(314, addresses, 7, b"x" * 9, fragment=1),
        data_frame(314, addresses, 7, b"x" * 9, flags=64),
        data_frame(0, (0xFFFF_FFFF_FFFF, PEER, NET), 7, b"beacon", frame_control=0x80),
        with_fcs(b"\xe4\x00\x00\x00" + bytes(12)),  # CF-End
        data_frame(314, addresses, 7, b"x" * 9, frame_control=0x09),
        control_frame(FrameKind.RTS, 100, US, PEER)[:-4] + b"\0\0\0\0",
    ]
    others[-1] = with_fcs(others[-1])  # an RTS that is too long
    for frame in others:
        await check(deframer, frame)
        assert deframer.kind == FrameKind.OTHER
    await check(deframer, others[0])
    assert deframer.header_bytes == 26
    await check(deframer, others[1])
    assert deframer.header_bytes == 32


@cocotb.test()
async def a_duration_field_with_its_top_bit_set_is_no_duration(dut):
    deframer = await started(dut)
    ps_poll = with_fcs(b"\xa4\x00" + (0xC001).to_bytes(2, "little") + bytes(12))
    await check(deframer, ps_poll)
    assert deframer.duration_us == 0
    await check(deframer, data_frame(65535, (US, PEER, NET), 1, b"x"))
    assert deframer.duration_us == 0
    await check(deframer, data_frame(32767, (US, PEER, NET), 1, b"x"))
    assert deframer.duration_us == 32767


@cocotb.test()
async def a_frame_cut_off_anywhere_is_not_ok_and_the_next_one_is(dut):
    deframer = await started(dut)
    frame = data_frame(314, (US, PEER, NET, 0x77), 4095, bytes(range(12)))
    for bytes_ in range(len(frame)):
        assert not await check(deframer, frame[:bytes_], len(frame))
    await check(deframer, frame)
    # Cut off, but told so and with a right FCS: it is read as far as it goes.
    for bytes_ in range(len(frame)):
        await check(deframer, with_fcs(frame[:bytes_]))


@cocotb.test()
async def a_wrong_bit_a_lost_carrier_or_a_byte_too_many_is_not_ok(dut):
    deframer = await started(dut)
    source = random.Random(SEED)
    frame = data_frame(314, (US, PEER, NET), 1, b"abc")
    for bit in range(0, 8 * len(frame)):
        wrong = bytearray(frame)
        wrong[bit // 8] ^= 1 << bit % 8
        await received(deframer, bytes(wrong))
        assert not deframer.ok
        deframer.hold(rx_end=0)
    for how in ({"error": True}, {"told_bytes": len(frame) - 1}, {"told_bytes": len(frame) + 1}):
        await received(deframer, frame, **how)
        assert not deframer.ok
        deframer.hold(rx_end=0, rx_error=0)
    await received(deframer, frame + source.randbytes(3), len(frame))
    assert not deframer.ok
    deframer.hold(rx_end=0)
    assert await check(deframer, frame)


@cocotb.test()
async def the_longest_frame_is_taken_and_a_longer_one_is_not(dut):
    deframer = await started(dut)
    source = random.Random(SEED)
    assert await check(deframer, data_frame(314, (US, PEER, NET), 1, source.randbytes(4095 - 28)))
    for too_many in (1, 2, 4096):
        assert not await check(deframer, data_frame(314, (US, PEER, NET), 1, source.randbytes(4095 - 28 + too_many)))
        assert deframer.bytes == 4095


@cocotb.test()
async def lengths_around_every_power_of_two_are_read_right(dut):
    deframer = await started(dut)
    source = random.Random(SEED)
    for power in range(6, 12):
        for bytes_ in (2**power - 1, 2**power, 2**power + 1):
            assert await check(deframer, data_frame(314, (US, PEER, NET), 1, source.randbytes(bytes_ - 28)))
            assert deframer.bytes == bytes_


@cocotb.test()
async def ends_without_beginning_and_beginnings_without_end_do_no_harm(dut):
    deframer = await started(dut)
    frame = data_frame(314, (US, PEER, NET), 1, b"abc")
    await deframer.set(rx_end=1)
    assert not deframer.ok
    await deframer.clock()
    deframer.hold(rx_end=0)
    for byte in frame:  # no rx_start
        await deframer.clock(rx_valid=1, rx_data=byte)
    await deframer.set(rx_end=1)
    assert not deframer.ok
    deframer.hold(rx_end=0)
    await deframer.clock(rx_start=1, rx_bytes=100)
    for byte in frame[:20]:
        await deframer.clock(rx_valid=1, rx_data=byte)
    assert await check(deframer, frame)  # a new rx_start without rx_end


@cocotb.test()
async def a_frame_may_begin_in_the_clock_in_which_one_ends(dut):
    deframer = await started(dut)
    first, second = control_frame(FrameKind.CTS, 9, US), control_frame(FrameKind.MAC_ACK, 0, PEER)
    await received(deframer, first)
    await deframer.set(rx_start=1, rx_bytes=14)
    assert deframer.ok and deframer.kind == FrameKind.CTS
    await deframer.clock()
    deframer.hold(rx_start=0, rx_end=0)
    for byte in second:
        await deframer.clock(rx_valid=1, rx_data=byte)
    await deframer.set(rx_end=1)
    assert deframer.ok and deframer.kind == FrameKind.MAC_ACK and deframer.ra == PEER


@cocotb.test()
async def monitor_mode_passes_every_byte_on(dut):
    deframer = await started(dut, cfg_whole=1)
    source = random.Random(SEED)
    for _ in range(20):
        frame = any_frame(source)
        assert await received(deframer, frame) == frame
        deframer.hold(rx_end=0)


@cocotb.test()
async def any_frame_is_read_as_the_standard_says(dut):
    deframer = await started(dut)
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    for _ in range(250):
        frame = any_frame(source)
        how = source.randrange(6)
        if how == 0:
            frame = frame[: source.randrange(len(frame) + 1)]
        gaps = source.choice((0, 0, 2))
        told = len(frame) if how != 1 else source.randrange(4096)
        await check(deframer, frame, told, error=how == 2, gap=lambda limit=gaps: source.randint(0, limit))


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_deframer(name):
    simulate("deframer", __file__, name, cocotb_tests(globals()))
