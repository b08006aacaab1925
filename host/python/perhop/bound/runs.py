# SPDX-License-Identifier: GPL-2.0-or-later
"""A run beside its bound: run.json and result.json in, goodput and the bound of its reception rule out.

What is not known of a run only raises its bound. Paths that routing or moves may change count with the packets' ends;
TCP ACKs cost nothing; a back-off is shorter than its mean by three standard errors; and the packets on the way when the
measurement began may have had all their hops but one behind them. A wire costs no air, and is taken to carry whatever
it is given: of a path over wires its longest part on the air counts.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perhop.bound.exchange import IPV4_AND_TCP_BYTES, IPV4_AND_UDP_BYTES, Link
from perhop.bound.hearing import hearing
from perhop.bound.network import Flow, frame_bound
from perhop.bound.network import Path as Nodes
from perhop.experiment import routes as static
from perhop.experiment import topology
from perhop.registers import spec_generated as spec

STANDARD_ERRORS = 3
FOUR_ADDRESS_BYTES = 6
NO_RTS_BYTES = 1 << 30


@dataclass(frozen=True)
class Judged:
    """All flows of a run together. `slack_bps` is what counting whole packets may add to what was carried."""

    label: str
    reception: str
    goodput_bps: float
    bound_bps: float
    slack_bps: float

    @property
    def share(self) -> float:
        return self.goodput_bps / self.bound_bps

    @property
    def exceeds(self) -> bool:
        return self.goodput_bps > self.bound_bps + self.slack_bps

    def __str__(self) -> str:
        return (
            f"{self.label} ({self.reception}): {self.goodput_bps / 1e3:.1f} kb/s, bound {self.bound_bps / 1e3:.1f} "
            f"and {self.slack_bps / 1e3:.1f} for whole packets: {self.share:.1%}"
        )


@dataclass(frozen=True)
class Measured:
    """What a run carried, and the `question` whose answer is its bound: `answer` solves it. Runs may share one."""

    label: str
    reception: str
    goodput_bps: float
    slack_bps: float
    question: str

    def beside(self, bound_bps: float) -> Judged:
        return Judged(self.label, self.reception, self.goodput_bps, bound_bps, self.slack_bps)


def judge(config: Mapping[str, Any], result: Mapping[str, Any]) -> Judged | None:
    """The run of a run.json and its result.json beside its bound; None where `measure` has none."""
    measured = measure(config, result)
    return measured and measured.beside(answer(measured.question))


def measure(config: Mapping[str, Any], result: Mapping[str, Any]) -> Measured | None:
    """What the run of a run.json carried by its result.json.

    None where no reception rule of ours decided what was received, and where nodes move: a bound is of fixed places.
    None, too, where it is not known which part of a flow's way is on the air.
    """
    if any(event["kind"] == "move" for event in config.get("events") or []):
        return None
    if config["mac"].get("fidelity") == "samples" or config.get("realtime", {}).get("backend") == "radio":
        return None
    measured = result["flows"]
    measured_s = float(result["measured_s"])
    if measured_s <= 0:
        return None
    flows = flows_of(config)
    if config.get("wires") and not all(flow.paths for flow in flows):
        return None
    slack_bps = 0.0
    for flow, of_config, seen in zip(flows, config["flows"], measured, strict=True):
        slack_bps += _packets_on_the_way(flow, config, of_config, seen) * flow.payload_bytes * 8 / measured_s
    return Measured(
        str(config["label"]),
        config["medium"]["reception"],
        sum(float(seen["goodput_bps"] or 0) for seen in measured),
        slack_bps,
        _question(config, [float(seen.get("delivered_packets") or 0) for seen in measured]),
    )


def offenders(runs: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> list[Judged]:
    """Of pairs of run.json and result.json those that exceed their bound, which none should."""
    judged = (judge(config, result) for config, result in runs)
    return [run for run in judged if run is not None and run.exceeds]


def bound_bps(config: Mapping[str, Any], packets: Sequence[float] | None = None) -> float:
    """The bound of a run.json; `packets` are those that each flow delivered, None for a run without end."""
    return answer(_question(config, packets))


def _question(config: Mapping[str, Any], packets: Sequence[float] | None) -> str:
    # Runs that differ in nothing that counts share a solution. A power of two packets, the next below, has more spread.
    counted = [2.0 ** math.floor(math.log2(max(count, 1))) for count in packets] if packets else None
    relevant = {name: config.get(name) for name in _CONFIG_FIELDS}
    flows = [{name: flow.get(name) for name in _FLOW_FIELDS} for flow in config["flows"]]
    return json.dumps({**relevant, "flows": flows, "counted": counted}, sort_keys=True)


_CONFIG_FIELDS = ("mac", "medium", "nodes", "routes", "links", "routing", "events", "wires")
_FLOW_FIELDS = ("kind", "src", "dst", "segment_bytes", "payload_bytes", "ip_bytes", "path_header")


@functools.cache
def answer(question: str, enough_bps: float = math.inf) -> float:
    """The bound in bit/s that answers a `Measured.question`; or, of one that is at least `enough_bps`, a part as large.

    Raises ArithmeticError where no solution is found.
    """
    config = json.loads(question)
    flows = flows_of(config)
    if config["counted"]:
        flows = [
            replace(flow, backoff_less_us=STANDARD_ERRORS * flow.link.backoff_deviation_us / math.sqrt(count))
            for flow, count in zip(flows, config["counted"], strict=True)
        ]
    nodes = [(node["x_m"], node["y_m"]) for node in config["nodes"]]
    found = frame_bound(flows, hearing(config["medium"], nodes, config["mac"]["profile"]), enough_bps=enough_bps)
    return found.reached if found.reached >= enough_bps else found.bound


def answer_or_reason(question: str, enough_bps: float = math.inf) -> float | str:
    """The answer, or why there is none, for processes that solve many: an error would end the others."""
    try:
        return answer(question, enough_bps)
    except ArithmeticError as error:
        return str(error)


def flows_of(config: Mapping[str, Any]) -> list[Flow]:
    """The flows of a run.json, TCP ACKs for nothing."""
    flows = []
    for flow in config["flows"]:
        match flow["kind"]:
            case "tcp":
                payload_bytes = flow["segment_bytes"]
                ip_bytes = payload_bytes + IPV4_AND_TCP_BYTES
            case "cbr" | "exact" | "tfrc":
                payload_bytes = flow["payload_bytes"]
                ip_bytes = payload_bytes + IPV4_AND_UDP_BYTES
            case _:
                payload_bytes = ip_bytes = flow["ip_bytes"]
        link = link_of(config["mac"], flow.get("path_header") is not False)
        paths = _paths(config, flow["src"], flow["dst"])
        own = {(hop["from"], hop["to"]): hop["data_rate_index"] for hop in config.get("links") or []}
        if not paths:
            link = replace(link, data_rate_index=_fastest(link, own.values()))
        links = tuple((hop, replace(link, data_rate_index=rate)) for hop, rate in sorted(own.items()))
        if config.get("wires"):
            paths = _on_the_air(paths, config["wires"])
        src, dst = (paths[0][0], paths[0][-1]) if paths else (flow["src"], flow["dst"])
        flows.append(Flow(src, dst, paths, link, payload_bytes, ip_bytes, links=links))
    return flows


def _on_the_air(paths: Sequence[Nodes], wires: Iterable[Mapping[str, Any]]) -> tuple[Nodes, ...]:
    """The longest part of each path that no wire carries; none where a path has none."""
    wired = {frozenset((wire["a"], wire["b"])) for wire in wires}
    longest = []
    for path in paths:
        parts: list[list[int]] = [[path[0]]]
        for here, there in itertools.pairwise(path):
            if frozenset((here, there)) in wired:
                parts.append([])
            parts[-1].append(there)
        longest.append(tuple(max(parts, key=len)))
    return tuple(longest) if all(len(part) > 1 for part in longest) else ()


def _fastest(link: Link, rates: Iterable[int]) -> int:
    return max((link.data_rate_index, *rates), key=lambda rate: link.timing.rates[rate].bps)


def link_of(mac: Mapping[str, Any], path_header: bool = True) -> Link:
    """The settings of a hop from section `mac` of a run.json."""
    mode = mac.get("access_mode", "dcf")
    header_bytes = spec.MAC_HEADER_BYTES + spec.FCS_BYTES + spec.LLC_SNAP_BYTES
    if mac.get("path_header", True) and path_header:
        header_bytes += spec.PATH_HEADER_BYTES
    if mac.get("four_address"):
        header_bytes += FOUR_ADDRESS_BYTES
    mac_ack = mac.get("mac_ack")
    link = Link(
        profile=mac["profile"],
        data_rate_index=mac["data_rate_index"],
        rts_above_bytes=mac["rts_threshold_bytes"],
        header_bytes=header_bytes,
        mac_ack=mode == "dcf" if mac_ack is None else mac_ack,
    )
    if mode == "dcf" and mac["compat"] == "ns2":
        # A back-off that follows an own exchange skips the inter-frame space, and is drawn from 0 to CWmin - 1.
        return replace(link, difs_us=0, backoff_slots=(link.timing.cw_min - 1) / 2)
    if mode != "dcf":
        fama = mac.get("fama") or {}
        return replace(
            link,
            difs_us=0,
            backoff_slots=0,
            rts_above_bytes=0 if mode == "fama" else NO_RTS_BYTES,
            sifs_us=fama.get("sifs_us"),
            rts_us=fama.get("rts_us"),
            response_us=fama.get("cts_us"),
        )
    return link


def _paths(config: Mapping[str, Any], src: int, dst: int) -> tuple[tuple[int, ...], ...]:
    """The ways that packets may take; none where they are not known."""
    events = config.get("events") or []
    if any(event["kind"] in ("move", "link_down", "link_up") for event in events):
        return ()
    nodes = [(node["x_m"], node["y_m"]) for node in config["nodes"]]
    if (config.get("routing") or "static") != "static":
        if config.get("wires"):
            return ()
        links = topology.neighbours(nodes, config["medium"]["tx_range_m"])
        return _only_path(links, src, dst)
    next_hop = {(node, destination): hop for node, destination, hop in config.get("routes") or []}
    found = {_followed(next_hop, src, dst)}
    for event in sorted((event for event in events if event["kind"] == "route"), key=lambda event: event["at_s"]):
        path = event["path"]
        for here, there in itertools.pairwise(path):
            next_hop[here, path[-1]] = there
            if event.get("both_ways", True):
                next_hop[there, path[0]] = here
        found.add(_followed(next_hop, src, dst))
    return () if () in found else tuple(sorted(found))


def _followed(next_hop: Mapping[tuple[int, int], int], src: int, dst: int) -> tuple[int, ...]:
    nodes = [src]
    while nodes[-1] != dst:
        there = next_hop.get((nodes[-1], dst))
        if there is None or there in nodes:
            return ()
        nodes.append(there)
    return tuple(nodes)


def _only_path(links: list[list[int]], src: int, dst: int) -> tuple[tuple[int, ...], ...]:
    """The path between two nodes if there is one only: without any of its links they are cut off."""
    try:
        nodes = static.path(links, src, dst)
    except static.Unreachable:
        return ()
    for here, there in itertools.pairwise(nodes):
        cut = [[other for other in near if {node, other} != {here, there}] for node, near in enumerate(links)]
        try:
            static.path(cut, src, dst)
        except static.Unreachable:
            continue
        return ()
    return (tuple(nodes),)


def _packets_on_the_way(
    flow: Flow, config: Mapping[str, Any], of_config: Mapping[str, Any], seen: Mapping[str, Any]
) -> float:
    """The most packets that may have been somewhere between the ends when the measurement began, and one."""
    hops = max((len(path) - 1 for path in flow.paths), default=len(config["nodes"]) - 1)
    wires = config.get("wires") or []
    if hops == 1 and not wires:
        return 1.0
    queued = hops * float(config["mac"]["queue_packets"])
    for wire in wires:
        under_way = wire["rate_bps"] * wire["delay_us"] * 1e-6 / (8 * flow.ip_bytes)
        queued += wire["queue_packets"] + under_way
    on_the_way = seen.get("max_packets_in_flight") or of_config.get("max_window_packets") or queued
    return 1.0 + min(float(on_the_way), queued)


def runs_below(folder: Path) -> Iterator[tuple[Path, dict[str, Any], dict[str, Any]]]:
    """Every finished run in a folder of results, however deep: its folder, run.json and result.json."""
    for file in sorted(folder.rglob("run.json")):
        place = file.parent
        result = place / "result.json"
        if place.suffix in (".partial", ".failed", ".running") or not result.is_file():
            continue
        yield place, json.loads(file.read_text(encoding="utf-8")), json.loads(result.read_text(encoding="utf-8"))
