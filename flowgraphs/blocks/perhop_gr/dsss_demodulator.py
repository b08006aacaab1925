# SPDX-License-Identifier: GPL-2.0-or-later
"""DSSS demodulator: samples in, frames out, with what is known of their signal."""

import math
import threading

import numpy as np
import pmt
from gnuradio import gr
from perhop import modem

from perhop_gr import frames, pdus

FULL_SCALE = 32768
LEVEL_OF_FULL_SCALE_DB = 20 * math.log10(22 * FULL_SCALE * 4 / math.pi)
"""Level of a signal whose envelope is constant and 1: |I| + |Q| is 4 / pi of it on the average."""
CHIPS_PER_US = 11
SYMBOL_SAMPLES = 22
MARK_BEHIND_SAMPLES = 3 * SYMBOL_SAMPLES
"""What the receiver may still tell of lies at most as far behind the samples that it was given."""


class dsss_demodulator(gr.sync_block):
    """The gateware's receiver, number by number, for complex samples at two a chip (22 Msps at 11 Mchip/s).

    Port `psdu`: every frame with a good PLCP header, its FCS included, good or bad. Port `mpdu`: those whose FCS is
    good, without it, as gr-ieee802-11's `mac_out`. Port `cca`: True or False when the medium turns busy or free. Port
    `symbols`: the decision variables of each frame, for a constellation. Port `phy`: frames, busy and free, and time
    marks in the order of their times, for the MAC block.

    The dictionary of a frame: `fcs_ok`, `snr_db` (Es/N0), `carrier_hz`, `rssi_db` (of full scale, plus
    `rssi_offset_db`), `rate` (0 or 1), `short_preamble`, `start_us` and `end_us` (of the frame's first and last
    symbol since the first sample), `snr` and `frequency offset` as gr-ieee802-11 calls them. `finished` is set when
    there are no more samples: a flowgraph with message blocks does not end by itself.
    """

    def __init__(
        self,
        samp_rate: float = 22e6,
        energy_threshold_dbfs: float | None = None,
        rssi_offset_db: float = 0.0,
        symbols: bool = False,
        phy: bool = False,
        mac_time: bool = False,
    ) -> None:
        """energy_threshold_dbfs: energy that makes the medium busy by itself; None: only a DSSS carrier does.

        phy: serve port `phy`, with a time mark after each piece of samples. mac_time: a symbol, 22 samples, is a
        microsecond in all times, whatever samp_rate is: the MAC's own, whose airtimes then hold at any rate.
        """
        gr.sync_block.__init__(self, "DSSS demodulator", in_sig=[np.complex64], out_sig=None)
        if samp_rate <= 0:
            raise ValueError("DSSS demodulator: samp_rate must be above 0")
        threshold_db = None
        if energy_threshold_dbfs is not None:
            threshold_db = round(energy_threshold_dbfs + LEVEL_OF_FULL_SCALE_DB)
        self.samp_rate, self.rssi_offset_db = samp_rate, rssi_offset_db
        self.frames = self.good_frames = 0
        self.finished = threading.Event()
        self._symbols, self._phy = symbols, phy
        self._us_per_sample = 1 / SYMBOL_SAMPLES if mac_time else 1e6 / samp_rate
        self.receiver = modem.Receiver(keep_symbols=symbols, energy_threshold_db=threshold_db)
        self._ports = {name: pmt.intern(name) for name in ("psdu", "mpdu", "cca", "symbols", "phy")}
        for port in self._ports.values():
            self.message_port_register_out(port)

    def work(self, input_items, output_items) -> int:
        samples = input_items[0]
        self.receiver.push(np.ascontiguousarray(samples))
        events = [(each.ended_at, 0, each) for each in self.receiver.take_receptions()]
        events += [(at, 1, busy) for at, busy in self.receiver.take_carrier_edges()]
        for at, kind, what in sorted(events, key=lambda event: event[:2]):
            if kind == 0:
                self._frame(what)
            else:
                self._carrier(at, what)
        if self._phy:
            time_us = int(max(self.receiver.samples - MARK_BEHIND_SAMPLES, 0) * self._us_per_sample)
            self._publish("phy", pdus.pdu({"time_us": time_us}))
        return len(samples)

    def stop(self) -> bool:
        self.finished.set()
        return super().stop()

    def _publish(self, port: str, message) -> None:
        self.message_port_pub(self._ports[port], message)

    def _carrier(self, at: int, busy: bool) -> None:
        self._publish("cca", pmt.from_bool(busy))
        if self._phy:
            self._publish("phy", pdus.pdu({"cca": busy, "at_us": int(at * self._us_per_sample)}))

    def _frame(self, reception) -> None:
        psdu = reception.psdu
        # At other rates there are no octets.
        if not psdu:
            return
        good = frames.fcs_good(psdu)
        self.frames += 1
        self.good_frames += good
        # SFD and header end `started_at`; SYNC stands before them.
        header_symbols = 72 + 24 if reception.short_preamble else 144 + 48
        carrier_hz = reception.carrier_hz * self.samp_rate / (2e6 * CHIPS_PER_US)
        meta = {
            "fcs_ok": good,
            "snr_db": float(reception.snr_db),
            "carrier_hz": carrier_hz,
            "rssi_db": reception.level_db - LEVEL_OF_FULL_SCALE_DB + self.rssi_offset_db,
            "rate": int(reception.signal == 0x14),
            "short_preamble": reception.short_preamble,
            "start_us": (reception.started_at + 1 - header_symbols * SYMBOL_SAMPLES) * self._us_per_sample,
            "end_us": (reception.ended_at + 1) * self._us_per_sample,
            "snr": float(reception.snr_db),
            "frequency offset": carrier_hz,
        }
        message = pdus.pdu(meta, psdu)
        self._publish("psdu", message)
        if self._phy:
            self._publish("phy", message)
        if good:
            self._publish("mpdu", pdus.pdu(meta, psdu[: -frames.FCS_BYTES]))
        if self._symbols:
            self._publish("symbols", pdus.samples_pdu(meta, reception.symbols))
