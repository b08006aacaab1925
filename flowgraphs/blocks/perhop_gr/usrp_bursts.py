# SPDX-License-Identifier: GPL-2.0-or-later
"""USRP bursts: PDUs of samples in, a stream of tagged bursts for `usrp_sink` out; and what the sink says of them."""

from __future__ import annotations

import time as clock
from collections import deque
from typing import Any

import numpy as np
import pmt
from gnuradio import gr

from perhop_gr import pdus
from perhop_gr.faults import Faults
from perhop_gr.radio_time import RadioTime

IDLE_S = 0.0002
UNDERFLOW_REMEDY = "this computer is too slow, or busy: close other programs, lower sample_rate_hz (at all nodes)"
LATE_REMEDY = (
    "raise latency_us, at most to half of the response timeout that is left of the profile (10 ms with host_phy), "
    "or lower sample_rate_hz (at all nodes), which makes all times longer"
)


class usrp_bursts(gr.sync_block):
    """Port `burst` takes PDUs of samples; a PDU without samples is a time mark: so far the MAC has come.

    A burst has the tags `packet_len` and, where its PDU has `at_us`, `tx_time`. Port `async_msgs` takes what gr-uhd
    says of the bursts that it sent.
    """

    def __init__(self, time: RadioTime, faults: Faults, length_tag: str) -> None:
        gr.sync_block.__init__(self, "USRP bursts", in_sig=None, out_sig=[np.complex64])
        self.time, self.faults = time, faults
        self.sent = self.refused = 0
        self._length_tag = pmt.intern(length_tag)
        self._queue: deque[tuple[np.ndarray, float | None]] = deque()
        self._now = np.zeros(0, dtype=np.complex64)
        self._at = 0
        for name, handler in (("burst", self._burst), ("async_msgs", self._told)):
            self.message_port_register_in(pmt.intern(name))
            self.set_msg_handler(pmt.intern(name), handler)

    def _burst(self, message) -> None:
        found = pdus.parts(message)
        if found is None:
            self.refused += 1
            return
        meta, vector = found
        if not pmt.is_c32vector(vector):
            # A mark; anything else is nothing that can be sent.
            if "time_us" in meta:
                self.time.marked_us = max(self.time.marked_us, int(meta["time_us"]))
            else:
                self.refused += 1
            return
        _, wave = pdus.samples_of(message)
        if not len(wave):
            self.refused += 1
            return
        at_s = None
        if "at_us" in meta and self.time.first_s is not None:
            at_us = int(meta["at_us"])
            self.time.most_lag_us = max(self.time.most_lag_us, self.time.passed / self.time.samples_per_us - at_us)
            begin = self.time.sample_of(at_us)
            at_s = self.time.seconds_of(begin)
            with self.time.lock:
                self.time.sending.append((begin, begin + len(wave)))
        self.sent += 1
        self._queue.append((wave, at_s))

    def _told(self, message) -> None:
        for event in events_of(message):
            if event in ("underflow", "underflow_in_packet"):
                self.faults.tell("underflow", "a burst had gaps: its samples came too slowly", UNDERFLOW_REMEDY)
            elif event == "time_error":
                self.faults.tell("late", "a burst reached the device after its time", LATE_REMEDY)
            elif event in ("seq_error", "seq_error_in_burst"):
                self.faults.tell(
                    "lost packets", "samples were lost on the way to the device", "look at cable and network"
                )

    def work(self, input_items, output_items) -> int:
        out = output_items[0]
        if self.faults.stopped.is_set():
            return -1
        if self._at == len(self._now):
            if not self._queue:
                clock.sleep(IDLE_S)
                return 0
            self._now, at_s = self._queue.popleft()
            self._at = 0
            first = self.nitems_written(0)
            self.add_item_tag(0, first, self._length_tag, pmt.from_long(len(self._now)))
            if at_s is not None:
                value = pmt.make_tuple(pmt.from_uint64(int(at_s)), pmt.from_double(at_s - int(at_s)))
                self.add_item_tag(0, first, pmt.intern("tx_time"), value)
        count = min(len(out), len(self._now) - self._at)
        out[:count] = self._now[self._at : self._at + count]
        self._at += count
        return count


def events_of(message: Any) -> list[str]:
    """The names in a message of usrp_sink's port `async_msgs`; empty where it is none."""
    if not pmt.is_pair(message) or not pmt.is_dict(pmt.cdr(message)):
        return []
    codes = pmt.dict_ref(pmt.cdr(message), pmt.intern("event_code"), pmt.PMT_NIL)
    names = []
    while pmt.is_pair(codes):
        names.append(pmt.symbol_to_string(pmt.car(codes)))
        codes = pmt.cdr(codes)
    return names
