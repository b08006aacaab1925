# SPDX-License-Identifier: GPL-2.0-or-later
"""From a run's flows to what each node does (`perhop.agent.traffic`), and from what the nodes counted to result.json.

The definitions are the simulator's (sim/run/run_report.cpp, sim/ns3/flow-statistics.cc): goodput is payload received in
the measured time; a hop's times are means over the packets that its MAC has completed in that time.
"""

from __future__ import annotations

import csv
import itertools
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perhop.live.plan import LivePlan

FIRST_SOURCE_PORT = 49152
FIRST_SINK_PORT = 60000
# Linux puts time stamps into every segment.
TCP_TIMESTAMP_BYTES = 12
LEAST_MSS_BYTES = 88  # tcp_min_snd_mss and more
PARTS = ("queue", "ifs", "backoff", "frozen_cca", "frozen_nav", "control", "data", "response", "timeout", "responder")
AIRTIME = ("control", "data", "response")
# What Linux calls the TCP of a flow; it has one Reno, with NewReno's recovery, for all of them.
LINUX_TCP = {"newreno": "reno", "linuxreno": "reno"}
# Flows whose receivers send something back.
ANSWERING = ("tcp", "exact")
INTERVAL_COLUMNS = (
    "flow",
    "t_start_s",
    "t_end_s",
    "goodput_bps",
    "rtt_ms",
    "cwl_packets",
    "cwnd_packets",
    "sent_packets",
    "delivered_packets",
    "delay_ms",
    "rate_signal_bps",
    "allowed_rate_bps",
)
SECOND_NS = 1_000_000_000

Told = dict[str, Any]


def times_s(run: dict[str, Any]) -> list[float]:
    """When the nodes count: the ends of all intervals, the end of the warm-up, the end."""
    step_s, end_s = float(run["outputs"]["interval_s"]), float(run["duration_s"])
    found = {index * step_s for index in range(int(end_s / step_s) + 1)} | {float(run["warmup_s"]), end_s}
    return sorted(at_s for at_s in found if at_s <= end_s)


def ends(plan: LivePlan, start_ns: list[int], rates_sockets: list[str], role: str) -> dict[int, list[Told]]:
    """What each node has to send or to receive. @param start_ns of the run, by each node's own monotonic clock"""
    found: dict[int, list[Told]] = {}
    second_ns = SECOND_NS * plan.slow_down
    for index, flow in enumerate(plan.run["flows"]):
        src, dst = flow["src"], flow["dst"]
        here = src if role == "send" else dst
        stop_s = flow["stop_s"] if flow["stop_s"] is not None else plan.run["duration_s"]
        told: Told = {
            "flow": index,
            "kind": flow["kind"],
            "role": role,
            "source": plan.nodes[src].ipv4,
            "source_port": FIRST_SOURCE_PORT + index,
            "destination": plan.nodes[dst].ipv4,
            "destination_port": FIRST_SINK_PORT + index,
            "start_ns": start_ns[here] + int(flow["start_s"] * second_ns),
            "stop_ns": start_ns[here] + int(stop_s * second_ns),
            "ahead_ns": start_ns[dst] - start_ns[src],
            "rates_socket": rates_sockets[here],
        }
        if flow["kind"] == "tcp":
            told["mss_bytes"] = max(LEAST_MSS_BYTES, flow["segment_bytes"] + TCP_TIMESTAMP_BYTES)
            told["window_bytes"] = flow["max_window_packets"] * flow["segment_bytes"]
            told["follows_rate"] = flow["policy"].get("pacing") == "exact"
            told["congestion_control"] = LINUX_TCP.get(flow["variant"], flow["variant"])
        told |= {
            name: flow[name] for name in ("payload_bytes", "rate_bps", "burst_packets", "demand_bps") if name in flow
        }
        if "rate_bps" in told:
            told["rate_bps"] /= plan.slow_down
        found.setdefault(here, []).append(told)
    return found


@dataclass(frozen=True)
class Counted:
    """What the nodes counted: for each its records, in the order of time, and its word at the end on each flow."""

    records: list[list[dict[str, Any]]]
    summaries: list[dict[str, Any]]

    def at(self, node: int, at_s: float) -> dict[str, Any] | None:
        return next((record for record in self.records[node] if record["at_s"] == at_s), None)

    @property
    def common_s(self) -> list[float]:
        """The times at which every node has counted."""
        sets = [{record["at_s"] for record in records} for records in self.records]
        return sorted(set.intersection(*sets)) if sets else []

    def flow(self, node: int, flow: int, at_s: float) -> dict[str, Any]:
        record = self.at(node, at_s)
        return record["flows"].get(str(flow), {}) if record else {}

    def daemon(self, node: int, at_s: float) -> dict[str, Any] | None:
        record = self.at(node, at_s)
        return record["node"] if record else None


