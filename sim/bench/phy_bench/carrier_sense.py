# SPDX-License-Identifier: GPL-2.0-or-later
"""How soon a signal is found, how soon its end is, and how often noise is taken for one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from perhop import modem
from perhop.phy import constants as phy
from perhop.phy.channel import received
from perhop.phy.plcp import RATE_1MBPS, Frame, header_of, scrambled
from perhop.phy.transmitter import shaped, spread

from phy_bench.frame_errors import CARRIER_HZ, CLOCK_PPM

CCA_TIME_US = 15
"""By then a signal must be told of (IEEE 802.11-2012, 16.4.8.5)."""
SAMPLES_PER_US = 22
NOISE_RMS = 300.0
PREAMBLE_US = phy.PLCP_SYNC_BITS_LONG + 16
HEADER_END_US = PREAMBLE_US + phy.PLCP_HEADER_BITS
ENDS_US = {
    "preamble": (20, PREAMBLE_US),
    "header": (PREAMBLE_US, HEADER_END_US - 2),
    "bad header": (HEADER_END_US, HEADER_END_US + 200),
}
"""Where a signal without a good header ends, microseconds from its first sample: not before it must have been found.
The header that comes last has a wrong bit, and data behind it."""
QUIET_US = 150


@dataclass(frozen=True)
class Detection:
    """Preambles of 1 Mb/s at one signal-to-noise ratio; where their signal begins in a symbol of noise is drawn."""

    es_n0_db: float
    preambles: int


@dataclass(frozen=True)
class Release:
    """Signals of 1 Mb/s that end before there was a good header: where in a part of `ENDS_US` is drawn."""

    es_n0_db: float
    end: str
    signals: int


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


def free_again(trial: Release) -> list[float | None]:
    """Microseconds from each signal's end to a medium that stays free; None: it was busy QUIET_US later."""
    found: list[float | None] = []
    for seed in range(trial.signals):
        random = np.random.default_rng([seed, 9, *trial.end.encode()])
        header = header_of(phy.PLCP_SIGNAL_1MBPS, phy.PLCP_SERVICE, 400)
        # Not in the CRC: noise in the place of its last bits would set it right.
        header[int(random.integers(32))] ^= 1
        preamble = Frame(bytes(1), RATE_1MBPS).preamble_bits()
        bits = scrambled([*preamble, *header, *random.integers(0, 2, 210).tolist()], phy.SCRAMBLER_SEED_LONG)
        wave = shaped(spread([(bit,) for bit in bits]), 4) @ np.array([1, 1j])
        end_us = random.uniform(*ENDS_US[trial.end])
        signs = random.choice((-1, 1), 2)
        before = 400 + int(random.integers(SAMPLES_PER_US))
        samples = received(
            wave[: round(2 * SAMPLES_PER_US * end_us)],
            4,
            es_n0_db=trial.es_n0_db,
            random=random,
            carrier_hz=CARRIER_HZ * signs[0],
            clock_ppm=CLOCK_PPM * signs[1],
            delay_samples=random.uniform(),
            before=before,
            after=SAMPLES_PER_US * QUIET_US,
        )
        receiver = modem.Receiver()
        receiver.push(samples.astype(np.int16))
        frees = [at for at, busy in receiver.take_carrier_edges() if not busy]
        found.append(None if receiver.busy else max([0.0, *((at - before) / SAMPLES_PER_US - end_us for at in frees)]))
    return found


def false_alarms(noise: Noise) -> int:
    """Locks in noise alone."""
    random = np.random.default_rng([noise.seed, 8])
    samples = random.standard_normal((round(noise.seconds * 1e6 * SAMPLES_PER_US), 2)) * NOISE_RMS
    receiver = modem.Receiver()
    receiver.push(np.round(samples).astype(np.int16))
    return receiver.locks
