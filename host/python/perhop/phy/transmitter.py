# SPDX-License-Identifier: GPL-2.0-or-later
"""The transmitter: from a PSDU to the samples of gateware/rtl/phy/tx, equal to it number by number.

Chips stand on the diagonals, so that I and Q are a sign each: quadrant p is the point exp(j (pi/4 + p pi/2)).
Differential modulation does not see the constant turn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perhop.phy import constants as phy
from perhop.phy.plcp import Frame

QUARTER_TURNS = {(0,): 0, (1,): 2, (0, 0): 0, (0, 1): 1, (1, 1): 2, (1, 0): 3}
"""Phase by which a symbol differs from the one before (16.4.6.5), in quarter turns."""

BARKER = np.array([1 if phy.BARKER_CODE >> chip & 1 else -1 for chip in range(phy.BARKER_CHIPS)])

RAMP_SAMPLES = 16
"""Samples in which the amplitude rises and falls, where nothing else is set."""

TAIL_CHIPS = phy.PULSE_CHIPS // 2 + 1
"""Chips after the frame's last one that are sent in full: half a pulse until it is at its peak, and one more."""


def spread(symbols: list[tuple[int, ...]]) -> NDArray[np.int64]:
    """The quadrant of each chip of symbols, given as their bits."""
    turns = np.cumsum([QUARTER_TURNS[symbol] for symbol in symbols])
    return ((turns[:, None] + np.where(BARKER > 0, 0, 2)) % 4).ravel()


def chip_quadrants(frame: Frame) -> NDArray[np.int64]:
    """The quadrant of each chip of a frame."""
    return spread(frame.symbols())


def chip_points(quadrants: NDArray[np.int64]) -> NDArray[np.complex128]:
    """The chips as points of the unit circle, the first quadrant at angle 0."""
    return np.array([1, 1j, -1, -1j])[quadrants]


def shaped(quadrants: NDArray[np.int64], samples_per_chip: int) -> NDArray[np.int64]:
    """Pulse shaping: I and Q in two columns, one row a sample. Before the first chip stand chips of quadrant 0."""
    taps = np.array(phy.PULSES[samples_per_chip])
    signs = np.stack([np.where(np.isin(quadrants, (0, 3)), 1, -1), np.where(quadrants < 2, 1, -1)], axis=1)
    signs = np.vstack([np.ones((phy.PULSE_CHIPS - 1, 2), dtype=np.int64), signs])
    out = np.empty((len(quadrants) * samples_per_chip, 2), dtype=np.int64)
    for phase in range(samples_per_chip):
        for column in range(2):
            full = np.convolve(signs[:, column], taps[phase::samples_per_chip])
            out[phase::samples_per_chip, column] = full[phy.PULSE_CHIPS - 1 :][: len(quadrants)]
    return out


def transmitted(
    frame: Frame, samples_per_chip: int = 2, gain: int = 256, ramp_samples: int = RAMP_SAMPLES
) -> NDArray[np.int64]:
    """The samples of a frame: I and Q, 12 bits each with gain 256. The first chip peaks 3 chips after the first one."""
    quadrants = chip_quadrants(frame)
    fall = TAIL_CHIPS * samples_per_chip
    chips = -(-(fall + ramp_samples) // samples_per_chip)
    # The last symbol goes on.
    tail = np.resize(quadrants[-phy.BARKER_CHIPS :], chips)
    samples = shaped(np.concatenate([quadrants, tail]), samples_per_chip)
    ramp = np.full(len(samples), ramp_samples)
    ramp[:ramp_samples] = np.arange(ramp_samples)
    falls_at = len(quadrants) * samples_per_chip + fall
    ramp[falls_at:] = np.maximum(ramp_samples - 1 - np.arange(len(samples) - falls_at), 0)
    return samples * (gain * ramp // ramp_samples)[:, None] >> 8