def result(plan: LivePlan, counted: Counted, interrupted: bool, backend: str) -> dict[str, Any]:
    """result.json as the simulators write it. A run that was cut short is measured up to where all nodes were there."""
    run = plan.run
    common_s = counted.common_s
    from_s = float(run["warmup_s"])
    measured = [at_s for at_s in common_s if at_s >= from_s]
    enough = len(measured) > 1 and measured[0] == from_s
    until_s = measured[-1] if enough else from_s
    whole: dict[str, Any] = {
        "label": run["label"],
        "seed": run["seed"],
        "duration_s": run["duration_s"],
        "measured_s": until_s - from_s,
        "backend": backend,
        "profile": run["mac"]["profile"],
        "fidelity": run["mac"].get("fidelity", "core") if backend == "live" else backend,
        "flows": [],
        "hops": [],
        "completions_checked": 0,
        "sum_mismatches": 0,
        "interrupted": interrupted,
    }
    if plan.slow_down > 1:
        whole["slow_down"] = plan.slow_down
    if not enough:
        return whole
    inside = [at_s for at_s in measured if at_s > from_s]
    for index, flow in enumerate(run["flows"]):
        whole["flows"].append(_flow(plan, counted, index, flow, from_s, until_s, inside))
    whole["hops"] = _hops(plan, counted, from_s, until_s, inside)
    for node in range(len(plan.nodes)):
        last = counted.daemon(node, until_s) or {"neighbours": [], "packets": {}}
        whole["completions_checked"] += sum(neighbour["packets"] for neighbour in last["neighbours"])
        whole["sum_mismatches"] += sum(neighbour.get("sum_mismatches", 0) for neighbour in last["neighbours"])
    whole["queue_drops"] = [
        _difference(counted.daemon(node, from_s), counted.daemon(node, until_s), "queue_drops")
        for node in range(len(plan.nodes))
    ]
    return whole


def _difference(before: dict[str, Any] | None, after: dict[str, Any] | None, name: str) -> int | None:
    if before is None or after is None:
        return None
    return int(after["packets"][name] - before["packets"][name])


def _limit(counted: Counted, src: int, port: int, at_s: float) -> float | None:
    """The window limit of the flow at its sender's shim."""
    daemon = counted.daemon(src, at_s)
    for known in daemon["flows"] if daemon else []:
        if known["source_port"] == port and "cwl_packets" in known:
            return float(known["cwl_packets"])
    return None


def _slowed(plan: LivePlan, by_clock: float | None) -> float | None:
    """A time by the hosts' clocks as it is in the network's own time."""
    return None if by_clock is None else by_clock / plan.slow_down


