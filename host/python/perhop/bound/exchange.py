# SPDX-License-Identifier: GPL-2.0-or-later
"""What one packet takes on one hop: the frames of its exchange, with their airtimes in microseconds.

Sources: the timing profiles and lengths of gateware/spec; the order of frames of IEEE 802.11-2012, 9.3.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from perhop.registers import spec_generated as spec

IPV4_AND_TCP_BYTES = 20 + 20
IPV4_AND_UDP_BYTES = 20 + 8


@dataclass(frozen=True)
class Frame:
    """One frame of an exchange. `forward`: from the packet's sender to its receiver."""

    kind: str  # rts, cts, data or mac_ack
    forward: bool
    airtime_us: float
    rate_index: int


@dataclass(frozen=True)
class Link:
    """Settings of one hop. `header_bytes` is all that an MPDU adds to the IP packet, FCS included.

    `difs_us` and `backoff_slots` are what a station waits on an idle medium before an exchange, at least and in the
    mean; None: those of the profile. ns-2's MAC and those of paper 003 wait for less (`runs.link_of`). `sifs_us`,
    `rts_us` and `response_us` (CTS and MAC ACK) are times that the profile has not.
    """

    profile: str = "dsss_long"
    data_rate_index: int = 1
    segment_bytes: int = 1460
    rts_above_bytes: int = 0  # MPDUs longer than this begin with RTS and CTS
    header_bytes: int = spec.MAC_HEADER_BYTES + spec.FCS_BYTES + spec.LLC_SNAP_BYTES + spec.PATH_HEADER_BYTES
    mac_ack: bool = True
    difs_us: float | None = None
    backoff_slots: float | None = None
    sifs_us: float | None = None
    rts_us: float | None = None
    response_us: float | None = None

    @property
    def timing(self) -> spec.TimingProfile:
        return spec.PROFILES[self.profile]

    @property
    def between_us(self) -> float:
        """From a frame to its answer."""
        return self.timing.sifs_us if self.sifs_us is None else self.sifs_us

    @property
    def idle_before_us(self) -> float:
        """The inter-frame space."""
        return self.timing.difs_us if self.difs_us is None else self.difs_us

    @property
    def mean_backoff_us(self) -> float:
        """Of a first attempt: uniform from 0 to CWmin slots."""
        slots = self.timing.cw_min / 2 if self.backoff_slots is None else self.backoff_slots
        return slots * self.timing.slot_us

    @property
    def backoff_deviation_us(self) -> float:
        """Standard deviation of one back-off of a first attempt."""
        values = 2 * self.mean_backoff_us / self.timing.slot_us + 1
        return math.sqrt((values**2 - 1) / 12) * self.timing.slot_us

    @property
    def data_exchange_us(self) -> float:
        """DIFS and the frames of one data packet."""
        return self.exchange_us(self.segment_bytes + IPV4_AND_TCP_BYTES)

    @property
    def tcp_ack_exchange_us(self) -> float:
        """DIFS and the frames of one TCP ACK."""
        return self.exchange_us(IPV4_AND_TCP_BYTES)

    def frames(self, ip_bytes: int) -> list[Frame]:
        """The frames of a packet of `ip_bytes`, in their order; each follows the one before after SIFS."""
        timing = self.timing

        def frame(kind: str, forward: bool, rate_index: int, mpdu_bytes: int, airtime_us: float | None = None) -> Frame:
            if airtime_us is None:
                airtime_us = spec.airtime_us(timing, rate_index, mpdu_bytes)
            return Frame(kind, forward, airtime_us, rate_index)

        frames = []
        if ip_bytes + self.header_bytes > self.rts_above_bytes:
            control = timing.control_rate_index
            answer = timing.rates[control].control_rate_index
            frames.append(frame("rts", True, control, spec.RTS_BYTES, self.rts_us))
            frames.append(frame("cts", False, answer, spec.CTS_BYTES, self.response_us))
        frames.append(frame("data", True, self.data_rate_index, ip_bytes + self.header_bytes))
        if self.mac_ack:
            answer = timing.rates[self.data_rate_index].control_rate_index
            frames.append(frame("mac_ack", False, answer, spec.MAC_ACK_BYTES, self.response_us))
        return frames

    def exchange_us(self, ip_bytes: int) -> float:
        """DIFS, then RTS, CTS, DATA and MAC ACK, SIFS between them; without propagation."""
        frames = self.frames(ip_bytes)
        airtime_us = sum(frame.airtime_us for frame in frames)
        return self.idle_before_us + airtime_us + (len(frames) - 1) * self.between_us
