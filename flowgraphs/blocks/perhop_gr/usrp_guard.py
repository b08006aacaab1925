# SPDX-License-Identifier: GPL-2.0-or-later
"""USRP guard: passes received samples on, tells of lost ones, and is silent while the radio sends."""

from __future__ import annotations

import numpy as np
import pmt
from gnuradio import gr

from perhop_gr.faults import Faults
from perhop_gr.radio_time import RadioTime

OVERFLOW_REMEDY = (
    "this computer is too slow, or busy: close other programs, lower sample_rate_hz (at all nodes), leave windows away"
)
RATE_REMEDY = "stop what else sets this device"


class usrp_guard(gr.sync_block):
    """Between `usrp_source` and a receiver that takes its samples for time.

    UHD drops samples when the host does not take them. gr-uhd says so with nothing but a new tag `rx_time` at the first
    sample behind the gap (and a letter O on the terminal): its time is later than the samples before it tell.
    """

    def __init__(self, time: RadioTime, faults: Faults) -> None:
        gr.sync_block.__init__(self, "USRP guard", in_sig=[np.complex64], out_sig=[np.complex64])
        self.time, self.faults = time, faults
        self.set_tag_propagation_policy(gr.TPP_DONT)

    def work(self, input_items, output_items) -> int:
        samples, out = input_items[0], output_items[0]
        if self.faults.stopped.is_set():
            return -1
        first, count = self.nitems_read(0), len(samples)
        for tag in self.get_tags_in_window(0, 0, count):
            key = pmt.symbol_to_string(tag.key)
            if key == "rx_time":
                self._timed(
                    tag.offset, pmt.to_uint64(pmt.tuple_ref(tag.value, 0)) + pmt.to_double(pmt.tuple_ref(tag.value, 1))
                )
            elif key == "rx_rate" and abs(pmt.to_double(tag.value) - self.time.samp_rate) > 1e-6 * self.time.samp_rate:
                self.faults.tell(
                    "wrong rate",
                    f"the device now gives {pmt.to_double(tag.value):.10g} samples a second, "
                    f"not {self.time.samp_rate:.10g}",
                    RATE_REMEDY,
                )
        if self.faults.stopped.is_set():
            return -1
        out[:] = samples
        self.time.passed = first + count
        with self.time.lock:
            sending = self.time.sending
            for begin, end in sending:
                if begin < first + count and end > first:
                    out[max(begin - first, 0) : end - first] = 0
            self.time.sending = [each for each in sending if each[1] > first + count]
        return count

    def _timed(self, sample: int, time_s: float) -> None:
        if self.time.first_s is None:
            self.time.first_s = time_s - sample / self.time.samp_rate
            return
        lost = round((time_s - self.time.seconds_of(sample)) * self.time.samp_rate)
        if lost:
            at_s = sample / self.time.samp_rate
            self.faults.tell(
                "overflow",
                f"{lost} samples ({lost / self.time.samp_rate * 1e3:.2f} ms) were lost {at_s:.3f} s after the start",
                OVERFLOW_REMEDY,
            )
            # Where faults are only counted, what follows keeps its time.
            self.time.first_s += lost / self.time.samp_rate
