# SPDX-License-Identifier: GPL-2.0-or-later
"""How soon a signal is found, and how often noise is taken for one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from perhop import modem
from perhop.phy.channel import received
from perhop.phy.plcp import RATE_1MBPS

from phy_bench.frame_errors import CARRIER_HZ, CLOCK_PPM

CCA_TIME_US = 15
"""By then a signal must be told of (IEEE 802.11-2012, 16.4.8.5)."""
SAMPLES_PER_US = 22
NOISE_RMS = 300.0


@dataclass(frozen=True)
class Detection:
    """Preambles of 1 Mb/s at one signal-to-noise ratio; where their signal begins in a symbol of noise is drawn."""

    es_n0_db: float
    preambles: int


@dataclass(frozen=True)
class Noise:
    """Nothing but noise, for a tenth of a second, of a seed."""

    seed: int
    seconds: float = 0.1


def detect(trial: Detection) -> list[float | None]:
    """Microseconds from the first sample of each preamble to the lock; None: not in its 128 symbols."""
    found: list[float | None] = []
    for seed in range(trial.preambles):
        random = np.random.default_rng([seed, 7])
        wave = modem.transmitted(b"", RATE_1MBPS, samples_per_chip=4) @ np.array([1, 1j])
        before = 400 + int(random.integers(SAMPLES_PER_US))
        signs = random.choice((-1, 1), 2)
        samples = received(
            wave,
            4,
            es_n0_db=trial.es_n0_db,
            random=random,
            carrier_hz=CARRIER_HZ * signs[0],
            clock_ppm=CLOCK_PPM * signs[1],
            delay_samples=random.uniform(),
            before=before,
        )
        receiver = modem.Receiver(keep_trace=True)
        receiver.push(samples.astype(np.int16))
        # A lock in the noise before is no detection.
        after_us = [(lock - before) / SAMPLES_PER_US for lock in receiver.take_locks() if lock >= before]
        found.append(after_us[0] if after_us and after_us[0] <= 128 else None)
    return found


def false_alarms(noise: Noise) -> int:
    """Locks in noise alone."""
    random = np.random.default_rng([noise.seed, 8])
    samples = random.standard_normal((round(noise.seconds * 1e6 * SAMPLES_PER_US), 2)) * NOISE_RMS
    receiver = modem.Receiver()
    receiver.push(np.round(samples).astype(np.int16))
    return receiver.locks
