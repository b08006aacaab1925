# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes and reads frames of IEEE 802.11-2012 as bytes; written from clause 8, not from the gateware."""

import random
import struct
import zlib
from dataclasses import dataclass

from perhop.registers.spec_generated import FrameKind

MAX_MPDU_BYTES = 4095


def address_bytes(address: int) -> bytes:
    """A MAC address as it is sent."""
    return address.to_bytes(6, "big")


def with_fcs(frame: bytes) -> bytes:
    """The frame and its FCS (8.2.4.8): CRC-32, its highest coefficient first, which is zlib's low byte."""
    return frame + struct.pack("<I", zlib.crc32(frame))


def control_frame(kind: FrameKind, duration_us: int, ra: int, ta: int | None = None) -> bytes:
    """RTS (8.3.1.2), CTS (8.3.1.3) or MAC ACK (8.3.1.4)."""
    subtype = {FrameKind.RTS: 11, FrameKind.CTS: 12, FrameKind.MAC_ACK: 13}[kind]
    frame = struct.pack("<BBH", subtype << 4 | 1 << 2, 0, duration_us) + address_bytes(ra)
    return with_fcs(frame + (address_bytes(ta) if ta is not None else b""))


def data_frame(
    duration_us: int,
    addresses: tuple[int, ...],
    sequence: int,
    msdu: bytes,
    *,
    retry: bool = False,
    frame_control: int = 2 << 2,
    flags: int = 0,
    fragment: int = 0,
    qos: bytes = b"",
) -> bytes:
    """A DATA frame (8.3.2) with three addresses, or four; `qos` is what follows the addresses."""
    flags |= (3 if len(addresses) == 4 else 0) | retry << 3
    head = struct.pack("<BBH", frame_control, flags, duration_us) + b"".join(map(address_bytes, addresses[:3]))
    head += struct.pack("<H", sequence << 4 | fragment) + b"".join(map(address_bytes, addresses[3:]))
    return with_fcs(head + qos + msdu)


@dataclass(frozen=True)
class Reading:
    """What a station understands of received bytes; None where it says nothing."""

    ok: bool
    kind: FrameKind | None = None
    duration_us: int | None = None
    ra: int | None = None
    ta: int | None = None
    a3: int | None = None
    a4: int | None = None
    sequence: int | None = None
    retry: bool | None = None
    header_bytes: int | None = None
    msdu: bytes | None = None


def read(frame: bytes, told_bytes: int, error: bool = False) -> Reading:
    """Reads the bytes of a reception whose PLCP header promised `told_bytes`."""
    whole = len(frame) == told_bytes <= MAX_MPDU_BYTES and not error and len(frame) >= 14
    if not whole or zlib.crc32(frame[:-4]) != struct.unpack("<I", frame[-4:])[0]:
        return Reading(ok=False)
    control, flags, duration = struct.unpack("<BBH", frame[:4])
    version, frame_type, subtype = control & 3, control >> 2 & 3, control >> 4
    to_ds, from_ds, more_fragments, retry = (bool(flags & 1 << bit) for bit in range(4))
    protected, order = bool(flags & 64), bool(flags & 128)
    ra = int.from_bytes(frame[4:10], "big")
    if version != 0:
        return Reading(ok=True, kind=FrameKind.OTHER, duration_us=0)
    duration_us = duration if duration < 1 << 15 else 0
    known = Reading(ok=True, kind=FrameKind.OTHER, duration_us=duration_us, ra=ra)
    if frame_type == 1:
        kinds = {11: (FrameKind.RTS, 20), 12: (FrameKind.CTS, 14), 13: (FrameKind.MAC_ACK, 14)}
        kind, right_bytes = kinds.get(subtype, (FrameKind.OTHER, 0))
        if len(frame) != right_bytes:
            return known
        ta = int.from_bytes(frame[10:16], "big") if kind == FrameKind.RTS else 0
        return Reading(True, kind, duration_us, ra, ta, header_bytes=right_bytes - 4)
    if frame_type != 2:
        return known
    header_bytes = 24 + 6 * (to_ds and from_ds) + (2 + 4 * order if subtype & 8 else 0)
    if len(frame) < header_bytes + 4:
        return known
    sequence = struct.unpack("<H", frame[22:24])[0]
    takes = subtype == 0 and not more_fragments and sequence & 15 == 0 and not protected and not order
    return Reading(
        ok=True,
        kind=FrameKind.DATA if takes else FrameKind.OTHER,
        duration_us=duration_us,
        ra=ra,
        ta=int.from_bytes(frame[10:16], "big"),
        a3=int.from_bytes(frame[16:22], "big"),
        a4=int.from_bytes(frame[24:30], "big") if to_ds and from_ds else 0,
        sequence=sequence >> 4,
        retry=retry,
        header_bytes=header_bytes,
        msdu=frame[header_bytes:-4],
    )


def any_frame(source: random.Random) -> bytes:
    """A frame of any kind, mostly well formed, its FCS right."""
    addresses = tuple(source.getrandbits(48) for _ in range(source.choice((3, 3, 4))))
    what = source.randrange(8)
    if what < 3:
        kind = (FrameKind.RTS, FrameKind.CTS, FrameKind.MAC_ACK)[what]
        return control_frame(
            kind, source.getrandbits(15), addresses[0], addresses[1] if kind == FrameKind.RTS else None
        )
    if what < 6:
        msdu = source.randbytes(source.choice((0, 1, 2, source.randrange(80))))
        return data_frame(
            source.getrandbits(16) if what == 5 else source.getrandbits(15),
            addresses,
            source.getrandbits(12),
            msdu,
            retry=source.random() < 0.5,
            frame_control=source.choice((0x08, 0x08, 0x08, 0x88, 0x48, 0x09, 0xC8)),
            flags=source.choice((0, 0, 0, 0, 1, 2, 4, 64, 128, 0x30)),
            fragment=source.choice((0, 0, 0, 3)),
        )
    return with_fcs(source.randbytes(source.randrange(10, 60)))
