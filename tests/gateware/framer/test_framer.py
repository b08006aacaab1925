# SPDX-License-Identifier: GPL-2.0-or-later
"""framer: the bytes of RTS, CTS, MAC ACK and DATA are those of IEEE 802.11-2012, clause 8."""

import random
import shutil
import struct
import subprocess
from pathlib import Path

import cocotb
import pytest
from cocotbext.perhop.mpdu import control_frame, data_frame
from perhop.registers.spec_generated import PROFILES, FrameKind, RadiotapHeader
from testbench.build import cocotb_tests, simulate
from testbench.clocked import Clocked

SEED = 1
OURS, PEER, BSSID = 0x0200_0000_0001, 0x0200_0000_0002, 0x0211_2233_4455
FIELDS = ("kind", "bytes", "duration_us", "ra", "sequence_number", "retry", "four_address", "a3", "a4")
BROADCAST = 0xFFFF_FFFF_FFFF


async def started(dut) -> Clocked:
    inputs = ("start", *FIELDS, "s_axis_tdata", "s_axis_tvalid", "m_axis_tready")
    framer = Clocked(dut, *inputs, cfg_address=OURS, cfg_bssid=BSSID)
    await framer.reset()
    return framer


def always(_: int) -> bool:
    return True


async def sent(framer: Clocked, msdu: bytes = b"", *, ready=always, there=always, clocks: int = 30000, **fields: int):
    """Gives a frame; returns its bytes and in which clock after `start` each went out. The AXI4-Stream rules hold."""
    framer.hold(**dict.fromkeys(FIELDS, 0) | fields)
    await framer.clock(start=1)
    out, at, body = bytearray(), [], iter(msdu)
    waiting: int | None = None
    offered: tuple[int, int] | None = None
    for clock in range(1, clocks):
        if waiting is None and there(clock):
            waiting = next(body, None)
        taking = ready(clock)
        await framer.set(s_axis_tvalid=int(waiting is not None), s_axis_tdata=waiting or 0, m_axis_tready=int(taking))
        beat = (framer.m_axis_tdata, framer.m_axis_tlast) if framer.m_axis_tvalid else None
        assert offered is None or beat == offered, "a byte that was offered changed"
        taken = beat is not None and taking
        offered = None if taken else beat
        if waiting is not None and framer.s_axis_tready:
            assert taken, "a byte of the MSDU was taken and not sent"
            waiting = None
        await framer.clock()
        if taken:
            out.append(beat[0])
            at.append(clock)
            if beat[1]:
                assert next(body, None) is None and waiting is None
                assert not framer.busy
                return bytes(out), at
    raise AssertionError("the frame did not end")


def data_fields(msdu: bytes, *, four: bool = False, **changes: int) -> dict[str, int]:
    return {
        "kind": FrameKind.DATA,
        "bytes": len(msdu) + (34 if four else 28),
        "duration_us": 314,
        "ra": PEER,
        "sequence_number": 0xABC,
        "four_address": int(four),
        "a3": 0x0200_0000_0007,
        "a4": 0x0200_0000_0009,
    } | changes


@cocotb.test()
async def control_frames_are_those_of_the_standard(dut):
    framer = await started(dut)
    for duration_us in (0, 1, 0x1234, 32767):
        for kind, bytes_, ta in ((FrameKind.RTS, 20, OURS), (FrameKind.CTS, 14, None), (FrameKind.MAC_ACK, 14, None)):
            # The retry bit and the addresses of DATA do not leak into a control frame.
            fields = {"retry": 1, "four_address": 1, "a3": 5, "a4": 6, "sequence_number": 0xFFF}
            frame, _ = await sent(framer, kind=kind, bytes=bytes_, duration_us=duration_us, ra=PEER, **fields)
            assert frame == control_frame(kind, duration_us, PEER, ta)


@cocotb.test()
async def a_data_frame_has_three_addresses_or_four(dut):
    framer = await started(dut)
    msdu = bytes(range(40))
    for retry in (0, 1):
        frame, _ = await sent(framer, msdu, **data_fields(msdu, retry=retry))
        assert frame == data_frame(314, (PEER, OURS, BSSID), 0xABC, msdu, retry=bool(retry))
        frame, _ = await sent(framer, msdu, **data_fields(msdu, four=True, retry=retry))
        assert frame == data_frame(
            314, (PEER, OURS, 0x0200_0000_0007, 0x0200_0000_0009), 0xABC, msdu, retry=bool(retry)
        )
    frame, _ = await sent(framer, msdu, **data_fields(msdu, ra=BROADCAST, duration_us=0))
    assert frame == data_frame(0, (BROADCAST, OURS, BSSID), 0xABC, msdu)


@cocotb.test()
async def a_byte_goes_out_in_every_clock_from_the_first_after_start(dut):
    framer = await started(dut)
    msdu = bytes(25)
    for fields, payload in (
        ({"kind": FrameKind.CTS, "bytes": 14}, b""),
        (data_fields(msdu), msdu),
        (data_fields(msdu, four=True), msdu),
    ):
        frame, at = await sent(framer, payload, **fields)
        assert at == list(range(1, len(frame) + 1))


@cocotb.test()
async def an_msdu_of_any_length_fits(dut):
    framer = await started(dut)
    source = random.Random(SEED)
    for bytes_ in (0, 1, 2, 3, 4, 255, 256, 4067):
        msdu = source.randbytes(bytes_)
        frame, _ = await sent(framer, msdu, **data_fields(msdu))
        assert frame == data_frame(314, (PEER, OURS, BSSID), 0xABC, msdu)


