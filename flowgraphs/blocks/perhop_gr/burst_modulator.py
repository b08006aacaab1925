# SPDX-License-Identifier: GPL-2.0-or-later
"""DSSS burst modulator: PSDUs in, PDUs of samples out, for a medium that places them in time."""

import pmt
from gnuradio import gr
from perhop import modem

from perhop_gr import pdus


class burst_modulator(gr.basic_block):
    """PDUs on port `psdu` become PDUs of complex samples on port `burst`, with the same dictionary.

    A PDU without octets is a time mark of the MAC block, and passes as it is: marks and bursts stay in order.
    """

    def __init__(self, rate: int = 0, samples_per_chip: int = 2, amplitude: float = 0.5) -> None:
        gr.basic_block.__init__(self, "DSSS burst modulator", in_sig=None, out_sig=None)
        modem.airtime_us(0, rate)
        self.rate, self.samples_per_chip, self.amplitude = rate, samples_per_chip, amplitude
        self.refused = 0
        self._out = pmt.intern("burst")
        self.message_port_register_in(pmt.intern("psdu"))
        self.message_port_register_out(self._out)
        self.set_msg_handler(pmt.intern("psdu"), self._take)

    def _take(self, message) -> None:
        found = pdus.octets_of(message)
        try:
            if found is None:
                raise ValueError("not a PDU of octets")
            meta, psdu = found
            if not psdu:
                self.message_port_pub(self._out, message)
                return
            rate = int(meta.get("rate", self.rate))
            short = bool(meta.get("short_preamble", False))
            wave = modem.transmitted_complex(psdu, rate, short, self.samples_per_chip, self.amplitude)
        except (ValueError, TypeError) as error:
            self.refused += 1
            gr.log.warn(f"DSSS burst modulator: a message was refused: {error}")
            return
        self.message_port_pub(self._out, pdus.samples_pdu(meta, wave))
