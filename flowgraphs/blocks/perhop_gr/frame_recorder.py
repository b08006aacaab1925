# SPDX-License-Identifier: GPL-2.0-or-later
"""Frame recorder: pcapng of 802.11 frames with radiotap headers, for Wireshark and tshark."""

import struct
from pathlib import Path

import pmt
from gnuradio import gr
from perhop.registers.spec_generated import PROFILES

from perhop_gr import pdus

LINKTYPE_RADIOTAP = 127
# radiotap.org: fields present, of which TSFT is aligned to 8 octets.
TSFT, FLAGS, RATE, CHANNEL, SIGNAL_DBM = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 5
FLAG_SHORT_PREAMBLE, FLAG_FCS_AT_END, FLAG_BAD_FCS = 0x02, 0x10, 0x40
CHANNEL_2GHZ_CCK = 0x00A0


def block(kind: int, body: bytes) -> bytes:
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def radiotap(meta: dict, channel_mhz: int, psdu_bytes: int) -> bytes:
    """The header of a frame with FCS."""
    flags = FLAG_FCS_AT_END
    flags |= FLAG_SHORT_PREAMBLE if meta.get("short_preamble") else 0
    flags |= 0 if meta.get("fcs_ok", True) else FLAG_BAD_FCS
    # TSFT is the frame's end, as host/core/wire/pcapng.hpp has it and says why.
    preamble_us = PROFILES["dsss_short" if meta.get("short_preamble") else "dsss_long"].preamble_us
    half_mbps = 4 if int(meta.get("rate", 0)) == 1 else 2
    end_us = int(start_us(meta)) + preamble_us + -(-16 * psdu_bytes // half_mbps)
    body = struct.pack("<QBBHH", end_us, flags, half_mbps, channel_mhz, CHANNEL_2GHZ_CCK)
    present = TSFT | FLAGS | RATE | CHANNEL
    if "rssi_db" in meta:
        present |= SIGNAL_DBM
        body += struct.pack("<b", max(min(round(meta["rssi_db"]), 127), -128))
    return struct.pack("<BxHI", 0, 8 + len(body), present) + body


def start_us(meta: dict) -> float:
    """When the frame began; a sender knows `at_us`, a receiver `start_us`."""
    return max(meta.get("start_us", meta.get("at_us", 0)), 0)


class frame_recorder(gr.basic_block):
    """Writes every PSDU that comes to port `psdu` into a file; times are those of the PDU's `start_us` or `at_us`."""

    def __init__(self, path: str = "frames.pcapng", channel_mhz: int = 2412) -> None:
        gr.basic_block.__init__(self, "Frame recorder", in_sig=None, out_sig=None)
        self.path, self.channel_mhz, self.frames = Path(path), channel_mhz, 0
        try:
            self._file = self.path.open("wb")
        except OSError as error:
            raise ValueError(f"frame recorder: {path} cannot be written: {error.strerror}") from error
        section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
        self._file.write(block(0x0A0D0D0A, section) + block(1, struct.pack("<HHI", LINKTYPE_RADIOTAP, 0, 0)))
        self.message_port_register_in(pmt.intern("psdu"))
        self.set_msg_handler(pmt.intern("psdu"), self._take)

    def _take(self, message) -> None:
        found = pdus.octets_of(message)
        if found is None or not found[1] or self._file.closed:
            return
        meta, psdu = found
        packet = radiotap(meta, self.channel_mhz, len(psdu)) + psdu
        time_us = int(start_us(meta))
        head = struct.pack("<IIIII", 0, time_us >> 32, time_us & 0xFFFFFFFF, len(packet), len(packet))
        self._file.write(block(6, head + packet))
        self.frames += 1

    def stop(self) -> bool:
        self._file.flush()
        return super().stop()
