# SPDX-License-Identifier: GPL-2.0-or-later
"""Medium: bursts of several nodes in, what each node's antenna hears out."""

import functools
import time
from collections.abc import Sequence

import numpy as np
import pmt
from gnuradio import gr

from perhop_gr import pdus

REST_S = 0.0002
FULL_SCALE_MIN = 1e-9


class medium(gr.sync_block):
    """A source with one stream of complex samples a node. Port `burst<n>` takes node n's bursts (PDUs of samples).

    Its time is the number of its samples, and it is paced by its nodes: each sends time marks (PDUs without samples,
    `time_us`) behind its bursts, and the streams are at most `latency_us` ahead of the earliest mark. A burst that a
    MAC sends at `at_us` is on the air at `at_us + latency_us`. So the same flowgraph gives the same samples, however
    fast the machine is, and the turnaround is `latency_us`, as stretched timing profiles need.

    While a node sends it hears nothing but noise. Rows of gains_db beyond the nodes are listeners, without bursts.
    """

    def __init__(
        self,
        gains_db: Sequence[Sequence[float | None]] = ((None, -20.0), (-20.0, None)),
        noise_dbfs: float = -60.0,
        carrier_offsets_hz: Sequence[float] = (0.0, 0.0),
        samp_rate: float = 22e6,
        latency_us: int = 1000,
        duration_s: float = 0.0,
        seed: int = 1,
    ) -> None:
        """gains_db: row n is what node n hears of each other one; None: nothing. More rows than columns: listeners.

        noise_dbfs: in the whole band of the samples, at each node. carrier_offsets_hz: of each node's oscillator,
        when it sends and when it receives. duration_s: the flowgraph ends after as much of the medium's time; 0:
        never.
        """
        nodes, antennas = len(gains_db[0]) if gains_db else 0, len(gains_db)
        if nodes < 2 or antennas < nodes or any(len(row) != nodes for row in gains_db):
            raise ValueError(
                "medium: the columns of gains_db are nodes, two or more; its rows the same nodes, then listeners"
            )
        if len(carrier_offsets_hz) != antennas:
            raise ValueError(f"medium: carrier_offsets_hz must have {antennas} values, one for each row of gains_db")
        if latency_us < 100 or samp_rate <= 0:
            raise ValueError("medium: latency_us must be at least 100, samp_rate above 0")
        gr.sync_block.__init__(self, "Medium", in_sig=None, out_sig=[np.complex64] * antennas)
        self.nodes, self.antennas, self.samp_rate, self.latency_us = nodes, antennas, samp_rate, latency_us
        self._gains = [[0.0 if gain is None else 10 ** (gain / 20) for gain in row] for row in gains_db]
        self._sigma = 10 ** (noise_dbfs / 20) / np.sqrt(2)
        self._offsets_hz = list(carrier_offsets_hz)
        self._last = round(duration_s * samp_rate)
        self._random = [np.random.default_rng((seed, node)) for node in range(antennas)]
        self._marks_us = [0] * nodes
        self._bursts: list[tuple[int, int, np.ndarray]] = []
        self._made = 0
        self.bursts = self.late = self.refused = self.collisions = 0
        for node in range(nodes):
            port = pmt.intern(f"burst{node}")
            self.message_port_register_in(port)
            # GNU Radio looks a handler up in the block, by its name.
            handler = functools.partial(self._take, node)
            handler.__name__ = f"_take{node}"
            setattr(self, handler.__name__, handler)
            self.set_msg_handler(port, handler)

    def _take(self, node: int, message) -> None:
        found = pdus.parts(message)
        if found is None:
            self.refused += 1
            return
        meta, vector = found
        if "time_us" in meta and not pmt.is_c32vector(vector):
            self._marks_us[node] = max(self._marks_us[node], int(meta["time_us"]))
            return
        got = pdus.samples_of(message)
        if got is None or not len(got[1]):
            self.refused += 1
            return
        start = round((int(meta.get("at_us", self._marks_us[node])) + self.latency_us) * self.samp_rate / 1e6)
        if start < self._made:
            self.late += 1
            start = self._made
        self.bursts += 1
        end = start + len(got[1])
        self.collisions += any(
            other != node and first < end and start < first + len(wave) for first, other, wave in self._bursts
        )
        self._bursts.append((start, node, got[1]))

    def work(self, input_items, output_items) -> int:
        if self._last and self._made >= self._last:
            return -1
        ready = int((min(self._marks_us) + self.latency_us) * self.samp_rate / 1e6) - self._made
        count = min(len(output_items[0]), ready)
        if count <= 0:
            time.sleep(REST_S)
            return 0
        first = self._made
        # Each node draws its own noise, so that it does not matter in what pieces the samples are made.
        noise = [self._noise(node, count) for node in range(self.antennas)]
        heard = [each.copy() for each in noise]
        for start, sender, wave in self._bursts:
            begin, end = max(start, first), min(start + len(wave), first + count)
            if begin >= end:
                continue
            here = slice(begin - first, end - first)
            piece = wave[begin - start : end - start]
            times_s = np.arange(begin, end) / self.samp_rate
            for node in range(self.antennas):
                gain = self._gains[node][sender]
                if gain == 0.0 or node == sender:
                    continue
                offset_hz = self._offsets_hz[sender] - self._offsets_hz[node]
                turn = np.exp(2j * np.pi * offset_hz * times_s).astype(np.complex64) if offset_hz else 1
                heard[node][here] += gain * piece * turn
        for start, sender, wave in self._bursts:
            begin, end = max(start, first), min(start + len(wave), first + count)
            if begin < end:
                here = slice(begin - first, end - first)
                heard[sender][here] = noise[sender][here]
        self._bursts = [burst for burst in self._bursts if burst[0] + len(burst[2]) > first + count]
        for node in range(self.antennas):
            output_items[node][:count] = heard[node]
        self._made += count
        return count

    def _noise(self, node: int, count: int) -> np.ndarray:
        parts = self._random[node].standard_normal(2 * count, dtype=np.float32)
        parts *= np.float32(max(self._sigma, FULL_SCALE_MIN))
        return parts.view(np.complex64)
