# SPDX-License-Identifier: GPL-2.0-or-later
"""DSSS modulator: PSDUs in, a stream of bursts out."""

import time
from collections import deque

import numpy as np
import pmt
from gnuradio import gr
from perhop import modem

from perhop_gr import pdus

IDLE_S = 0.0005
"""Rest of a modulator that has nothing to send and does not fill gaps."""


class dsss_modulator(gr.sync_block):
    """PDUs on port `psdu` become bursts of 802.11 DSSS, as the gateware sends them, sample for sample.

    A PDU's `rate` (0: 1 Mb/s, 1: 2 Mb/s) and `short_preamble` replace the block's. The first sample of a burst has
    the tags `tx_sob` and `packet_len`, and `tx_time` where the PDU has `tx_time_s` (seconds since the radio's epoch);
    the last one has `tx_eob`.
    """

    def __init__(
        self,
        rate: int = 1,
        short_preamble: bool = False,
        samples_per_chip: int = 2,
        amplitude: float = 0.5,
        gap_samples: tuple[int, int] = (2000, 20000),
        fill: bool = True,
        frames: int = 0,
        seed: int = 1,
    ) -> None:
        """gap_samples: least and most samples of silence before a burst, drawn with `seed`.

        fill: send zeros while there is nothing to send (a simulation); without, nothing comes (a radio's bursts).
        frames: the flowgraph ends after as many; 0: never.
        """
        gr.sync_block.__init__(self, "DSSS modulator", in_sig=None, out_sig=[np.complex64])
        modem.airtime_us(0, rate, short_preamble)
        if samples_per_chip not in (2, 4):
            raise ValueError("DSSS modulator: samples_per_chip must be 2 or 4")
        if not 0 <= gap_samples[0] <= gap_samples[1]:
            raise ValueError("DSSS modulator: gap_samples must be (least, most), both at least 0")
        self.rate, self.short_preamble, self.samples_per_chip = rate, short_preamble, samples_per_chip
        self.amplitude, self.gap_samples, self.fill, self.frames = amplitude, gap_samples, fill, frames
        self.sent = self.refused = 0
        self._random = np.random.default_rng(seed)
        self._queue: deque[tuple[np.ndarray, float | None, int] | None] = deque()
        self._now = np.zeros(0, dtype=np.complex64)
        self._at = self._gap = 0
        self._burst = False
        self._tx_time_s: float | None = None
        self.message_port_register_in(pmt.intern("psdu"))
        self.set_msg_handler(pmt.intern("psdu"), self._take)

    def _take(self, message) -> None:
        found = pdus.octets_of(message)
        try:
            if found is None:
                raise ValueError("not a PDU of octets")
            meta, psdu = found
            rate = int(meta.get("rate", self.rate))
            short = bool(meta.get("short_preamble", self.short_preamble and rate == 1))
            wave = modem.transmitted_complex(psdu, rate, short, self.samples_per_chip, self.amplitude)
        except (ValueError, TypeError) as error:
            self.refused += 1
            gr.log.warn(f"DSSS modulator: a message was refused: {error}")
            return
        gap = int(self._random.integers(self.gap_samples[0], self.gap_samples[1] + 1)) if self.fill else 0
        tx_time_s = meta.get("tx_time_s")
        self._queue.append((np.concatenate([np.zeros(gap, dtype=np.complex64), wave]), tx_time_s, gap))
        self.sent += 1
        if self.sent == self.frames:
            self._queue.append(None)

    def work(self, input_items, output_items) -> int:
        out = output_items[0]
        if self._at == len(self._now) and not self._next():
            return self._idle(out)
        count = min(len(out), len(self._now) - self._at)
        out[:count] = self._now[self._at : self._at + count]
        if self._burst:
            self._tag(count)
        self._at += count
        return count

    def _next(self) -> bool:
        if not self._queue or self._queue[0] is None:
            return False
        self._now, self._tx_time_s, self._gap = self._queue.popleft()
        self._at, self._burst = 0, True
        return True

    def _idle(self, out) -> int:
        if self._queue:
            # The last frame is out; what receives it needs a little more.
            if self._burst:
                self._burst = False
                self._now, self._at = np.zeros(2000, dtype=np.complex64), 0
                return self.work(None, [out])
            return -1
        if self.fill:
            count = min(len(out), 1024)
            out[:count] = 0
            return count
        time.sleep(IDLE_S)
        return 0

    def _tag(self, count: int) -> None:
        first = self.nitems_written(0) - self._at
        if self._at <= self._gap < self._at + count:
            at = first + self._gap
            self.add_item_tag(0, at, pmt.intern("tx_sob"), pmt.PMT_T)
            self.add_item_tag(0, at, pmt.intern("packet_len"), pmt.from_long(len(self._now) - self._gap))
            if self._tx_time_s is not None:
                whole = int(self._tx_time_s)
                value = pmt.make_tuple(pmt.from_uint64(whole), pmt.from_double(self._tx_time_s - whole))
                self.add_item_tag(0, at, pmt.intern("tx_time"), value)
        if self._at + count == len(self._now):
            self.add_item_tag(0, first + len(self._now) - 1, pmt.intern("tx_eob"), pmt.PMT_T)
