# SPDX-License-Identifier: GPL-2.0-or-later
"""What must hold of an experiment that no single field can say; each rule raises FieldError for what breaks it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

from perhop.errors import FieldError
from perhop.experiment import profiles
from perhop.experiment import routes as static
from perhop.experiment import schema as ex
from perhop.experiment.load import Document
from perhop.experiment.policies import Policy, parse_policy
from perhop.mobility.trace import Trace
from perhop.registers import spec_generated as spec

# Flows that cross several hops with ns-3's IP; the others are the MAC's own traffic.
IP_FLOWS = (ex.TcpFlow, ex.CbrFlow, ex.ExactFlow, ex.TfrcFlow)

BSD_MIN_RTO_MS = 1000  # two ticks of FreeBSD 2.2


@dataclass(frozen=True)
class ResolvedFlow:
    index: int  # in the file's list of flows
    src: int
    dst: int
    model: ex.Flow


def node_of(end: int | str, node_count: int, path: tuple[str | int, ...], servers: int = 0) -> int:
    """The index of the node that a field names. @param servers follow the `node_count` nodes of the topology"""
    if end == "first":
        return 0
    if end == "last":
        return node_count - 1
    if end == "server" and servers:
        return node_count
    if end == "server":
        raise FieldError(path, "is server, but there is none", "set servers: 1, and join it by one of `wires`")
    if not isinstance(end, int) or end >= node_count + servers:
        count = f"the topology has {node_count} nodes" + (f" and there are {servers} servers" if servers else "")
        raise FieldError(
            path, f"is {end}, but {count}", f"use an index from 0 to {node_count + servers - 1}, first or last"
        )
    return end


def check_neighbours(document: Document, routes: list[static.Route]) -> None:
    next_hops: dict[int, set[int]] = {}
    for route in routes:
        next_hops.setdefault(route.node, set()).add(route.next_hop)
    for node, hops in next_hops.items():
        # A receiver of MAC-level traffic sends nothing back and needs no neighbour slots.
        over_ip = any(flow.get("kind") in ("tcp", "cbr", "exact", "tfrc") for flow in document.values["flows"])
        if len(hops) > spec.NEIGHBOUR_SLOTS and over_ip:
            raise FieldError(
                ("topology",),
                f"node {node} has {len(hops)} next hops; the MAC's neighbour table holds {spec.NEIGHBOUR_SLOTS}",
                "use fewer flows through this node",
            )


def check_tcp_acks(flows: list[ResolvedFlow], policies: list[Policy]) -> None:
    for flow in flows:
        if not isinstance(flow.model, ex.TcpFlow) or flow.model.tcp_ack_every == 1:
            continue
        used = parse_policy(flow.model.policy) if flow.model.policy else policies
        for policy in used:
            if policy.tcp_ack != "every":
                raise FieldError(
                    ("flows", flow.index, "tcp_ack_every"),
                    f"is {flow.model.tcp_ack_every}, but policy {policy.label!r} decides when TCP ACKs are sent",
                    "leave it at 1, or drop that part of the policy",
                )


def check_bsd(flows: list[ResolvedFlow]) -> None:
    for flow in flows:
        if not isinstance(flow.model, ex.TcpFlow) or flow.model.variant != "bsd":
            continue
        if flow.model.sack:
            raise FieldError(("flows", flow.index, "sack"), "is true, but variant bsd has no SACK", "leave it out")
        if flow.model.min_rto_ms != BSD_MIN_RTO_MS:
            raise FieldError(
                ("flows", flow.index, "min_rto_ms"),
                f"is {flow.model.min_rto_ms}, but variant bsd counts in ticks of 500 ms, at least two",
                f"set it to {BSD_MIN_RTO_MS}",
            )
        if flow.model.max_rto_ms != ex.LONGEST_RTO_MS:
            raise FieldError(
                ("flows", flow.index, "max_rto_ms"), "is set, but variant bsd has its own, 64 s", "leave it out"
            )


def check_timeouts(flows: list[ResolvedFlow]) -> None:
    for flow in flows:
        if isinstance(flow.model, ex.TcpFlow) and flow.model.max_rto_ms < flow.model.min_rto_ms:
            raise FieldError(
                ("flows", flow.index, "max_rto_ms"),
                f"is {flow.model.max_rto_ms}, below min_rto_ms = {flow.model.min_rto_ms}",
                "raise it, or lower min_rto_ms",
            )


def check_exact(experiment: ex.Experiment, node_count: int) -> None:
    for index, node in enumerate(experiment.exact.silent_routers):
        node_of(node, node_count, ("exact", "silent_routers", index))


def check_captures(experiment: ex.Experiment, node_count: int) -> None:
    for index, node in enumerate(experiment.outputs.capture_nodes):
        node_of(node, node_count, ("outputs", "capture_nodes", index))


def check_times(experiment: ex.Experiment) -> None:
    if experiment.warmup_s >= experiment.duration_s:
        raise FieldError(
            ("warmup_s",),
            f"is {experiment.warmup_s:g}, which leaves nothing of duration_s = {experiment.duration_s:g} to measure",
            "set it below duration_s",
        )
    for index, flow in enumerate(experiment.flows):
        stop_s = experiment.duration_s if flow.stop_s is None else flow.stop_s
        if flow.start_s >= stop_s:
            name = "start_s" if flow.stop_s is None else "stop_s"
            raise FieldError(
                ("flows", index, name),
                f"the flow starts at {flow.start_s:g} s and ends at {stop_s:g} s",
                "start it earlier",
            )


def check_routing(experiment: ex.Experiment, has_ip: bool) -> None:
    if not has_ip and experiment.routing != ex.Routing():
        raise FieldError(
            ("routing",),
            "is for packets that cross several hops; flows of the MAC alone cross one",
            "leave it out, or use flows of kind tcp, cbr, exact or tfrc",
        )
    protocol = experiment.routing.protocol
    if protocol != "aodv" and experiment.routing.local_repair != "ns2":
        raise FieldError(("routing", "local_repair"), f"is for aodv, not {protocol}", "leave it out, or use aodv")
    if protocol in ("dsr", "gpsr") and any(flow.kind == "exact" for flow in experiment.flows):
        raise FieldError(("routing",), f"is {protocol}, which carries no flow of kind exact", "use static or aodv")


def nodes_of_event(event: ex.Event) -> tuple[str, list[int]]:
    """The nodes that an event names, and the field that names them."""
    match event:
        case ex.RouteEvent():
            return "path", event.path
        case ex.LinkEvent():
            return "a", [event.a, event.b]
        case ex.NodeEvent() | ex.MoveEvent():
            return "node", [event.node]
    return "", []


def check_events(experiment: ex.Experiment, trace: Trace, wired: Callable[[int, int], bool]) -> None:
    """Events name nodes of the topology, lie within the run, and lead routes over links that are there.

    `trace` says where nodes are, events of the experiment among what moves them; `wired`, which two a wire joins.
    """
    radios = len(trace.starts)
    blocked: set[frozenset[int]] = set()
    dead: set[int] = set()
    for index, event in sorted(enumerate(experiment.events), key=lambda item: item[1].at_s):
        field, named = nodes_of_event(event)
        count = radios + (experiment.servers if event.kind == "route" else 0)
        for node in named:
            if node >= count:
                raise FieldError(
                    ("events", index, field),
                    f"names node {node}, but the topology has {count} nodes",
                    f"use indices from 0 to {count - 1}",
                )
        if len(set(named)) < len(named):
            raise FieldError(("events", index, field), "names a node twice", "name different nodes")
        if event.at_s >= experiment.duration_s:
            raise FieldError(
                ("events", index, "at_s"),
                f"is {event.at_s:g} s, but the run ends at {experiment.duration_s:g} s",
                "let it happen earlier, or run longer",
            )
        match event.kind:
            case "link_down":
                blocked.add(frozenset((event.a, event.b)))
            case "link_up":
                blocked.discard(frozenset((event.a, event.b)))
            case "node_down":
                dead.add(event.node)
            case "node_up":
                dead.discard(event.node)
            case "route":
                for here, there in itertools.pairwise(event.path):
                    if wired(here, there):
                        continue
                    if max(here, there) >= radios:
                        raise FieldError(
                            ("events", index, "path"),
                            f"goes from node {here} to node {there}, of which one is a server, and no wire joins them",
                            "lead it over a gateway",
                        )
                    distance_m = math.dist(trace.at(here, event.at_s), trace.at(there, event.at_s))
                    cut = frozenset((here, there)) in blocked or bool(dead & {here, there})
                    if distance_m > experiment.medium.tx_range_m or cut:
                        raise FieldError(
                            ("events", index, "path"),
                            f"goes from node {here} to node {there}, which cannot hear each other at {event.at_s:g} s "
                            f"({distance_m:g} m apart, medium.tx_range_m = {experiment.medium.tx_range_m:g})",
                            "lead it over nodes in range of each other",
                        )


def check_no_programs(experiment: ex.Experiment) -> None:
    """Programs run in Linux kernels in virtual time alone. Raises FieldError."""
    if experiment.programs:
        raise FieldError(("programs",), "need Linux kernels", "use --backend kernel, or leave them out")


def check_no_told_rates(experiment: ex.Experiment) -> None:
    """ns-3's TCP is told no rate. Raises FieldError."""
    own = [flow.policy for flow in experiment.flows if isinstance(flow, ex.TcpFlow) and flow.policy]
    for where, texts in (("policies", experiment.policies), ("flows", own)):
        if any(policy.paced_by_exact for text in texts if text for policy in parse_policy(text)):
            raise FieldError(
                (where,),
                "name `paced exact`, which tells the rates of EXACT to Linux' TCP (SO_MAX_PACING_RATE)",
                "use --backend kernel or live, or another policy",
            )


