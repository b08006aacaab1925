# SPDX-License-Identifier: GPL-2.0-or-later
"""A station of GNU Radio's USRP source and sink: sends frames one after the other, and hears.

gnuradio_station.py ARGS FRAMES: as uhd_station.py, but by a flowgraph. Run it with .venv-gnuradio/bin/python.
"""

import sys
import threading

import numpy as np
import pmt
import uhd_station
from gnuradio import gr, pdu, uhd
from perhop.phy.plcp import RATE_2MBPS, Frame
from perhop.phy.transmitter import transmitted

RATE_HZ = 22e6
SCALE = 1 << 15
LENGTH_TAG = "packet_len"
LONGEST_BURST_SAMPLES = 1 << 16


class collector(gr.sync_block):
    """Keeps all samples."""

    def __init__(self) -> None:
        gr.sync_block.__init__(self, "collector", [np.complex64], None)
        self.pieces: list[np.ndarray] = []
        self.count = 0
        self.grew = threading.Condition()

    def work(self, input_items, output_items) -> int:
        samples = input_items[0]
        with self.grew:
            self.pieces.append(np.round(samples.view(np.float32).reshape(-1, 2) * SCALE).astype(np.int16))
            self.count += len(samples)
            self.grew.notify_all()
        return len(samples)

    def wait_for(self, count: int) -> None:
        with self.grew:
            if not self.grew.wait_for(lambda: self.count >= count, uhd_station.LONGEST_WAIT_S):
                raise RuntimeError(f"only {self.count} samples have come, and {count} were waited for")


class station(gr.top_block):
    """USRP source into memory; PDUs of samples, a burst each, into the USRP sink."""

    def __init__(self, args: str) -> None:
        gr.top_block.__init__(self, "station")
        format_ = uhd.stream_args(cpu_format="fc32", otw_format="sc16", channels=[uhd_station.CHANNEL])
        self.source, self.sink = uhd.usrp_source(args, format_), uhd.usrp_sink(args, format_, LENGTH_TAG)
        for each, gain_db in ((self.source, uhd_station.RX_GAIN_DB), (self.sink, uhd_station.TX_GAIN_DB)):
            each.set_samp_rate(RATE_HZ)
            each.set_center_freq(uhd_station.FREQUENCY_HZ, 0)
            each.set_gain(gain_db, 0)
        self.collector = collector()
        self.bursts = pdu.pdu_to_tagged_stream(gr.types.complex_t, LENGTH_TAG)
        # A burst must fit in.
        self.bursts.set_min_output_buffer(LONGEST_BURST_SAMPLES)
        self.connect(self.source, self.collector)
        self.connect(self.bursts, self.sink)

    def send(self, wave: np.ndarray) -> None:
        samples = (wave[:, 0] + 1j * wave[:, 1]) * (uhd_station.FULL_SCALE / SCALE)
        told = pmt.cons(pmt.make_dict(), pmt.init_c32vector(len(samples), samples.astype(np.complex64).tolist()))
        self.bursts.to_basic_block()._post(pmt.intern("pdus"), told)


def main(args: str, frames: int) -> None:
    made = station(args)
    made.start()
    made.collector.wait_for(uhd_station.PAUSE_SAMPLES)
    for number in range(frames):
        wave = transmitted(Frame(uhd_station.data_frame(number), RATE_2MBPS))
        made.send(wave)
        made.collector.wait_for(made.collector.count + len(wave) + uhd_station.PAUSE_SAMPLES)
    made.stop()
    made.wait()
    uhd_station.tell(made.collector.pieces)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
