# SPDX-License-Identifier: GPL-2.0-or-later
"""Burst stream: PDUs of samples in, the same as a stream out, with silence around each, and nothing between them."""

import time
from collections import deque

import numpy as np
import pmt
from gnuradio import gr

from perhop_gr import pdus

IDLE_S = 0.0002


class burst_stream(gr.sync_block):
    """For a channel and a receiver that work as fast as samples come, and not at all while there are none.

    The silence behind a burst pushes it through what the receiver delays.
    """

    def __init__(self, before_samples: int = 500, after_samples: int = 4000) -> None:
        gr.sync_block.__init__(self, "Burst stream", in_sig=None, out_sig=[np.complex64])
        if before_samples < 0 or after_samples < 0:
            raise ValueError("burst stream: before_samples and after_samples must be at least 0")
        self.bursts = self.refused = 0
        self._silence = [np.zeros(count, dtype=np.complex64) for count in (before_samples, after_samples)]
        self._queue: deque[np.ndarray] = deque()
        self._now, self._at = np.zeros(0, dtype=np.complex64), 0
        self.message_port_register_in(pmt.intern("burst"))
        self.set_msg_handler(pmt.intern("burst"), self._take)

    def _take(self, message) -> None:
        found = pdus.samples_of(message)
        if found is None or not len(found[1]):
            self.refused += 1
            return
        self.bursts += 1
        self._queue.append(np.concatenate([self._silence[0], found[1], self._silence[1]]))

    def work(self, input_items, output_items) -> int:
        out = output_items[0]
        if self._at == len(self._now):
            if not self._queue:
                time.sleep(IDLE_S)
                return 0
            self._now, self._at = self._queue.popleft(), 0
        count = min(len(out), len(self._now) - self._at)
        out[:count] = self._now[self._at : self._at + count]
        self._at += count
        return count