def check_jumps(experiment: ex.Experiment, where: str) -> None:
    """Raises FieldError for nodes that go along: `where` they can only be elsewhere at once."""
    problem = f"moves nodes along; {where} they can only be elsewhere at once"
    remedy = "use --backend sim and fidelity core or bytes"
    if isinstance(experiment.topology, ex.RandomWaypoint | ex.TraceBase):
        raise FieldError(("topology", "kind"), f"is {experiment.topology.kind}, which {problem}", remedy)
    for index, event in enumerate(experiment.events):
        if isinstance(event, ex.MoveEvent) and event.speed_mps is not None:
            raise FieldError(("events", index, "speed_mps"), problem, f"leave it out, or {remedy}")


def check_medium(experiment: ex.Experiment) -> None:
    medium = experiment.medium
    if medium.cs_range_m < medium.tx_range_m:
        raise FieldError(
            ("medium", "cs_range_m"),
            f"is {medium.cs_range_m:g}, less than tx_range_m = {medium.tx_range_m:g}: frames could be read unsensed",
            "set it to at least tx_range_m",
        )
    if medium.sinr_threshold_db is not None:
        rates = len(profiles.find(experiment.mac.profile).rates)
        if len(medium.sinr_threshold_db) != rates:
            raise FieldError(
                ("medium", "sinr_threshold_db"),
                f"has {len(medium.sinr_threshold_db)} values for the {rates} rates of {experiment.mac.profile}",
                f"list {rates} values, slowest rate first",
            )


