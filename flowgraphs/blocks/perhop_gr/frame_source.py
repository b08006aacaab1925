# SPDX-License-Identifier: GPL-2.0-or-later
"""Frame source: random DATA frames, all at once."""

import random

import pmt
from gnuradio import gr

from perhop_gr import frames, pdus

HEADER = bytes.fromhex("08000000") + bytes.fromhex("ffffffffffff020000000001020000000000")


class frame_source(gr.basic_block):
    """Sends `count` DATA frames to port `psdu` when the flowgraph starts: random bodies, random lengths, FCS."""

    def __init__(
        self, count: int = 100, least_bytes: int = 40, most_bytes: int = 400, rate: int = 1, seed: int = 1
    ) -> None:
        """least_bytes, most_bytes: of the PSDU, with header and FCS."""
        gr.basic_block.__init__(self, "Frame source", in_sig=None, out_sig=None)
        if not 28 <= least_bytes <= most_bytes <= 4095:
            raise ValueError("frame source: 28 <= least_bytes <= most_bytes <= 4095 must hold")
        self._settings = (count, least_bytes, most_bytes, rate, seed)
        self._out = pmt.intern("psdu")
        self.message_port_register_out(self._out)

    def start(self) -> bool:
        count, least, most, rate, seed = self._settings
        draw = random.Random(seed)
        for number in range(count):
            body = draw.randbytes(draw.randint(least, most) - len(HEADER) - 2 - frames.FCS_BYTES)
            sequence = (number % 4096 << 4).to_bytes(2, "little")
            psdu = frames.with_fcs(HEADER + sequence + body)
            self.message_port_pub(self._out, pdus.pdu({"rate": rate}, psdu))
        return super().start()
