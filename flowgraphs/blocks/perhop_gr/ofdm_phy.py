# SPDX-License-Identifier: GPL-2.0-or-later
"""OFDM PHY: gr-ieee802-11's `wifi_phy_hier` between MAC block and bursts; a clear message where it is not installed."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pmt
from gnuradio import gr

from perhop_gr import frames, pdus
from perhop_gr.faults import RadioError

ENCODINGS = ("BPSK_1_2", "BPSK_3_4", "QPSK_1_2", "QPSK_3_4", "QAM16_1_2", "QAM16_3_4", "QAM64_2_3", "QAM64_3_4")
HEARS_ITSELF_S = 0.5
PROJECT = "github.com/bastibl/gr-ieee802-11, branch maint-3.10"


def hier_folder() -> str:
    """Where GNU Radio Companion puts hierarchical blocks that it has made."""
    return os.environ.get("GRC_HIER_PATH", str(Path("~/.grc_gnuradio").expanduser()))


def loaded() -> tuple[Any, Any]:
    """The modules ieee802_11 and wifi_phy_hier. RadioError says which of them is missing and where it comes from."""
    try:
        import ieee802_11
    except ImportError as error:
        raise RadioError(
            "phy",
            f"gr-ieee802-11 is not installed: import ieee802_11: {error}",
            f"install it ({PROJECT}), and gr-foo, which it needs; or use this project's modem (phy: dsss)",
        ) from error
    if hier_folder() not in sys.path:
        sys.path.append(hier_folder())
    try:
        from wifi_phy_hier import wifi_phy_hier
    except ImportError as error:
        raise RadioError(
            "phy",
            f"gr-ieee802-11 is installed, but not its hierarchical block: import wifi_phy_hier: {error}",
            f"open its examples/wifi_phy_hier.grc with GNU Radio Companion and press Generate (into {hier_folder()})",
        ) from error
    return ieee802_11, wifi_phy_hier


class _ways(gr.basic_block):
    """What goes through: MPDUs with FCS to the mapper, received ones without it back, but for those of this node.

    While it sends, a node hears itself; a MAC that hears its own RTS would wait for its end.
    """

    def __init__(self) -> None:
        gr.basic_block.__init__(self, "OFDM PHY: ways", in_sig=None, out_sig=None)
        self.sent = self.received = self.own = self.refused = 0
        self._last: deque[tuple[float, bytes]] = deque()
        for name, handler in (("mac_in", self._down), ("phy_out", self._up)):
            self.message_port_register_in(pmt.intern(name))
            self.set_msg_handler(pmt.intern(name), handler)
        for name in ("phy_in", "mac_out"):
            self.message_port_register_out(pmt.intern(name))

    def _down(self, message) -> None:
        found = pdus.octets_of(message)
        if found is None:
            self.refused += 1
            return
        psdu = found[1]
        # The MAC's time marks have no octets, and the mapper no use for them.
        if not psdu:
            return
        self.sent += 1
        self._last.append((time.monotonic(), psdu[: -frames.FCS_BYTES]))
        self.message_port_pub(pmt.intern("phy_in"), pmt.cons(pmt.make_dict(), pmt.cdr(message)))

    def _up(self, message) -> None:
        found = pdus.octets_of(message)
        if found is None:
            self.refused += 1
            return
        now_s = time.monotonic()
        while self._last and now_s - self._last[0][0] > HEARS_ITSELF_S:
            self._last.popleft()
        if any(mpdu == found[1] for _, mpdu in self._last):
            self.own += 1
            return
        self.received += 1
        self.message_port_pub(pmt.intern("mac_out"), message)


class _bursts(gr.sync_block):
    """A stream of bursts told by a length tag, as PDUs. GNU Radio's own block wants each whole in one buffer."""

    def __init__(self, length_tag: str) -> None:
        gr.sync_block.__init__(self, "OFDM PHY: bursts", in_sig=[np.complex64], out_sig=None)
        self.gaps = 0
        self._length_tag = length_tag
        self._pieces: list[np.ndarray] = []
        self._left = 0
        self.message_port_register_out(pmt.intern("burst"))

    def work(self, input_items, output_items) -> int:
        samples = input_items[0]
        if not self._left:
            lengths = [
                pmt.to_long(tag.value)
                for tag in self.get_tags_in_window(0, 0, 1)
                if pmt.symbol_to_string(tag.key) == self._length_tag
            ]
            if not lengths:
                self.gaps += 1
                return 1
            self._left = lengths[0]
        count = min(len(samples), self._left)
        self._pieces.append(samples[:count].copy())
        self._left -= count
        if not self._left:
            self.message_port_pub(pmt.intern("burst"), pdus.samples_pdu({}, np.concatenate(self._pieces)))
            self._pieces = []
        return count


class ofdm_phy(gr.hier_block2):
    """gr-ieee802-11's OFDM PHY (802.11a/g/p), with the ports of the other modems here.

    Port `mac_in` takes the MAC's MPDUs with FCS, `mac_out` gives received ones without it; it drops bad ones, and
    tells of no busy medium. Port `burst` gives PDUs of samples; the stream is what the antenna hears. Port `symbols`
    gives the points of each symbol, for a constellation.
    """

    def __init__(
        self,
        samp_rate: float = 10e6,
        centre_hz: float = 5.89e9,
        encoding: str = "QPSK_1_2",
        sensitivity: float = 0.56,
        amplitude: float = 0.5,
    ) -> None:
        """encoding: of all frames. sensitivity: correlation of the short preamble that starts a frame, below 1."""
        gr.hier_block2.__init__(self, "OFDM PHY", gr.io_signature(1, 1, gr.sizeof_gr_complex), gr.io_signature(0, 0, 0))
        if encoding not in ENCODINGS:
            raise ValueError(f"OFDM PHY: encoding {encoding!r} is none of {', '.join(ENCODINGS)}")
        for name in ("mac_out", "burst", "symbols"):
            self.message_port_register_hier_out(name)
        self.message_port_register_hier_in("mac_in")
        ieee802_11, hier = loaded()
        from gnuradio import blocks

        self.phy = hier(
            bandwidth=samp_rate,
            chan_est=ieee802_11.LS,
            encoding=getattr(ieee802_11, encoding),
            frequency=centre_hz,
            sensitivity=sensitivity,
        )
        self.ways = _ways()
        self._level = blocks.multiply_const_cc(amplitude)
        self._bursts = _bursts("packet_len")
        self.connect(self, self.phy, self._level, self._bursts)
        self.msg_connect(self, "mac_in", self.ways, "mac_in")
        self.msg_connect(self.ways, "phy_in", self.phy, "mac_in")
        self.msg_connect(self.phy, "mac_out", self.ways, "phy_out")
        self.msg_connect(self.ways, "mac_out", self, "mac_out")
        self.msg_connect(self.phy, "carrier", self, "symbols")
        self.msg_connect(self._bursts, "burst", self, "burst")
