# SPDX-License-Identifier: GPL-2.0-or-later
"""What stations of UHD's and of GNU Radio's streams have in common: frames that they send, and what they heard."""

import json
import struct
import sys
import threading
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "hw" / "bringup"), str(ROOT / "host" / "python")]

import numpy as np  # noqa: E402
import recording  # noqa: E402
from perhop.phy.plcp import RATE_2MBPS, Frame  # noqa: E402
from perhop.phy.transmitter import transmitted  # noqa: E402

CHANNEL = 0
OWN, PEER = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
FREQUENCY_HZ, TX_GAIN_DB, RX_GAIN_DB = 2.412e9, 40, 40
RATE_HZ = 1e6 * recording.SAMPLES_PER_US
FULL_SCALE = 16  # steps of the converter's 16 bits in one of the modem's 12
# Room for SIFS and a MAC ACK, and some more before the next frame.
PAUSE_SAMPLES = 800 * recording.SAMPLES_PER_US
LONGEST_WAIT_S = 120


def burst(sequence: int) -> np.ndarray:
    """A frame of 60 bytes for the peer (IEEE 802.11-2012, 8.3.2), which it has to acknowledge: I and Q of 16 bits."""
    head = struct.pack("<HH", 0x0008, 314) + PEER + OWN + PEER + struct.pack("<H", sequence << 4)
    frame = head + bytes([sequence & 0xFF]) * 60
    frame += struct.pack("<I", zlib.crc32(frame))
    return (FULL_SCALE * transmitted(Frame(frame, RATE_2MBPS))).astype(np.int16)


class Heard:
    """All samples that have come, I and Q of 16 bits, by another thread."""

    def __init__(self) -> None:
        self.pieces: list[np.ndarray] = []
        self.count, self.errors = 0, 0
        self.grew = threading.Condition()

    def add(self, samples: np.ndarray) -> None:
        with self.grew:
            self.pieces.append(samples)
            self.count += len(samples)
            self.grew.notify_all()

    def wait_for(self, count: int) -> None:
        with self.grew:
            if not self.grew.wait_for(lambda: self.count >= count, LONGEST_WAIT_S):
                raise RuntimeError(f"only {self.count} samples have come, and {count} were waited for")

    def wait_behind(self, wave: np.ndarray) -> None:
        """Until that has been sent, and answered."""
        self.wait_for(self.count + len(wave) + PAUSE_SAMPLES)

    def tell(self) -> None:
        """Prints what was heard as a JSON object."""
        heard = recording.frames(np.concatenate(self.pieces))
        answers = [each for each in heard if each.kind == "MAC ACK" and each.psdu[4:10] == OWN]
        gaps_us = [each.us for each in recording.response_gaps(heard)]
        print(
            json.dumps(
                {
                    "own": sum(each.kind == "DATA" for each in heard), "answers": len(answers),
                    "sifs_us": sum(gaps_us) / len(gaps_us) if gaps_us else None, "errors": self.errors,
                }
            )
        )  # fmt: skip
