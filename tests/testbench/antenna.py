# SPDX-License-Identifier: GPL-2.0-or-later
"""What a radio_top hears and sends in a test, sample by sample."""

from collections import deque

import numpy as np
from cocotb.triggers import RisingEdge
from numpy.typing import NDArray


class Antenna:
    """Drives the samples of a radio_top: those that a test puts on the air, else noise; keeps what it sends.

    Times are numbers of samples since the begin; a sample comes and one goes every `clocks_per_sample` clocks. What the
    radio sends does not come back.
    """

    def __init__(self, dut, random: np.random.Generator, clocks_per_sample: int = 2, noise: float = 4.0) -> None:
        self.dut = dut
        self.at = 0
        self.sent: list[tuple[int, NDArray[np.int64]]] = []
        self._random = random
        self._noise = noise
        self._clocks = clocks_per_sample
        self._air: deque[list[int]] = deque()
        dut.rx_sample_valid.value = dut.tx_sample_take.value = dut.rx_i.value = dut.rx_q.value = 0

    @property
    def waiting(self) -> int:
        """Samples on the air that the radio has not heard yet."""
        return len(self._air)

    def put(self, samples: NDArray[np.int64]) -> tuple[int, int]:
        """Samples, I and Q in two columns, behind those that wait; returns when the first comes and when all have."""
        first = self.at + len(self._air)
        self._air.extend(samples.tolist())
        return first, first + len(samples)

    async def run(self) -> None:
        """Forever."""
        dut, frame, first = self.dut, [], 0
        while True:
            if not self._air:
                noise = self._random.standard_normal((64, 2)) * self._noise
                self._air.extend(np.round(noise).astype(np.int64).tolist())
            for _ in range(self._clocks - 1):
                await RisingEdge(dut.clk)
                dut.rx_sample_valid.value = dut.tx_sample_take.value = 0
            await RisingEdge(dut.clk)
            dut.rx_i.value, dut.rx_q.value = self._air.popleft()
            dut.rx_sample_valid.value = dut.tx_sample_take.value = 1
            if int(dut.tx_active.value):
                if not frame:
                    first = self.at
                frame.append((dut.tx_i.value.to_signed(), dut.tx_q.value.to_signed()))
            elif frame:
                self.sent.append((first, np.array(frame)))
                frame = []
            self.at += 1
