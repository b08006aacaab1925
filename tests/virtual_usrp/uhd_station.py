# SPDX-License-Identifier: GPL-2.0-or-later
"""A station of UHD's own streams, as a flowgraph's USRP blocks have them: sends frames one after the other, and hears.

uhd_station.py ARGS FRAMES: DATA frames to 02:00:00:00:00:02 by the radio block's first channel, while its receiver runs
without end. Prints what was heard as a JSON object. Run it with .venv-bench/bin/python.
"""

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

RADIO, CHANNEL = "0/Radio#0", 0
OWN, PEER = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
FREQUENCY_HZ, TX_GAIN_DB, RX_GAIN_DB = 2.412e9, 40, 40
FULL_SCALE = 16  # steps of the converter's 16 bits in one of the modem's 12
# Room for SIFS and a MAC ACK, and some more before the next frame.
PAUSE_SAMPLES = 800 * recording.SAMPLES_PER_US
LONGEST_WAIT_S = 120


def data_frame(sequence: int) -> bytes:
    """A frame of 60 bytes for the peer (IEEE 802.11-2012, 8.3.2), which it has to acknowledge."""
    head = struct.pack("<HH", 0x0008, 314) + PEER + OWN + PEER + struct.pack("<H", sequence << 4)
    frame = head + bytes([sequence & 0xFF]) * 60
    return frame + struct.pack("<I", zlib.crc32(frame))


class Receiver(threading.Thread):
    """Keeps all samples, until it is told to stop."""

    def __init__(self, stream) -> None:
        super().__init__(daemon=True)
        self.stream, self.pieces, self.count, self.errors = stream, [], 0, 0
        self.grew, self.stopping = threading.Condition(), False

    def run(self) -> None:
        import uhd

        metadata = uhd.types.RXMetadata()
        buffer = np.zeros((1, 1 << 14), dtype=np.int32)
        while not self.stopping:
            count = self.stream.recv(buffer, metadata, 0.2)
            if metadata.error_code not in (uhd.types.RXMetadataErrorCode.none, uhd.types.RXMetadataErrorCode.timeout):
                self.errors += 1
            with self.grew:
                self.pieces.append(buffer[0, :count].view(np.int16).reshape(-1, 2).copy())
                self.count += count
                self.grew.notify_all()

    def wait_for(self, count: int) -> None:
        with self.grew:
            if not self.grew.wait_for(lambda: self.count >= count, LONGEST_WAIT_S):
                raise RuntimeError(f"only {self.count} samples have come, and {count} were waited for")


def tell(pieces: list[np.ndarray], errors: int = 0) -> None:
    """Prints what samples, I and Q of 16 bits each, hold."""
    heard = recording.frames(np.concatenate(pieces))
    answers = [each for each in heard if each.kind == "MAC ACK" and each.psdu[4:10] == OWN]
    gaps_us = [each.us for each in recording.response_gaps(heard)]
    print(
        json.dumps(
            {
                "own": sum(each.kind == "DATA" for each in heard), "answers": len(answers),
                "sifs_us": sum(gaps_us) / len(gaps_us) if gaps_us else None, "errors": errors,
            }
        )
    )  # fmt: skip


def main(args: str, frames: int) -> None:
    import uhd  # not above: GNU Radio's station takes from here, and has types of the same names

    graph = uhd.rfnoc.RfnocGraph(args)
    samples = uhd.usrp.StreamArgs("sc16", "sc16")
    tx, rx = graph.create_tx_streamer(1, samples), graph.create_rx_streamer(1, samples)
    graph.connect(tx, 0, RADIO, CHANNEL)
    graph.connect(RADIO, CHANNEL, rx, 0)
    graph.commit()
    radio = uhd.rfnoc.RadioControl(graph.get_block(RADIO))
    radio.set_tx_frequency(FREQUENCY_HZ, CHANNEL)
    radio.set_rx_frequency(FREQUENCY_HZ, CHANNEL)
    radio.set_tx_gain(TX_GAIN_DB, CHANNEL)
    radio.set_rx_gain(RX_GAIN_DB, CHANNEL)
    receiver = Receiver(rx)
    receiver.start()
    command = uhd.types.StreamCMD(uhd.types.StreamMode.start_cont)
    command.stream_now = True
    rx.issue_stream_cmd(command)
    receiver.wait_for(PAUSE_SAMPLES)
    for number in range(frames):
        wave = (FULL_SCALE * transmitted(Frame(data_frame(number), RATE_2MBPS))).astype(np.int16)
        metadata = uhd.types.TXMetadata()
        metadata.start_of_burst = metadata.end_of_burst = True
        sent = tx.send(np.ascontiguousarray(wave).view(np.int32).reshape(1, -1), metadata)
        assert sent == len(wave), (sent, len(wave))
        receiver.wait_for(receiver.count + len(wave) + PAUSE_SAMPLES)
    receiver.stopping = True
    receiver.join()
    rx.issue_stream_cmd(uhd.types.StreamCMD(uhd.types.StreamMode.stop_cont))
    tell(receiver.pieces, receiver.errors)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
