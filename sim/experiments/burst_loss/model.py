# SPDX-License-Identifier: GPL-2.0-or-later
"""How long a hidden node may be silent after a lost RTS: the analysis of paper 001, section III.

A node at distance 2 or 3 from the sender backs off again and again while the sender's data keep the medium. It gives up
after its eighth attempt, so that it stays silent for s = the sum of eight uniform draws (equations 3 and 4). A burst of
n packets lasts T = n times 4 ms, which is 1000 bytes at 2 Mb/s without any overhead (A-08b).

  f(n) = P(s > (n - 1) T)              the n-th packet of a burst meets a silent node
  P(w) = f(1) f(2) ... f(w)            a burst of w packets passes one contended hop (equation 5)
  P(w, h) = P(w)^(h - 3)               and h hops, of which h - 3 are contended (equation 6)

How ours differs: the product of equation 5 is printed up to w - 1. With that P(7, 5) is 0.926, against the text, which
says that 0.9 is exceeded for w up to 6; with w it is 0.926 at 6 and 0.810 at 7 (A-06).
"""

from __future__ import annotations

import math

import numpy as np

CONTENTION_WINDOWS = (32, 64, 128, 256, 512, 1024, 1024, 1024)
SLOT_US = 20
PACKET_SLOTS = 200  # 4 ms


def pmf() -> np.ndarray:
    """P(s = k slots) for k = 0, 1, ...: the convolution of eight uniform distributions on 0..CW-1, exact."""
    total = np.ones(1)
    for window in CONTENTION_WINDOWS:
        total = np.convolve(total, np.full(window, 1.0 / window))
    return total


def f(n: int, distribution: np.ndarray) -> float:
    """P(s > (n - 1) T)."""
    return float(distribution[(n - 1) * PACKET_SLOTS + 1 :].sum())


def burst(w: int, distribution: np.ndarray) -> float:
    """P(w)."""
    return math.prod(f(n, distribution) for n in range(1, w + 1))


def burst_over(w: int, hops: int, distribution: np.ndarray) -> float:
    """P(w, h) for h of 4 and more."""
    return burst(w, distribution) ** (hops - 3)
