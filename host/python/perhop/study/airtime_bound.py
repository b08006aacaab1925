# SPDX-License-Identifier: GPL-2.0-or-later
"""The most that one TCP flow over a chain can get, from what each frame takes on the air: docs/airtime_bound.md.

Every packet crosses h hops, and of any n consecutive hops only one can be in use: the medium of a neighbourhood is a
line in which n exchanges of each packet stand one after the other. What else the chain does can only take longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from perhop.registers import spec_generated as spec

IPV4_AND_TCP_BYTES = 20 + 20

# Consecutive hops of which only one can carry a packet at a time.
# An exchange keeps the sender's and the receiver's neighbours silent, so never more than every third hop.
NEIGHBOUR_REUSE_HOPS = 3
# Where a frame is sensed, and spoils others, up to more than 2 hops away: paper 000, section 3.2.
CARRIER_SENSE_REUSE_HOPS = 4


class Backoff(Enum):
    """How much of the backoffs is counted."""

    NONE = "none"  # every station always draws 0
    OVERLAPPING = "overlapping"  # stations count the same idle slots: one mean backoff a packet
    SEQUENTIAL = "sequential"  # one mean backoff an exchange, as if no two stations ever counted together


@dataclass(frozen=True)
class Link:
    """Frames of a flow on one hop. `header_bytes` is all that an MPDU adds to the IP packet, FCS included."""

    profile: str = "dsss_long"
    data_rate_index: int = 1
    segment_bytes: int = 1460
    rts: bool = True
    header_bytes: int = spec.MAC_HEADER_BYTES + spec.FCS_BYTES + spec.LLC_SNAP_BYTES + spec.PATH_HEADER_BYTES

    @property
    def timing(self) -> spec.TimingProfile:
        return spec.PROFILES[self.profile]

    @property
    def mean_backoff_us(self) -> float:
        """Of a first attempt: uniform from 0 to CWmin slots."""
        return self.timing.cw_min / 2 * self.timing.slot_us

    @property
    def data_exchange_us(self) -> int:
        """DIFS and the frames of one data packet."""
        return self.exchange_us(self.segment_bytes + IPV4_AND_TCP_BYTES)

    @property
    def tcp_ack_exchange_us(self) -> int:
        """DIFS and the frames of one TCP ACK."""
        return self.exchange_us(IPV4_AND_TCP_BYTES)

    def exchange_us(self, ip_bytes: int) -> int:
        """DIFS, then RTS, CTS, DATA and MAC ACK, SIFS between them."""
        timing = self.timing
        data = timing.rates[self.data_rate_index]
        data_us = spec.airtime_us(timing, self.data_rate_index, ip_bytes + self.header_bytes)
        mac_ack_us = spec.airtime_us(timing, data.control_rate_index, spec.MAC_ACK_BYTES)
        exchange_us = timing.difs_us + data_us + timing.sifs_us + mac_ack_us
        if self.rts:
            control = timing.control_rate_index
            rts_us = spec.airtime_us(timing, control, spec.RTS_BYTES)
            cts_us = spec.airtime_us(timing, timing.rates[control].control_rate_index, spec.CTS_BYTES)
            exchange_us += rts_us + cts_us + 2 * timing.sifs_us
        return exchange_us


def period_us(
    link: Link,
    hops: int,
    packets_per_tcp_ack: float = math.inf,
    backoff: Backoff = Backoff.OVERLAPPING,
    reuse_hops: int = CARRIER_SENSE_REUSE_HOPS,
) -> float:
    """The least mean time between two packets delivered over `hops` hops."""
    shared_hops = min(hops, reuse_hops)
    exchanges_us = shared_hops * (link.data_exchange_us + link.tcp_ack_exchange_us / packets_per_tcp_ack)
    match backoff:
        case Backoff.NONE:
            return exchanges_us
        case Backoff.OVERLAPPING:
            return exchanges_us + link.mean_backoff_us
        case Backoff.SEQUENTIAL:
            return exchanges_us + shared_hops * (1 + 1 / packets_per_tcp_ack) * link.mean_backoff_us


def bound_bps(link: Link, hops: int, packets_per_tcp_ack: float = math.inf) -> float:
    """The airtime bound: goodput of a chain that wastes nothing but the backoff that 802.11 prescribes."""
    return link.segment_bytes * 8e6 / period_us(link, hops, packets_per_tcp_ack)


def ceiling_bps(link: Link, hops: int) -> float:
    """Goodput above which no station has obeyed 802.11 at all: no backoff, and a packet on every third hop."""
    return link.segment_bytes * 8e6 / period_us(link, hops, math.inf, Backoff.NONE, NEIGHBOUR_REUSE_HOPS)


def delayed_tcp_ack_gain(link: Link, packets_per_tcp_ack: float, hops: int = 1) -> float:
    """How much more one TCP ACK for so many packets gives than one for each packet; 0.1 is 10 %."""
    each_us = period_us(link, hops, 1, Backoff.SEQUENTIAL)
    return each_us / period_us(link, hops, packets_per_tcp_ack, Backoff.SEQUENTIAL) - 1
