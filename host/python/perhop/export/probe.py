# SPDX-License-Identifier: GPL-2.0-or-later
"""What a node's MAC is set to and has measured, as one object: its registers, neighbours, counters and queues.

The latency of a neighbour is the expected service time, from head of line to MAC ACK, of a packet that fills the
interface: contention + overhead + DATA attempts x airtime, from the running averages of the MAC's neighbour table.
That is what the node adds to the path header of such a packet, and what DLEP tells a router.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from perhop.errors import PerhopError
from perhop.export.nodes import (
    NodeSocket,
    register_accesses,
    register_fields,
    snapshot_accesses,
    snapshots,
)
from perhop.live.messages import NoAnswer
from perhop.registers import NeighbourSnapshot
from perhop.registers import spec_generated as spec

SETTINGS = (
    "version",
    "address",
    "access_mode",
    "slot",
    "sifs",
    "difs",
    "eifs",
    "response_timeout",
    "nav_reset",
    "rts",
    "contention_window",
    "retry_limits",
    "rts_threshold",
    "average",
    "quirks",
)
STATISTICS = [name for name in spec.REGISTERS if name.startswith("stat_")]
HISTOGRAM_FIRST_BIN_US = 128
# Of a neighbour, running: in its table, and in each completion record.
AVERAGES = ("contention_us", "overhead_us", "data_attempts")
BROADCAST = "ff:ff:ff:ff:ff:ff"
PARTS = [part.removesuffix("_us") for part in spec.SERVICE_TIME_PARTS]


def full_mpdu_bytes(mtu_bytes: int) -> int:
    """The MPDU of an IP packet that fills the interface."""
    overhead = spec.MAC_HEADER_BYTES + spec.LLC_SNAP_BYTES + spec.PATH_HEADER_BYTES + spec.FCS_BYTES
    return overhead + mtu_bytes


def probe(node: NodeSocket) -> dict[str, Any]:
    """Everything that `perhop probe` tells of a node. Raises NoAnswer, PerhopError."""
    status = node.status()
    told: dict[str, Any] = {
        "node": node.label,
        "network": node.network,
        "name": status["name"],
        "interface": status["interface"],
        "mtu_bytes": status["mtu_bytes"],
        "mac_up": status["mac_up"],
        "mac_problem": status["mac_problem"],
        "mac": status.get("mac"),
        "queued_packets": status["queued_packets"],
        "queue_limit_packets": status["queue_limit_packets"],
        "packets": status["packets"],
        "without_effect": status["without_effect"],
        "driver": status["driver"],
        "neighbours": [],
        "registers": {},
        "statistics": {},
    }
    slots = [neighbour["slot"] for neighbour in status["neighbours"]]
    taken: dict[int, NeighbourSnapshot] = {}
    if status["mac_up"]:
        names = [(name, 0) for name in (*SETTINGS, *STATISTICS)]
        values = _read(node, [*register_accesses(names), *snapshot_accesses(slots)])
        fields = register_fields(names, values)
        told["registers"] = {name: fields[name, 0] for name in SETTINGS if (name, 0) in fields}
        if fields:
            told["statistics"] = {
                name.removeprefix("stat_"): fields[name, 0]["count"] if (name, 0) in fields else None
                for name in STATISTICS
            }
        taken = snapshots(slots, values[len(register_accesses(names)) :])
    # Those that answer before the group addresses.
    neighbours = sorted(status["neighbours"], key=lambda neighbour: (neighbour["mac"] == BROADCAST, neighbour["slot"]))
    told["neighbours"] = [describe(neighbour, taken.get(neighbour["slot"]), status) for neighbour in neighbours]
    return told


def _read(node: NodeSocket, accesses: list[list[int]]) -> list[int | None]:
    """The answers; None for all of them when the driver has no registers, or no longer its MAC. Raises NoAnswer."""
    try:
        return node.access(accesses)
    except NoAnswer:
        raise
    except PerhopError:
        return [None] * len(accesses)


def describe(neighbour: dict[str, Any], snapshot: NeighbourSnapshot | None, status: dict[str, Any]) -> dict[str, Any]:
    """One neighbour: the MAC's own table, and where the time of the daemon's packets went, as means a packet."""
    packets = neighbour["packets"]
    told = {
        "slot": neighbour["slot"],
        "mac": neighbour["mac"],
        "addresses": sorted(neighbour["addresses"], key=lambda address: (":" in address, address)),
        "queued_packets": neighbour["queued_packets"],
        "packets": packets,
        "drops": neighbour["drops"],
        "bytes": neighbour["bytes"],
        "idle_us": neighbour.get("idle_us"),
        "last": neighbour.get("last"),
        "service_us": neighbour["service_us"],
        "rts_attempts": neighbour["rts_attempts"],
        "data_attempts": neighbour["data_attempts"],
        "longest_service_us": neighbour["longest_service_us"],
        "histogram": neighbour["histogram"],
        "parts_us": {
            "host_queue": neighbour["host_queue_us"],
            **{part: neighbour["parts_us"][f"{part}_us"] for part in PARTS},
        },
        "mean_service_us": neighbour["service_us"] / packets if packets else None,
        "mean_rts_attempts": neighbour["rts_attempts"] / packets if packets else None,
        "mean_data_attempts": neighbour["data_attempts"] / packets if packets else None,
        "mean_host_queue_us": neighbour["host_queue_us"] / neighbour["given"] if neighbour["given"] else None,
        "mean_parts_us": {part: neighbour["parts_us"][f"{part}_us"] / packets if packets else None for part in PARTS},
        "table": asdict(snapshot) if snapshot is not None else None,
        "average": None,
        "data_rate_bps": None,
        "latency_us": None,
    }
    # The table may still hold what another neighbour left in the slot: it is this one's from its first packet on.
    if packets and status.get("mac"):
        average = {name: getattr(snapshot, name) for name in AVERAGES} if snapshot is not None else neighbour["average"]
        told["average"] = average
        told["data_rate_bps"] = spec.PROFILES[status["mac"]["profile"]].rates[neighbour["data_rate"]].bps
        told["latency_us"] = latency_us(average, neighbour["data_rate"], status)
    return told


def latency_us(average: dict[str, Any], rate: int, status: dict[str, Any]) -> int:
    """The latency of a neighbour whose DATA frames have this rate, in whole microseconds."""
    profile = spec.PROFILES[status["mac"]["profile"]]
    airtime_us = spec.airtime_us(profile, rate, full_mpdu_bytes(status["mtu_bytes"]))
    return round(average["contention_us"] + average["overhead_us"] + average["data_attempts"] * airtime_us)


def histogram_bounds_us(bins: int) -> list[int | None]:
    """Upper ends of the histogram's bins; None: open."""
    return [*(HISTOGRAM_FIRST_BIN_US << place for place in range(bins - 1)), None]