def _mean(values: list[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return statistics.fmean(there) if there else None


def _between(before: dict[str, Any], after: dict[str, Any]) -> dict[str, float]:
    """What sums grew by; a flow that began in between began at 0."""
    return {name: value - before.get(name, 0) for name, value in after.items() if isinstance(value, int | float)}


def _flow(
    plan: LivePlan,
    counted: Counted,
    index: int,
    flow: dict[str, Any],
    from_s: float,
    until_s: float,
    inside: list[float],
) -> dict[str, Any]:
    src, dst = flow["src"], flow["dst"]
    sent = _between(counted.flow(src, index, from_s), counted.flow(src, index, until_s))
    got = _between(counted.flow(dst, index, from_s), counted.flow(dst, index, until_s))
    seconds = until_s - from_s
    goodput_bps = got.get("received_bytes", 0) * 8 / seconds
    told: dict[str, Any] = {"kind": flow["kind"], "src": src, "dst": dst, "goodput_bps": goodput_bps}
    ends = {**counted.summaries[src].get(str(index), {}), **counted.summaries[dst].get(str(index), {})}
    if flow["kind"] == "tcp":
        looks = sent.get("looks", 0)
        packets = got.get("received_bytes", 0) // flow["segment_bytes"]
        told |= {
            "packets_per_s": goodput_bps / 8 / flow["segment_bytes"],
            "delivered_packets": packets,
            "rtt_ms": sent["rtt_us"] / looks / 1000 / plan.slow_down if looks else None,
            "rtt_p95_ms": _slowed(plan, ends.get("rtt_p95_ms")),
            "cwl_packets": _mean([_limit(counted, src, FIRST_SOURCE_PORT + index, at_s) for at_s in inside]),
            "cwnd_packets": sent["window_packets"] / looks if looks else None,
            "retransmissions": sent.get("retransmissions"),
            "timeouts": sent.get("timeouts"),
        }
        if flow["policy"].get("pacing") == "exact":
            told |= _rates(counted, src, index, inside)
        if sum(other["kind"] == "tcp" for other in plan.run["flows"]) == 1 and packets:
            # The daemons count for all TCP flows together.
            for name, counter in (("tcp_acks_sent", "bare_tcp_acks"), ("tcp_acks_held", "tcp_acks_held")):
                told[name] = _difference(counted.daemon(dst, from_s), counted.daemon(dst, until_s), counter)
            if told["tcp_acks_sent"] is not None:
                told["tcp_acks_per_packet"] = told["tcp_acks_sent"] / packets
        return told
    delivered = got.get("delivered_packets", 0)
    told |= {
        "packets_per_s": delivered / seconds,
        "delivered_packets": delivered,
        "sent_packets": sent.get("sent_packets", 0),
        "delay_ms": got["delay_us"] / delivered / 1000 / plan.slow_down if delivered else None,
        "delay_p95_ms": _slowed(plan, ends.get("delay_p95_ms")),
    }
    if told["sent_packets"]:
        # What is under way at the two edges is counted at one only; a loss that is not there must not be negative.
        told["loss_share"] = max(0.0, 1 - delivered / told["sent_packets"])
    return told | _rates(counted, src, index, inside)


def _rates(counted: Counted, src: int, index: int, inside: list[float]) -> dict[str, float | None]:
    """What EXACT told the source: means of what it said at the edges of intervals."""
    names = ("rate_signal_bps", "allowed_rate_bps")
    return {name: _mean([counted.flow(src, index, at_s).get(name) for at_s in inside]) for name in names}


def _hops(plan: LivePlan, counted: Counted, from_s: float, until_s: float, inside: list[float]) -> list[dict[str, Any]]:
    index_of = {node.mac: node.index for node in plan.nodes}
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for node in plan.nodes:
        before, after = counted.daemon(node.index, from_s), counted.daemon(node.index, until_s)
        if before is None or after is None:
            continue
        known = {neighbour["mac"]: neighbour for neighbour in before["neighbours"]}
        for neighbour in after["neighbours"]:
            to = index_of.get(neighbour["mac"], -1)
            hop = _hop(node.index, to, known.get(neighbour["mac"], {}), neighbour)
            if hop is None:
                continue
            averages = [
                other["average"]
                for at_s in inside
                for other in (counted.daemon(node.index, at_s) or {"neighbours": []})["neighbours"]
                if other["mac"] == neighbour["mac"] and "average" in other
            ]
            hop["neighbour_table"] = {
                f"avg_{name}": statistics.fmean(average[name] for average in averages)
                for name in ("contention_us", "overhead_us", "data_attempts")
                if averages
            }
            found[node.index, to] = hop
    order = _path_order(plan)
    for (here, to), hop in found.items():
        hop["direction"] = order.get((here, to), (0, "broadcast" if to < 0 else "forward"))[1]
    last = len(order)
    return [found[link] for link in sorted(found, key=lambda link: (order.get(link, (last, ""))[0], link))]


def _hop(here: int, to: int, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any] | None:
    grown = _between(before, after)
    packets = grown["packets"]
    if packets <= 0:
        return None
    parts = {
        name: (after["parts_us"][f"{name}_us"] - before.get("parts_us", {}).get(f"{name}_us", 0)) / packets
        for name in PARTS
    }
    service_us = grown["service_us"] / packets
    airtime_us = sum(parts[name] for name in AIRTIME)
    return {
        "from": here,
        "to": to,
        "packets": packets,
        "service_time_us": service_us,
        "contention_us": service_us - airtime_us,
        "airtime_us": airtime_us,
        "parts_us": parts,
        **{name: grown[name] for name in ("rts_attempts", "data_attempts", "retries", "drops")},
    }


def _path_order(plan: LivePlan) -> dict[tuple[int, int], tuple[int, str]]:
    """Link: its place in a table of hops, and its direction. Forward hops of the first flow first."""
    next_hop = {(node, destination): via for node, destination, via in plan.run["routes"]}
    found: dict[tuple[int, int], tuple[int, str]] = {}

    def take(src: int, dst: int, word: str) -> None:
        here = src
        while here != dst and (here, dst) in next_hop:
            there = next_hop[here, dst]
            place, known = found.get((here, there), (len(found), word))
            # A daemon counts by neighbour: where data and answers cross the same link, it has them together.
            found[here, there] = (place, word if known == word else "both")
            here = there

    for flow in plan.run["flows"]:
        take(flow["src"], flow["dst"], "forward")
        if flow["kind"] in ANSWERING:
            take(flow["dst"], flow["src"], "return")
    return found


def write_intervals(file: Path, plan: LivePlan, counted: Counted) -> None:
    """intervals.csv: a row a flow and interval, up to where all nodes were there."""
    step_s = float(plan.run["outputs"]["interval_s"])
    end_s = float(plan.run["duration_s"])
    edges = [at_s for at_s in counted.common_s if at_s == end_s or abs(at_s / step_s - round(at_s / step_s)) < 1e-9]
    with file.open("w", newline="", encoding="utf-8") as sink:
        rows = csv.DictWriter(sink, INTERVAL_COLUMNS)
        rows.writeheader()
        for index, flow in enumerate(plan.run["flows"]):
            for begin_s, until_s in itertools.pairwise(edges):
                rows.writerow({"flow": index, **_interval(plan, counted, index, flow, begin_s, until_s)})


def _interval(
    plan: LivePlan, counted: Counted, index: int, flow: dict[str, Any], begin_s: float, until_s: float
) -> dict[str, Any]:
    found = _flow(plan, counted, index, flow, begin_s, until_s, [until_s])
    return {"t_start_s": begin_s, "t_end_s": until_s, **{name: found.get(name) for name in INTERVAL_COLUMNS[3:]}}
