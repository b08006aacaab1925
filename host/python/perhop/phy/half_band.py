# SPDX-License-Identifier: GPL-2.0-or-later
"""From four samples a chip to two behind a half-band low-pass: what rx_half_band makes of samples.

Equal to the gateware number by number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TAPS = np.array(
    [-3, 0, 12, 0, -34, 0, 80, 0, -183, 0, 640, 1024, 640, 0, -183, 0, 80, 0, -34, 0, 12, 0, -3], dtype=np.int64
)
"""In 2048th, which they sum to: equiripple from 14.5 MHz on at 44 Msps, then searched around for few binary digits."""
SHIFT = 11


def decimated(samples: NDArray[np.int64]) -> NDArray[np.int64]:
    """Half as many samples (I and Q in two columns), one a whole pair; before the first one everything was 0.

    Of a pair's output the filter's newest sample is the pair's second one. The sum is rounded down, and limited to 16
    bits.
    """
    pairs = len(samples) // 2
    columns = [np.convolve(column, TAPS)[1 : 2 * pairs : 2] for column in samples.T]
    return np.clip(np.stack(columns, axis=1) >> SHIFT, -32768, 32767)