@cocotb.test()
async def neither_a_slow_phy_nor_a_slow_msdu_changes_a_frame(dut):
    framer = await started(dut)
    source = random.Random(SEED)
    dut._log.info("seed %d", SEED)
    for _ in range(40):
        msdu = source.randbytes(source.randrange(50))
        four, retry, sequence = source.random() < 0.5, source.random() < 0.5, source.getrandbits(12)
        ready_share, there_share = source.choice((0.1, 0.5, 1.0)), source.choice((0.1, 0.5, 1.0))
        frame, _ = await sent(
            framer,
            msdu,
            ready=lambda _, share=ready_share: source.random() < share,
            there=lambda _, share=there_share: source.random() < share,
            **data_fields(msdu, four=four, retry=int(retry), sequence_number=sequence),
        )
        addresses = (PEER, OURS, 0x0200_0000_0007, 0x0200_0000_0009) if four else (PEER, OURS, BSSID)
        assert frame == data_frame(314, addresses, sequence, msdu, retry=retry)


@cocotb.test()
async def a_start_in_the_middle_of_a_frame_begins_a_whole_new_one(dut):
    framer = await started(dut)
    msdu = bytes(range(10))
    for stop in range(38):
        framer.hold(**data_fields(msdu))
        await framer.clock(start=1)
        for _ in range(stop):
            await framer.clock(m_axis_tready=1, s_axis_tvalid=1)
        frame, _ = await sent(framer, kind=FrameKind.MAC_ACK, bytes=14, ra=PEER)
        assert frame == control_frame(FrameKind.MAC_ACK, 0, PEER)


@cocotb.test()
async def scapy_and_tshark_read_every_frame_as_it_was_meant(dut):
    """Two dissectors that know nothing of this project agree on type, Duration, addresses, sequence, retry and FCS."""
    from scapy.layers.dot11 import Dot11FCS

    assert shutil.which("tshark"), "tshark is not installed: it stands in apt-packages.txt"
    framer = await started(dut)
    msdu = bytes.fromhex("aaaa03000000") + b"\x88\xb5" + bytes(30)
    meant = [
        ({"kind": FrameKind.RTS, "bytes": 20, "duration_us": 1200, "ra": PEER}, b""),
        ({"kind": FrameKind.CTS, "bytes": 14, "duration_us": 1000, "ra": PEER}, b""),
        ({"kind": FrameKind.MAC_ACK, "bytes": 14, "ra": PEER}, b""),
        (data_fields(msdu), msdu),
        (data_fields(msdu, retry=1, sequence_number=4095), msdu),
        (data_fields(msdu, four=True, sequence_number=1), msdu),
        (data_fields(msdu, ra=BROADCAST, duration_us=0), msdu),
    ]
    frames = [(await sent(framer, payload, **fields))[0] for fields, payload in meant]

    for (fields, _), frame in zip(meant, frames, strict=True):
        heard = Dot11FCS(frame)
        data = fields["kind"] == FrameKind.DATA
        assert (heard.type, heard.subtype) == ((2, 0) if data else (1, {0: 11, 1: 12, 3: 13}[fields["kind"]]))
        assert (
            heard.fcs == int.from_bytes(frame[-4:], "little") == int.from_bytes(heard.compute_fcs(frame[:-4]), "little")
        )
        assert int(heard.addr1.replace(":", ""), 16) == fields["ra"]
        assert fields.get("duration_us", 0) == heard.ID
        if data:
            assert fields["sequence_number"] == heard.SC >> 4
            assert heard.FCfield.retry == bool(fields.get("retry"))

    timing = PROFILES["dsss_long"]
    capture = Path("framer.pcap")
    with capture.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 127))
        for frame in frames:
            packet = RadiotapHeader(
                rate_500kbps=4, channel_mhz=timing.channel_mhz, channel_flags=timing.radiotap_channel_flags
            ).encode()
            packet += frame
            file.write(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)
    shown = ("fc.type_subtype", "duration", "ra", "ta", "sa", "da", "seq", "fc.retry", "fcs.status")
    command = [
        "tshark",
        "-n",
        "-r",
        str(capture),
        "-o",
        "wlan.check_checksum:TRUE",
        "-T",
        "fields",
        "-E",
        "separator=;",
    ]
    command += [word for field in shown for word in ("-e", f"wlan.{field}")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [dict(zip(shown, line.split(";"), strict=True)) for line in ran.stdout.splitlines()]
    assert len(lines) == len(frames)
    for (fields, _), line in zip(meant, lines, strict=True):
        kind, data = fields["kind"], fields["kind"] == FrameKind.DATA
        types = {FrameKind.RTS: 0x1B, FrameKind.CTS: 0x1C, FrameKind.MAC_ACK: 0x1D, FrameKind.DATA: 0x20}
        assert int(line["fc.type_subtype"], 0) == types[kind]
        assert line["fcs.status"] in ("1", "Good")
        assert int(line["duration"]) == fields.get("duration_us", 0)
        assert int(line["ra"].replace(":", ""), 16) == fields["ra"]
        assert line["fc.retry"] in (("1", "True") if fields.get("retry") else ("0", "False"))
        if data:
            assert int(line["seq"]) == fields["sequence_number"]
        if fields.get("four_address"):
            assert int(line["da"].replace(":", ""), 16) == fields["a3"]
            assert int(line["sa"].replace(":", ""), 16) == fields["a4"]


@pytest.mark.parametrize("name", cocotb_tests(globals()))
def test_framer(name):
    simulate("framer", __file__, name, cocotb_tests(globals()))
