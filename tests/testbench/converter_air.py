# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames at a converter's rate, whatever it is: as it hears them, and where in what it sends one begins.

A frame begins on the air half a chip before the middle of its first chip's pulse, and ends half a chip behind that of
its last one.
"""

import numpy as np
from numpy.typing import NDArray
from perhop.phy.channel import resampled
from perhop.phy.plcp import Frame
from perhop.phy.transmitter import transmitted

MODEL_MSPS = 44
# From the first sample of the model's wave, four a chip, to the begin of its frame.
BEGIN_US = (23 / 2 - 4 / 2) / MODEL_MSPS
SEARCH_US = 2.0
COARSE, FINE = 2, 64
"""Places in a sample at which a frame's begin is looked for: first where it may be, then where it is."""


def wave_of(frame: Frame, msps: float, begin_us: float, samples: int) -> NDArray[np.complex128]:
    """`samples` samples of a converter of `msps` in which the frame begins at `begin_us`."""
    wave = transmitted(frame, 4) @ np.array([1, 1j])
    return resampled(wave, MODEL_MSPS / msps, -(begin_us - BEGIN_US) * MODEL_MSPS, samples)


def find_begin_us(frame: Frame, samples: NDArray[np.int64], msps: float) -> tuple[float, float]:
    """Where in the samples the frame begins, to 1/FINE of a sample; and the error of the samples against an ideal pulse
    there, in dB. Looks at the frame's first 40 us, without the ramp."""
    ours = samples @ np.array([1, 1j])
    sounding = np.flatnonzero(np.abs(ours) > np.abs(ours).max() / 50)[0] / msps
    first, last = int((sounding + 3) * msps), int((sounding + 40) * msps)
    part = ours[first:last]

    def error(place: float) -> float:
        model = wave_of(frame, msps, place, last)[first:]
        return float(np.linalg.norm(part - model) / np.linalg.norm(model))

    coarse = min(np.arange(sounding - SEARCH_US, sounding + SEARCH_US, 1 / msps / COARSE), key=error)
    fine = min(coarse + np.arange(-FINE // COARSE, FINE // COARSE) / FINE / msps, key=error)
    return float(fine), 20 * float(np.log10(error(fine)))
