# SPDX-License-Identifier: GPL-2.0-or-later
"""Frame check: how many of the frames that were sent arrive whole."""

import pmt
from gnuradio import gr

from perhop_gr import pdus


class frame_check(gr.basic_block):
    """Port `sent` takes the PSDUs that go out, port `received` those that come in, in any order."""

    def __init__(self) -> None:
        gr.basic_block.__init__(self, "Frame check", in_sig=None, out_sig=None)
        self.sent: dict[bytes, int] = {}
        self.received: dict[bytes, int] = {}
        self.snr_db: list[float] = []
        self.carrier_hz: list[float] = []
        for name in ("sent", "received"):
            self.message_port_register_in(pmt.intern(name))
        self.set_msg_handler(pmt.intern("sent"), self._sent)
        self.set_msg_handler(pmt.intern("received"), self._received)

    def _sent(self, message) -> None:
        found = pdus.octets_of(message)
        if found is not None:
            self.sent[found[1]] = self.sent.get(found[1], 0) + 1

    def _received(self, message) -> None:
        found = pdus.octets_of(message)
        if found is None:
            return
        self.received[found[1]] = self.received.get(found[1], 0) + 1
        for name, values in (("snr_db", self.snr_db), ("carrier_hz", self.carrier_hz)):
            if name in found[0]:
                values.append(found[0][name])

    def counts(self) -> dict[str, int]:
        """Frames sent, of them received whole, lost, and received without having been sent."""
        matched = sum(min(count, self.received.get(psdu, 0)) for psdu, count in self.sent.items())
        sent = sum(self.sent.values())
        return {
            "sent": sent,
            "whole": matched,
            "lost": sent - matched,
            "strange": sum(self.received.values()) - matched,
        }
