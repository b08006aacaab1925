# SPDX-License-Identifier: GPL-2.0-or-later
"""A station of UHD's own streams: sends frames one after the other, and hears.

uhd_station.py ARGS FRAMES: DATA frames to 02:00:00:00:00:02 by the radio block's first channel, while its receiver runs
without end. Prints what was heard as a JSON object. Run it with .venv-bench/bin/python.
"""

import sys
import threading

import numpy as np
import uhd
from station_frames import CHANNEL, FREQUENCY_HZ, PAUSE_SAMPLES, RX_GAIN_DB, TX_GAIN_DB, Heard, burst

RADIO = "0/Radio#0"


class Receiver(threading.Thread):
    """Keeps all samples, until it is told to stop."""

    def __init__(self, stream) -> None:
        super().__init__(daemon=True)
        self.stream, self.heard, self.stopping = stream, Heard(), False

    def run(self) -> None:
        metadata = uhd.types.RXMetadata()
        buffer = np.zeros((1, 1 << 14), dtype=np.int32)
        while not self.stopping:
            count = self.stream.recv(buffer, metadata, 0.2)
            if metadata.error_code not in (uhd.types.RXMetadataErrorCode.none, uhd.types.RXMetadataErrorCode.timeout):
                self.heard.errors += 1
            self.heard.add(buffer[0, :count].view(np.int16).reshape(-1, 2).copy())


def main(args: str, frames: int) -> None:
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
    receiver.heard.wait_for(PAUSE_SAMPLES)
    for number in range(frames):
        wave = burst(number)
        metadata = uhd.types.TXMetadata()
        metadata.start_of_burst = metadata.end_of_burst = True
        sent = tx.send(np.ascontiguousarray(wave).view(np.int32).reshape(1, -1), metadata)
        assert sent == len(wave), (sent, len(wave))
        receiver.heard.wait_behind(wave)
    receiver.stopping = True
    receiver.join()
    rx.issue_stream_cmd(uhd.types.StreamCMD(uhd.types.StreamMode.stop_cont))
    receiver.heard.tell()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
