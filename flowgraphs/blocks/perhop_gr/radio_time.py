# SPDX-License-Identifier: GPL-2.0-or-later
"""Times of a radio, which its samples tell, and of the MAC that hears them: shared by what sends and what receives."""

from __future__ import annotations

import threading


class RadioTime:
    """Times of the radio, and of the MAC that hears its samples: `samples_per_us` samples are a microsecond of the MAC.

    `first_s` is the radio's time of the first sample that it gave, None until then; `passed` counts those that it gave.
    `marked_us` is how far the MAC has come. `most_lag_us`: how far samples were ahead of the MAC when it sent, at most;
    with what the bus takes, a latency must be above it.
    """

    def __init__(self, samp_rate: float, samples_per_us: float, latency_us: int) -> None:
        self.samp_rate, self.samples_per_us, self.latency_us = samp_rate, samples_per_us, latency_us
        self.first_s: float | None = None
        self.passed = self.marked_us = 0
        self.most_lag_us = 0.0
        self.lock = threading.Lock()
        self.sending: list[tuple[int, int]] = []

    def sample_of(self, at_us: int) -> int:
        """Where in the stream of received samples a burst begins that the MAC sends at `at_us`."""
        return round((at_us + self.latency_us) * self.samples_per_us)

    def seconds_of(self, sample: int) -> float:
        """The radio's time of a sample. Only with first_s."""
        return self.first_s + sample / self.samp_rate