def check_fama(mac: ex.Mac) -> None:
    """A section that no run could follow; csma may stand beside fama in a sweep, and ignores it."""
    if mac.fama == ex.Fama():
        return
    if mac.access_mode == "dcf":
        raise FieldError(("mac", "fama"), "is of access mode fama, and this is dcf", "leave it out")
    if mac.compat != "standard":
        raise FieldError(("mac", "fama"), f"works with compat standard, and this is {mac.compat}", "leave it out")
    if mac.fidelity != "core":
        raise FieldError(("mac", "fama"), f"works at fidelity core, and this is {mac.fidelity}", "leave it out")


def check_links(experiment: ex.Experiment, nodes: list[tuple[float, float]]) -> list[dict[str, int]]:
    """Links with a rate of their own are between two nodes that may hear each other. @return one entry a direction"""
    moving = {event.node for event in experiment.events if event.kind == "move"}
    if isinstance(experiment.topology, ex.RandomWaypoint | ex.TraceBase):
        moving |= set(range(len(nodes)))
    found: dict[tuple[int, int], dict[str, int]] = {}
    for index, link in enumerate(experiment.links):
        here = ("links", index)
        for field, node in (("a", link.a), ("b", link.b)):
            node_of(node, len(nodes), (*here, field))
        if link.a == link.b:
            raise FieldError((*here, "b"), "names node a again", "name two different nodes")
        distance_m = math.dist(nodes[link.a], nodes[link.b])
        if distance_m > experiment.medium.tx_range_m and not moving & {link.a, link.b}:
            raise FieldError(
                (*here, "b"),
                f"is node {link.b}, which cannot hear node {link.a} ({distance_m:g} m apart, "
                f"medium.tx_range_m = {experiment.medium.tx_range_m:g})",
                "name neighbours",
            )
        rate = profiles.rate_index(experiment.mac.profile, link.data_rate_mbps, (*here, "data_rate_mbps"))
        for way in [(link.a, link.b), *([(link.b, link.a)] if link.both_ways else [])]:
            if way in found:
                raise FieldError(
                    (*here, "a"),
                    f"gives the rate from node {way[0]} to node {way[1]} a second time",
                    "remove one of the two, or set both_ways: false",
                )
            found[way] = {"from": way[0], "to": way[1], "data_rate_index": rate}
    return [found[way] for way in sorted(found)]


