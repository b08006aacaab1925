# SPDX-License-Identifier: GPL-2.0-or-later
"""Packet source: numbered MSDUs for a MAC block."""

import random
import struct

import pmt
from gnuradio import gr

from perhop_gr import pdus

SNAP = bytes.fromhex("aaaa0300000088b6")
"""LLC/SNAP header with the second EtherType for local experiments (IEEE 802)."""


class packet_source(gr.basic_block):
    """Sends `count` MSDUs to port `packets`, the first at `first_us` and one every `interval_us` of the MAC's time;
    LLC/SNAP, then its number (4 octets).
    """

    def __init__(
        self,
        count: int = 20,
        msdu_bytes: int = 300,
        next_hop: int = 1,
        first_us: int = 50_000,
        interval_us: int = 0,
        seed: int = 1,
    ) -> None:
        """first_us: the MAC's time must not have come so far when the flowgraph starts; then all runs are the same."""
        gr.basic_block.__init__(self, "Packet source", in_sig=None, out_sig=None)
        if not 12 <= msdu_bytes <= 2304:
            raise ValueError("packet source: msdu_bytes must be 12 to 2304")
        self._settings = (count, msdu_bytes, next_hop, first_us, interval_us, seed)
        self._out = pmt.intern("packets")
        self.message_port_register_out(self._out)

    def start(self) -> bool:
        count, msdu_bytes, next_hop, first_us, interval_us, seed = self._settings
        draw = random.Random(seed)
        for number in range(count):
            msdu = SNAP + struct.pack(">I", number) + draw.randbytes(msdu_bytes - len(SNAP) - 4)
            self.message_port_pub(
                self._out, pdus.pdu({"next_hop": next_hop, "at_us": first_us + number * interval_us}, msdu)
            )
        return super().start()


def packet_number(msdu: bytes) -> int | None:
    """The number of one of these MSDUs; None where it is none."""
    if not msdu.startswith(SNAP) or len(msdu) < len(SNAP) + 4:
        return None
    return struct.unpack_from(">I", msdu, len(SNAP))[0]
