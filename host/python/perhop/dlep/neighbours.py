# SPDX-License-Identifier: GPL-2.0-or-later
"""From what `perhop probe` tells of a node to what DLEP tells of its destinations.

- Latency: `latency_us` of the probe, the expected service time of a packet that fills the interface.
- Maximum data rate: that of the DATA frames. Current data rate: such packets, one after another, at that latency.
- Relative link quality: the share of DATA attempts that get through.

A neighbour is a destination from the first packet that reached it until several in a row did not.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Any

from perhop.dlep.session import Destination, Metrics
from perhop.export.probe import BROADCAST, full_mpdu_bytes
from perhop.registers import spec_generated as spec

# So many packets lost in a row: the neighbour is gone.
LOST_IN_A_ROW = 3


@dataclass
class _Seen:
    packets: int
    drops: int
    lost_in_a_row: int
    reachable: bool


@dataclass
class Tracker:
    """Remembers from one probe to the next which neighbours can be reached."""

    _seen: dict[bytes, _Seen] = field(default_factory=dict)

    def destinations(self, told: dict[str, Any]) -> dict[bytes, Destination]:
        """The destinations, given a new probe of the node."""
        if not told["mac_up"]:
            return {}
        found = {}
        present = set()
        for neighbour in told["neighbours"]:
            if neighbour["mac"] == BROADCAST or neighbour["latency_us"] is None:
                continue
            mac = bytes.fromhex(neighbour["mac"].replace(":", ""))
            present.add(mac)
            if self._is_reachable(mac, neighbour):
                found[mac] = describe(told, neighbour)
        for mac in set(self._seen) - present:
            del self._seen[mac]
        return found

    def _is_reachable(self, mac: bytes, neighbour: dict[str, Any]) -> bool:
        packets, drops = neighbour["packets"], neighbour["drops"]
        seen = self._seen.get(mac)
        if seen is None or packets < seen.packets:
            seen = self._seen[mac] = _Seen(0, 0, 0, False)
        delivered = (packets - drops) - (seen.packets - seen.drops)
        seen.lost_in_a_row = 0 if delivered else seen.lost_in_a_row + drops - seen.drops
        seen.packets, seen.drops = packets, drops
        if delivered:
            seen.reachable = True
        elif seen.lost_in_a_row >= LOST_IN_A_ROW:
            seen.reachable = False
        return seen.reachable


def describe(told: dict[str, Any], neighbour: dict[str, Any]) -> Destination:
    latency_us = neighbour["latency_us"]
    attempts = neighbour["average"]["data_attempts"]
    return Destination(
        Metrics(
            max_rate_bps=neighbour["data_rate_bps"],
            current_rate_bps=min(neighbour["data_rate_bps"], told["mtu_bytes"] * 8_000_000 // max(1, latency_us)),
            latency_us=latency_us,
            link_quality=round(100 / attempts) if attempts > 1 else 100,
            mtu_bytes=told["mtu_bytes"],
        ),
        frozenset(ipaddress.ip_address(address).packed for address in neighbour["addresses"]),
    )


def defaults(told: dict[str, Any]) -> Metrics:
    """Of a destination of which nothing is known: an exchange on an idle medium."""
    mac = told["mac"]
    if mac is None:
        return Metrics(0, 0, 0)
    profile = spec.PROFILES[mac["profile"]]
    mpdu_bytes = full_mpdu_bytes(told["mtu_bytes"])
    rate = profile.rates[mac["data_rate"]]
    latency_us = profile.difs_us + spec.airtime_us(profile, mac["data_rate"], mpdu_bytes)
    latency_us += profile.sifs_us + spec.airtime_us(profile, rate.control_rate_index, spec.MAC_ACK_BYTES)
    if mpdu_bytes > mac["rts_threshold_bytes"]:
        rts_us = spec.airtime_us(profile, profile.control_rate_index, spec.RTS_BYTES)
        cts_us = spec.airtime_us(profile, profile.control_rate_index, spec.CTS_BYTES)
        latency_us += rts_us + cts_us + 2 * profile.sifs_us
    return Metrics(
        max_rate_bps=mac["data_rate_bps"],
        current_rate_bps=told["mtu_bytes"] * 8_000_000 // latency_us,
        latency_us=latency_us,
        mtu_bytes=told["mtu_bytes"],
    )