def check_samples(experiment: ex.Experiment, rate_index: int, has_ip: bool) -> None:
    """Fidelity samples has a DSSS modem of 1 and 2 Mb/s and no simulator with TCP."""
    mac, medium = experiment.mac, experiment.medium
    if mac.fidelity != "samples":
        return
    what = "at fidelity samples"
    check_jumps(experiment, what)
    if mac.profile not in ("dsss_long", "dsss_short"):
        raise FieldError(
            ("mac", "profile"), f"is {mac.profile}; {what} the PHY is a DSSS modem", "use dsss_long or dsss_short"
        )
    if rate_index > 1:
        raise FieldError(
            ("mac", "data_rate_mbps"), f"is {mac.data_rate_mbps:g}; {what} the modem sends 1 and 2 Mb/s", "use 1 or 2"
        )
    for index, link in enumerate(experiment.links):
        if profiles.rate_index(mac.profile, link.data_rate_mbps, ("links", index, "data_rate_mbps")) > 1:
            raise FieldError(
                ("links", index, "data_rate_mbps"),
                f"is {link.data_rate_mbps:g}; {what} the modem sends 1 and 2 Mb/s",
                "use 1 or 2",
            )
    if medium.frame_error_rate:
        raise FieldError(
            ("medium", "frame_error_rate"),
            f"is {medium.frame_error_rate:g}; {what} no frame is lost but by its waveform",
            "leave it out, and raise the noise (medium.noise_dbm, medium.samples.noise_figure_db)",
        )
    if has_ip:
        raise FieldError(
            ("mac", "fidelity"),
            "is samples; TCP and UDP are simulated with core and bytes only",
            "use flows of kind mac_saturated and mac_poisson, or another fidelity",
        )
