# SPDX-License-Identifier: GPL-2.0-or-later
"""One TCP flow over a chain, in closed form: reference figures that are no bounds, and what fewer TCP ACKs gain.

A packet crosses h hops. If one of any n consecutive hops is in use at a time, n exchanges of each packet follow one
another. `quarter_reuse_bps` says what a chain gets that uses every fourth hop, with one mean back-off a packet (paper
000, section 3.2). Links three apart can carry packets together under both reception rules (docs/airtime_bound.md), so
a policy may exceed it; `bound_bps` is what none can.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

from perhop.bound.exchange import IPV4_AND_TCP_BYTES, Link
from perhop.bound.hearing import hearing
from perhop.bound.network import Flow, frame_bound

# Consecutive hops of which one carries a packet at a time, where a frame is sensed more than 2 hops away and everybody
# who senses one keeps silent.
CARRIER_SENSE_REUSE_HOPS = 4

# What the experiments of chains say, where they do not ask for something else.
MEDIUM: Mapping[str, Any] = {"reception": "ns2", "loss": "range", "tx_range_m": 250.0, "cs_range_m": 550.0}


class Backoff(Enum):
    """How much of the backoffs is counted."""

    NONE = "none"  # every station always draws 0
    OVERLAPPING = "overlapping"  # stations count the same idle slots: one mean backoff a packet
    SEQUENTIAL = "sequential"  # one mean backoff an exchange, as if no two stations ever counted together


def period_us(
    link: Link,
    hops: int,
    packets_per_tcp_ack: float = math.inf,
    backoff: Backoff = Backoff.OVERLAPPING,
    reuse_hops: int = CARRIER_SENSE_REUSE_HOPS,
) -> float:
    """The mean time between two packets delivered over `hops` hops, one of `reuse_hops` in use at a time."""
    shared_hops = min(hops, reuse_hops)
    exchanges_us = shared_hops * (link.data_exchange_us + link.tcp_ack_exchange_us / packets_per_tcp_ack)
    match backoff:
        case Backoff.NONE:
            return exchanges_us
        case Backoff.OVERLAPPING:
            return exchanges_us + link.mean_backoff_us
        case Backoff.SEQUENTIAL:
            return exchanges_us + shared_hops * (1 + 1 / packets_per_tcp_ack) * link.mean_backoff_us


def quarter_reuse_bps(link: Link, hops: int, packets_per_tcp_ack: float = math.inf) -> float:
    """Reuse of 1/4 with a back-off: goodput of a chain that uses every fourth hop and wastes nothing else. No bound."""
    return link.segment_bytes * 8e6 / period_us(link, hops, packets_per_tcp_ack)


def delayed_tcp_ack_gain(link: Link, packets_per_tcp_ack: float, hops: int = 1) -> float:
    """How much more one TCP ACK for so many packets gives than one for each packet; 0.1 is 10 %."""
    each_us = period_us(link, hops, 1, Backoff.SEQUENTIAL)
    return each_us / period_us(link, hops, packets_per_tcp_ack, Backoff.SEQUENTIAL) - 1


def flow(link: Link, hops: int, packets_per_tcp_ack: float = math.inf) -> Flow:
    """TCP from the first node of a chain to the last."""
    return Flow(
        0,
        hops,
        (tuple(range(hops + 1)),),
        link,
        link.segment_bytes,
        link.segment_bytes + IPV4_AND_TCP_BYTES,
        packets_per_tcp_ack,
        IPV4_AND_TCP_BYTES,
    )


def bound_bps(
    link: Link,
    hops: int,
    packets_per_tcp_ack: float = math.inf,
    spacing_m: float = 250,
    backoff: bool = True,
    **medium: Any,
) -> float:
    """The bound of a chain: no policy exceeds it. `medium` holds the fields that differ from MEDIUM."""
    return _bound_bps(link, hops, packets_per_tcp_ack, spacing_m, backoff, tuple(sorted(medium.items())))


@functools.cache
def _bound_bps(
    link: Link,
    hops: int,
    packets_per_tcp_ack: float,
    spacing_m: float,
    backoff: bool,
    medium: tuple[tuple[str, Any], ...],
) -> float:
    heard = hearing({**MEDIUM, **dict(medium)}, [(i * spacing_m, 0.0) for i in range(hops + 1)], link.profile)
    return frame_bound([flow(link, hops, packets_per_tcp_ack)], heard, backoff).bound
