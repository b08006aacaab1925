# SPDX-License-Identifier: GPL-2.0-or-later
"""What a live network is doing now: the difference of what its daemons say at two moments.

take() asks, picture() compares two answers and gives plain data, `top_text` draws it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from perhop.errors import PerhopError
from perhop.export.nodes import NodeSocket
from perhop.live import messages, network, state_files
from perhop.registers.spec_generated import SERVICE_TIME_PARTS

PROTOCOLS = {1: "ICMP", 6: "TCP", 17: "UDP", 58: "ICMPv6"}
UDP = 17
# A flow that is quiet for longer is history.
FLOW_IDLE_S = 5.0


@dataclass(frozen=True)
class Sample:
    """What the daemons, and the medium if there is one here, said at one moment; None: no answer."""

    at_s: float
    nodes: dict[str, dict[str, Any] | None]
    medium: dict[str, Any] | None
    network: str | None


def take(nodes: Sequence[NodeSocket]) -> Sample:
    """Asks all at once: one that does not answer keeps no other waiting."""

    def ask(node: NodeSocket) -> dict[str, Any] | None:
        try:
            return node.status(timeout_s=1)
        except PerhopError:
            return None

    def ask_medium() -> dict[str, Any] | None:
        if nodes[0].network is None:
            return None
        try:
            path = state_files.medium_socket(network.state_folder() / nodes[0].network)
            return messages.ask_medium(path, {"command": "status"}, timeout_s=1)
        except PerhopError:
            return None

    with ThreadPoolExecutor(max_workers=min(16, len(nodes) + 1)) as pool:
        medium = pool.submit(ask_medium)
        answers = list(pool.map(ask, nodes))
    return Sample(
        time.monotonic(),
        {node.label: answer for node, answer in zip(nodes, answers, strict=True)},
        medium.result(),
        nodes[0].network,
    )


def picture(before: Sample, now: Sample) -> dict[str, Any]:
    """What happened between two samples."""
    return {
        "network": now.network,
        "interval_s": now.at_s - before.at_s,
        "silent_nodes": [label for label, status in now.nodes.items() if status is None],
        "macs_down": [label for label, status in now.nodes.items() if status is not None and not status["mac_up"]],
        "medium": _medium(before, now),
        "nodes": [
            _node(label, before.nodes.get(label), status, now.at_s - before.at_s)
            for label, status in now.nodes.items()
            if status is not None
        ],
        "hops": _hops(before, now),
        "flows": _flows(before, now),
    }


def _medium(before: Sample, now: Sample) -> dict[str, Any] | None:
    if now.medium is None:
        return None
    frames = now.medium["transmissions"]
    if before.medium is not None and before.medium["time_us"] <= now.medium["time_us"]:
        frames -= before.medium["transmissions"]
    late = now.medium["late"]
    return {
        "time_us": now.medium["time_us"],
        "frames_per_s": frames / (now.at_s - before.at_s),
        "late_p999_us": late["p999_us"],
    }


def _is_same(before: dict[str, Any] | None, now: dict[str, Any]) -> bool:
    """The daemon was not started anew in between: its sums have gone on."""
    return (
        before is not None
        and before["cpu_s"] <= now["cpu_s"]
        and (before["packets"]["completions"] <= now["packets"]["completions"])
    )


def _node(label: str, before: dict[str, Any] | None, now: dict[str, Any], interval_s: float) -> dict[str, Any]:
    earlier = before if before is not None and _is_same(before, now) else None
    return {
        "node": label,
        "queued_packets": now["queued_packets"],
        "queue_limit_packets": now["queue_limit_packets"],
        "queue_drops": now["packets"]["queue_drops"] - (earlier["packets"]["queue_drops"] if earlier else 0),
        "cpu_share": (now["cpu_s"] - earlier["cpu_s"]) / interval_s if earlier else None,
    }


def _names(sample: Sample) -> dict[str, str]:
    """Nodes by their MAC's address."""
    return {
        status["mac"]["address"]: label
        for label, status in sample.nodes.items()
        if status is not None and status.get("mac")
    }


def _hops(before: Sample, now: Sample) -> list[dict[str, Any]]:
    names = _names(now)
    interval_s = now.at_s - before.at_s
    hops = []
    for label, status in now.nodes.items():
        if status is None:
            continue
        earlier = before.nodes.get(label)
        known = {
            (neighbour["slot"], neighbour["mac"]): neighbour
            for neighbour in (earlier["neighbours"] if earlier is not None and _is_same(earlier, status) else ())
        }
        for neighbour in status["neighbours"]:
            then = known.get((neighbour["slot"], neighbour["mac"]))
            hops.append(_hop(label, names, then, neighbour, interval_s))
    return hops


