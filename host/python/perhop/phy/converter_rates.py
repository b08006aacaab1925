# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates of converters that are no multiple of the chips': what rx_resampler and tx_resampler make of samples.

Equal to the gateware number by number. The receiver wants 22 Msps, the transmitter gives 44; a converter has 25 or
20.48.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FRACTION_BITS = 24
PLACE_BITS = 3
"""Between two samples lies a straight line, which is read at the nearest eighth below."""

CONVERTER_RATES = {"25": (25, 22), "20.48": (256, 275)}
"""By Msps of the converter: its rate and the receiver's 22 Msps, in a common unit. The transmitter's is twice the
latter."""


def resampled(samples: NDArray[np.int64], from_rate: int, to_rate: int) -> NDArray[np.int64]:
    """The samples (I and Q in two columns) at another rate; the first one lies at the place before them, where 0 is."""
    step = ((from_rate << FRACTION_BITS) + to_rate // 2) // to_rate
    count = (len(samples) << FRACTION_BITS) // step + 1
    places = step * np.arange(count, dtype=np.int64)
    places = places[places >> FRACTION_BITS < len(samples)]
    index = places >> FRACTION_BITS
    eighths = (places >> FRACTION_BITS - PLACE_BITS & (1 << PLACE_BITS) - 1)[:, None]
    padded = np.vstack([np.zeros((1, 2), dtype=np.int64), samples])
    older, newer = padded[index], padded[index + 1]
    return (older << PLACE_BITS) + (newer - older) * eighths >> PLACE_BITS
