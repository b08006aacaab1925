# SPDX-License-Identifier: GPL-2.0-or-later
"""A station of GNU Radio's USRP source and sink: sends frames one after the other, and hears.

gnuradio_station.py ARGS FRAMES: as uhd_station.py, but by a flowgraph. Run it with .venv-gnuradio/bin/python.
"""

import sys

import numpy as np
import pmt
from gnuradio import gr, pdu, uhd
from station_frames import CHANNEL, FREQUENCY_HZ, PAUSE_SAMPLES, RATE_HZ, RX_GAIN_DB, TX_GAIN_DB, Heard, burst

SCALE = 1 << 15
LENGTH_TAG = "packet_len"
LONGEST_BURST_SAMPLES = 1 << 16


class collector(gr.sync_block):
    """Keeps all samples."""

    def __init__(self) -> None:
        gr.sync_block.__init__(self, "collector", [np.complex64], None)
        self.heard, self.begins = Heard(), 0

    def work(self, input_items, output_items) -> int:
        samples = input_items[0]
        # The source tells its time at the start, and again behind samples that were lost.
        self.begins += len(self.get_tags_in_window(0, 0, len(samples), pmt.intern("rx_time")))
        self.heard.errors = self.begins - 1
        self.heard.add(np.round(samples.view(np.float32).reshape(-1, 2) * SCALE).astype(np.int16))
        return len(samples)


class station(gr.top_block):
    """USRP source into memory; PDUs of samples, a burst each, into the USRP sink."""

    def __init__(self, args: str) -> None:
        gr.top_block.__init__(self, "station")
        format_ = uhd.stream_args(cpu_format="fc32", otw_format="sc16", channels=[CHANNEL])
        self.source, self.sink = uhd.usrp_source(args, format_), uhd.usrp_sink(args, format_, LENGTH_TAG)
        for each, gain_db in ((self.source, RX_GAIN_DB), (self.sink, TX_GAIN_DB)):
            each.set_samp_rate(RATE_HZ)
            each.set_center_freq(FREQUENCY_HZ, 0)
            each.set_gain(gain_db, 0)
        self.collector = collector()
        self.bursts = pdu.pdu_to_tagged_stream(gr.types.complex_t, LENGTH_TAG)
        # A burst must fit in.
        self.bursts.set_min_output_buffer(LONGEST_BURST_SAMPLES)
        self.connect(self.source, self.collector)
        self.connect(self.bursts, self.sink)

    def send(self, wave: np.ndarray) -> None:
        samples = (wave[:, 0] + 1j * wave[:, 1]).astype(np.complex64) / SCALE
        told = pmt.cons(pmt.make_dict(), pmt.init_c32vector(len(samples), samples.tolist()))
        self.bursts.to_basic_block()._post(pmt.intern("pdus"), told)


def main(args: str, frames: int) -> None:
    made = station(args)
    made.start()
    heard = made.collector.heard
    heard.wait_for(PAUSE_SAMPLES)
    for number in range(frames):
        wave = burst(number)
        made.send(wave)
        heard.wait_behind(wave)
    made.stop()
    made.wait()
    heard.tell()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