def _hop(
    label: str, names: dict[str, str], then: dict[str, Any] | None, now: dict[str, Any], interval_s: float
) -> dict[str, Any]:
    def gain(key: str) -> int:
        before: int = then[key] if then is not None else 0
        return now[key] - before

    packets, given = gain("packets"), gain("given")
    parts_us = {
        name.removesuffix("_us"): (now["parts_us"][name] - (then["parts_us"][name] if then else 0)) / packets
        if packets
        else 0.0
        for name in SERVICE_TIME_PARTS
    }
    parts_us["host_queue"] = gain("host_queue_us") / given if given else 0.0
    rts, data = gain("rts_attempts"), gain("data_attempts")
    return {
        "node": label,
        "neighbour": names.get(now["mac"]) or ("all" if now["mac"] == "ff:ff:ff:ff:ff:ff" else now["mac"]),
        "group": now["mac"] == "ff:ff:ff:ff:ff:ff",
        "packets_per_s": packets / interval_s,
        "rate_bps": 8 * gain("bytes") / interval_s,
        "service_us": gain("service_us") / packets if packets else None,
        "delay_us": sum(parts_us.values()) if packets else None,
        "parts_us": parts_us,
        "queued_packets": now["queued_packets"],
        # Beyond the one attempt that each packet needs.
        "retries": (max(rts - data, 0) + max(data - packets, 0)) / packets if packets else None,
        "drops": gain("drops"),
        "contention_window": now["last"]["cw"] if "last" in now else None,
    }


FlowKey = tuple[str, int, str, int]


def _key(entry: dict[str, Any]) -> FlowKey:
    return entry["source"], entry["source_port"], entry["destination"], entry["destination_port"]


def _flows(before: Sample, now: Sample) -> list[dict[str, Any]]:
    interval_s = now.at_s - before.at_s
    found: dict[tuple[FlowKey, int], dict[str, Any]] = {}
    for label, status in now.nodes.items():
        if status is None:
            continue
        earlier = before.nodes.get(label)
        known = {
            (_key(entry), entry["protocol"], entry["role"]): entry["bytes"]
            for entry in (earlier["traffic"] if earlier is not None and _is_same(earlier, status) else ())
        }
        limits = {_key(flow): flow for flow in status["flows"]}
        allowed = {_key(source): source for source in status.get("exact", {}).get("sources", ())}
        for entry in status["traffic"]:
            key = (_key(entry), entry["protocol"])
            then = known.get((*key, entry["role"]), 0)
            rate_bps = 8 * max(0, entry["bytes"] - then) / interval_s
            if entry["idle_us"] > FLOW_IDLE_S * 1e6 and rate_bps == 0:
                continue
            flow = found.setdefault(key, _new_flow(entry))
            if entry["role"] == "originated":
                flow |= {"from_node": label, "sent_bps": rate_bps}
                limit = limits.get(_key(entry), {})
                flow |= {
                    "cwl_packets": limit.get("cwl_packets"),
                    "in_flight_packets": limit.get("packets_in_flight") if entry["protocol"] == 6 else None,
                    "path": limit.get("path"),
                }
                if entry["protocol"] == UDP and _key(entry) in allowed:
                    flow |= {"exact_bps": allowed[_key(entry)]["rate_bps"]}
            elif entry["role"] == "received":
                flow |= {"to_node": label, "received_bps": rate_bps}
            else:
                flow["forwarders"].append(label)
                flow["forwarded_bps"] = max(flow["forwarded_bps"] or 0.0, rate_bps)
    return sorted(
        found.values(),
        key=lambda flow: -(flow["sent_bps"] or flow["forwarded_bps"] or flow["received_bps"] or 0.0),
    )


def _new_flow(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "source": entry["source"],
        "source_port": entry["source_port"],
        "destination": entry["destination"],
        "destination_port": entry["destination_port"],
        "protocol": PROTOCOLS.get(entry["protocol"], str(entry["protocol"])),
        "from_node": None,
        "to_node": None,
        "forwarders": [],
        "sent_bps": None,
        "forwarded_bps": None,
        "received_bps": None,
        "cwl_packets": None,
        "in_flight_packets": None,
        "path": None,
        "exact_bps": None,
    }
