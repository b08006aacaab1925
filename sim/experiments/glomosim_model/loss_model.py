# SPDX-License-Identifier: GPL-2.0-or-later
"""Paper 003's model of a TCP that sends one packet at a time over lossy links (section 4).

A link loses a packet with probability p, so packet and TCP ACK pass h hops with q = (1 - p)^(2h). The timeout doubles
with every retransmission. The paper puts the mean number of retransmissions, 1/q - 1, into the exponent. The mean of
the doubled timeouts themselves is larger, and has no bound for q <= 1/2 unless the timeout has one (A-11).
"""

from __future__ import annotations


def passes(loss: float, hops: int) -> float:
    """q: the probability that packet and TCP ACK both arrive."""
    return (1 - loss) ** (2 * hops)


def retransmissions(loss: float, hops: int) -> float:
    """Their mean number a packet."""
    return 1 / passes(loss, hops) - 1


def paper_timeout_factor(loss: float, hops: int) -> float:
    """The mean timeout over the first one, as the paper has it; throughput falls by the same factor."""
    return 2 ** retransmissions(loss, hops)


def mean_timeout_factor(loss: float, hops: int, largest: float | None = None) -> float | None:
    """The mean of min(2^K, largest) over the number of retransmissions K; None where it is unbounded."""
    q = passes(loss, hops)
    if largest is None:
        return q / (2 * q - 1) if q > 1 / 2 else None
    total, factor, left = 0.0, 1.0, 1.0
    while factor < largest:
        total += factor * q * left
        left *= 1 - q
        factor *= 2
    return total + largest * left
