# SPDX-License-Identifier: GPL-2.0-or-later
"""What a frame says of itself (IEEE 802.11-2012, 8.2.4 and 8.3), for recorders and tests; and its FCS."""

import zlib
from dataclasses import dataclass

FCS_BYTES = 4
KINDS = {(1, 11): "rts", (1, 12): "cts", (1, 13): "mac_ack"}


@dataclass(frozen=True)
class FrameHeader:
    """Kind and addresses, as text; None where the frame has none."""

    kind: str
    duration_us: int | None = None
    receiver: str | None = None
    transmitter: str | None = None

    def label(self) -> str:
        """One line for people."""
        ways = (self.transmitter, self.receiver)
        return self.kind + "".join(f" {word} {way}" for word, way in zip(("from", "to"), ways, strict=True) if way)


def with_fcs(mpdu: bytes) -> bytes:
    """The MPDU and its FCS."""
    return mpdu + zlib.crc32(mpdu).to_bytes(FCS_BYTES, "little")


def fcs_good(psdu: bytes) -> bool:
    """The last four octets are the FCS of the others."""
    return len(psdu) > FCS_BYTES and psdu == with_fcs(psdu[:-FCS_BYTES])


def header_of(psdu: bytes) -> FrameHeader:
    """Of a frame with its FCS; kind `other` for what is none of ours."""
    if len(psdu) < 10 + FCS_BYTES:
        return FrameHeader("other")
    kind_bits, subtype = psdu[0] >> 2 & 3, psdu[0] >> 4
    kind = "data" if kind_bits == 2 else KINDS.get((kind_bits, subtype), "other")
    duration_us = int.from_bytes(psdu[2:4], "little")
    transmitter = psdu[10:16].hex(":") if kind in ("rts", "data") and len(psdu) >= 16 + FCS_BYTES else None
    return FrameHeader(kind, duration_us, psdu[4:10].hex(":"), transmitter)
