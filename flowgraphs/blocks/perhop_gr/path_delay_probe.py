# SPDX-License-Identifier: GPL-2.0-or-later
"""Path delay probe: what each packet cost on each hop, from the MACs' completion records."""

import time

import numpy as np
import pmt
from gnuradio import gr

from perhop_gr import pdus
from perhop_gr.packet_source import packet_number

REST_S = 0.001
REFRESH_S = 0.2


class path_delay_probe(gr.sync_block):
    """Port `done` takes the completion records of all MACs on a path, port `arrived` what the last one delivers.

    A stream for each hop gives delays in milliseconds, from when a packet was given to the hop's MAC until its MAC
    ACK came: whenever a packet is through, and every REFRESH_S, those of the last `window` packets, the oldest first,
    zeros where there are not as many yet. So a time sink of `window` points always shows the last ones.
    """

    def __init__(self, hops: int = 2, window: int = 20) -> None:
        gr.sync_block.__init__(self, "Path delay probe", in_sig=None, out_sig=[np.float32] * hops)
        if window < 1:
            raise ValueError("path delay probe: window must be at least 1")
        self.hops, self.window = hops, window
        self._shown = np.zeros((hops, window), dtype=np.float32)
        self._at = window
        self._shown_s = time.monotonic()
        self.records: dict[int, dict[int, dict]] = {}
        self.arrivals_us: dict[int, float] = {}
        self.given_up = 0
        self._told: set[int] = set()
        self._ready: list[list[float]] = []
        for name, handler in (("done", self._done), ("arrived", self._arrived)):
            self.message_port_register_in(pmt.intern(name))
            self.set_msg_handler(pmt.intern(name), handler)

    def _done(self, message) -> None:
        found = pdus.octets_of(message)
        number = packet_number(found[1]) if found else None
        if number is None:
            return
        meta = found[0]
        if meta["result"] != "delivered":
            self.given_up += 1
            return
        self.records.setdefault(number, {})[meta["node"]] = meta
        if len(self.records[number]) == self.hops and number not in self._told:
            self._told.add(number)
            self._ready.append(self.delays_ms(number))

    def _arrived(self, message) -> None:
        found = pdus.octets_of(message)
        number = packet_number(found[1]) if found else None
        if number is not None:
            self.arrivals_us.setdefault(number, found[0]["at_us"])

    def delays_ms(self, number: int) -> list[float]:
        """Of one packet, hop by hop in the order of their nodes."""
        records = self.records[number]
        return [(records[node]["t_done_us"] - records[node]["t_enqueue_us"]) / 1000 for node in sorted(records)]

    def complete(self) -> list[int]:
        """Numbers of the packets that every hop has delivered."""
        return sorted(self._told)

    def work(self, input_items, output_items) -> int:
        if self._at == self.window:
            if self._ready:
                fresh = np.array(self._ready.pop(0), dtype=np.float32)
                self._shown = np.hstack([self._shown[:, 1:], fresh[:, None]])
            elif time.monotonic() - self._shown_s < REFRESH_S:
                time.sleep(REST_S)
                return 0
            self._at, self._shown_s = 0, time.monotonic()
        count = min(self.window - self._at, len(output_items[0]))
        for hop in range(self.hops):
            output_items[hop][:count] = self._shown[hop, self._at : self._at + count]
        self._at += count
        return count
