# SPDX-License-Identifier: GPL-2.0-or-later
"""Stop when: ends a flowgraph after so many messages."""

import threading

import pmt
from gnuradio import gr


class stop_when(gr.basic_block):
    """`done` is set after `count` messages on port `messages`. Who runs the flowgraph waits for it."""

    def __init__(self, count: int = 1) -> None:
        gr.basic_block.__init__(self, "Stop when", in_sig=None, out_sig=None)
        self.count, self.seen = count, 0
        self.done = threading.Event()
        self.message_port_register_in(pmt.intern("messages"))
        self.set_msg_handler(pmt.intern("messages"), self._take)

    def _take(self, message) -> None:
        self.seen += 1
        if self.seen >= self.count:
            self.done.set()
