# SPDX-License-Identifier: GPL-2.0-or-later
"""CHDR packets: bytes written out by hand from the RFNoC specification, and whatever else comes in a datagram."""

import random
import struct

import pytest

from .devices import chdr
from .devices import device as device_module

SEED = 1


def test_a_data_packet_has_the_bytes_of_the_specification():
    packet = chdr.Packet(chdr.Kind.DATA, 0x1234, 0x5678, bytes(range(5)), end_of_burst=True)
    #                     EOB and kind       length: header and 5 bytes
    head = 1 << 57 | 6 << 53 | 0x5678 << 32 | 13 << 16 | 0x1234
    assert packet.encode() == struct.pack("<Q", head) + bytes(range(5)) + bytes(3)
    assert chdr.decode(packet.encode()) == packet


def test_a_timed_packet_carries_its_time_in_the_second_word():
    packet = chdr.Packet(chdr.Kind.TIMED_DATA, 1, 2, bytes(8), time_ticks=0x0123_4567_89AB)
    assert struct.unpack_from("<Q", packet.encode(), 8) == (0x0123_4567_89AB,)
    assert chdr.decode(packet.encode()) == packet


def test_metadata_is_left_out_of_the_payload():
    head = 6 << 53 | 2 << 48 | 32 << 16 | 7
    raw = struct.pack("<4Q", head, 0xAAAA, 0xBBBB, 0xCCCC)
    assert chdr.decode(raw).payload == struct.pack("<Q", 0xCCCC)


def test_a_register_access_has_the_bytes_of_the_specification():
    access = chdr.Control(
        destination_port=3, source_port=5, source=0x0102, sequence=9, address=0x12345, access=chdr.Access.WRITE,
        words=(0xCAFEF00D,),
    )  # fmt: skip
    head = 0x0102 << 32 | 9 << 24 | 1 << 20 | 5 << 10 | 3
    assert access.encode() == struct.pack("<2Q", head, 0xCAFEF00D << 32 | 1 << 24 | 0xF << 20 | 0x12345)
    assert chdr.Control.decode(access.encode()) == access
    answer = chdr.Control.decode(access.answer((1,), 2, from_endpoint=0x0A0B).encode())
    assert (answer.destination_port, answer.source_port, answer.source) == (5, 3, 0x0A0B)
    assert (answer.is_answer, answer.status, answer.words) == (True, 2, (1,))


@pytest.mark.parametrize("count", range(1, 8))
def test_a_block_access_keeps_all_of_its_words(count):
    access = chdr.Control(1, 2, 3, 4, 5, chdr.Access.BLOCK_WRITE, tuple(range(100, 100 + count)), time_ticks=77)
    assert chdr.Control.decode(access.encode()) == access


def test_what_tells_a_streams_credit_survives_the_wire():
    status = chdr.StreamStatus(0x1234, 2_500_000, 0xFFFFFF, (1 << 40) + 5, (1 << 33) + 7)
    assert chdr.StreamStatus.decode(status.encode()) == status
    order = chdr.StreamOrder(7, chdr.StreamCommand.RESYNC, 9, 1 << 41)
    assert chdr.StreamOrder.decode(order.encode()) == order


def test_a_device_survives_any_datagram():
    """Counted as lost, or answered: no exception, and afterwards it answers as before."""
    made = random.Random(SEED)
    lost, sent = [], []
    device = device_module.Device(
        device_module.ImageCore("none", "e320", (), (), ()), 22e6, lambda raw, host: sent.append(raw),
        lambda kind, **what: lost.append(kind),
    )  # fmt: skip
    for _ in range(20_000):
        raw = bytearray(made.randbytes(made.choice((0, 1, 7, 8, 16, 24, 40, 64))))
        if len(raw) >= 8:
            # Often a good header, or nothing would get behind it.
            kind = made.choice((0, 1, 2, 4, 6, 7))
            raw[:8] = struct.pack("<Q", kind << 53 | len(raw) << 16 | made.choice((0, 1, 0xFFFF)))
        device.datagram(bytes(raw), ("127.0.0.1", 1))
    assert lost.count("lost") > 1000
