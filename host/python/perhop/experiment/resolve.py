# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns the points of a sweep into runs: one topology, policy and seed each, as the simulators read them."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from perhop.errors import FieldError
from perhop.experiment import profiles
from perhop.experiment import routes as static
from perhop.experiment import schema as ex
from perhop.experiment import topology as topo
from perhop.experiment.load import Document, Point, located
from perhop.experiment.policies import Policy, parse_policy
from perhop.experiment.words import swept_word
from perhop.registers import spec_generated as spec

SCHEMA = 1
# Outputs that a run has or has not, and that change nothing else in it.
OPTIONAL_OUTPUTS = ("pcapng", "trace", "completions")

# Flows that cross several hops with ns-3's IP; the others are the MAC's own traffic.
IP_FLOWS = (ex.TcpFlow, ex.CbrFlow, ex.ExactFlow)
BSD_MIN_RTO_MS = 1000  # two ticks of FreeBSD 2.2


@dataclass(frozen=True)
class Run:
    """One run of a simulator.

    `config` is run.json without `outputs.directory`; `id` is a hash of it without its optional outputs, the same on
    every machine.
    """

    id: str
    label: str
    program: str  # perhop-sim (TCP over ns-3) or perhop-air (MAC-level traffic only); live, radio: in real time
    hops: int  # of the first flow's path
    policy: str
    seed: int
    swept: dict[str, Any]
    config: dict[str, Any]

    @property
    def work(self) -> float:
        """A rough measure of how long the run takes, to start long ones first."""
        return float(self.config["duration_s"]) * max(self.hops, len(self.config["flows"]))


def resolve(points: Iterable[Point]) -> list[Run]:
    """Every run of the experiment: for each point each policy, for each policy each seed. Raises ExperimentError."""
    runs: list[Run] = []
    pcapng = "off"
    points = list(points)
    _check_axes(points)
    for point in points:
        pcapng = point.experiment.outputs.pcapng
        try:
            runs += _resolve_point(point)
        except FieldError as error:
            raise located(point.document, error) from None
    if pcapng == "longest":
        chosen = longest(runs)
        runs = [_finish(run, pcapng=run is chosen) for run in runs]
    else:
        runs = [_finish(run, pcapng=pcapng == "all") for run in runs]
    _check_distinct(runs, points)
    return runs


def elsewhere(run: Run, program: str, section: dict[str, Any]) -> Run:
    """The same run in real time: made by another program, told more by a section `realtime`."""
    return _finish(
        replace(run, program=program, config={**run.config, "realtime": section}),
        pcapng=run.config["outputs"]["pcapng"],
    )


def longest(runs: list[Run]) -> Run:
    """The run whose packets are worth a look: most hops, then the first seed, then the last policy and point."""
    first_seed = runs[0].seed
    return max(enumerate(runs), key=lambda item: (item[1].hops, item[1].seed == first_seed, item[0]))[1]


def _finish(run: Run, pcapng: bool) -> Run:
    outputs = {**run.config["outputs"], "pcapng": pcapng}
    config = {**run.config, "outputs": outputs}
    # With or without its optional outputs it is the same run.
    kept = {name: value for name, value in outputs.items() if name not in OPTIONAL_OUTPUTS}
    canonical = json.dumps({"program": run.program, **config, "outputs": kept}, sort_keys=True, separators=(",", ":"))
    return replace(run, config=config, id=hashlib.sha256(canonical.encode()).hexdigest()[:16])


def _check_axes(points: list[Point]) -> None:
    """A value listed twice would be run twice and counted as two samples. Raises ExperimentError."""
    document = points[0].document
    experiment = points[0].experiment
    axes: dict[tuple[str, ...], list[Any]] = {("seeds",): list(experiment.seeds)}
    axes |= {("sweep", name): values for name, values in document.swept.items()}
    for path, values in axes.items():
        for index, value in enumerate(values):
            if (first := values.index(value)) < index:
                raise document.error(
                    (*path, index),
                    f"lists {_shown(value)} twice, as elements {first} and {index}: the same run would count twice",
                    "remove one of the two",
                )
    seen: dict[str, int] = {}
    for index, text in enumerate(experiment.policies):
        for policy in parse_policy(text):
            if policy.label in seen:
                raise document.error(
                    ("policies", index),
                    f"gives the policy {policy.label!r} twice, by elements {seen[policy.label]} and {index}: "
                    "the same run would count twice",
                    "remove one of the two",
                )
            seen[policy.label] = index


def _shown(value: Any) -> str:
    word = swept_word(value)
    return "a section" if isinstance(word, dict) else "a list" if isinstance(word, list) else str(word)


def _check_distinct(runs: list[Run], points: list[Point]) -> None:
    """What is written differently may still be the same run, such as `1` and `1.0`."""
    seen: set[str] = set()
    for run in runs:
        if run.id in seen:
            raise points[0].document.error(
                ("sweep",), f"gives the run {run.label!r} twice", "remove the repeated value"
            )
        seen.add(run.id)


def _resolve_point(point: Point) -> list[Run]:
    experiment = point.experiment
    nodes = topo.positions(experiment.topology, experiment.medium)
    _check_times(experiment)
    rate_index = profiles.rate_index(experiment.mac.profile, experiment.mac.data_rate_mbps)
    _check_medium(experiment)
    links = topo.neighbours(nodes, experiment.medium.tx_range_m)
    flows = _flows(experiment, len(nodes))
    paths = [_path(links, flow, experiment) for flow in flows]
    routes = static.routes(links, [(flow.src, flow.dst) for flow in flows])
    _check_neighbours(point.document, routes)

    has_tcp = any(isinstance(flow.model, ex.TcpFlow) for flow in flows)
    has_exact = any(isinstance(flow.model, ex.ExactFlow) for flow in flows)
    has_ip = any(isinstance(flow.model, IP_FLOWS) for flow in flows)
    for flow in flows:
        if has_ip and not isinstance(flow.model, IP_FLOWS):
            raise FieldError(
                ("flows", flow.index, "kind"),
                f"is {flow.model.kind!r} beside flows over IP; no simulator runs both",
                "use flows of kind tcp, cbr and exact only, or none of them",
            )
    _check_exact(experiment, len(nodes))
    _check_routing(experiment, has_ip)
    _check_events(experiment, nodes)
    _check_samples(experiment, rate_index, has_ip)
    hops = len(paths[0]) - 1
    own = [flow.model.policy for flow in flows if isinstance(flow.model, ex.TcpFlow)]
    texts = experiment.policies if None in own else own[:1] or ["none"]
    policies = [policy for text in texts if text for policy in parse_policy(text)]
    _check_tcp_acks(flows, policies)
    _check_bsd(flows)
    if not experiment.mac.path_header and (has_exact or policies != [Policy()]):
        raise FieldError(
            ("mac", "path_header"),
            "is false, but policies and EXACT need the path header",
            "leave it out, or use no policy",
        )
    runs = []
    for policy in policies:
        for seed in experiment.seeds:
            words = [f"h={hops}"] if isinstance(experiment.topology, ex.Chain) else []
            words += [
                f"{name.rsplit('.', 1)[-1]}={swept_word(value)}"
                for name, value in point.swept.items()
                if name != "topology.hops"
            ]
            words += [f"policy={policy.label}"] if has_tcp else []
            words.append(f"seed={seed}")
            label = " ".join(words)
            config = {
                "schema": SCHEMA,
                "label": label,
                "seed": seed,
                "duration_s": float(experiment.duration_s),
                "warmup_s": float(experiment.warmup_s),
                "mac": _mac(experiment.mac, rate_index),
                "medium": _medium(experiment.medium),
                "warp": "on",
                "nodes": [{"x_m": x, "y_m": y} for x, y in nodes],
                "routes": [[route.node, route.destination, route.next_hop] for route in routes],
                **_routing(experiment),
                "flows": [_flow(flow, policy) for flow in flows],
                **({"exact": experiment.exact.model_dump()} if has_exact else {}),
                "outputs": {
                    "pcapng": False,
                    "trace": experiment.outputs.trace,
                    "completions": experiment.outputs.completions,
                    "interval_s": float(experiment.outputs.interval_s),
                },
            }
            runs.append(
                Run(
                    id="",
                    label=label,
                    program="perhop-sim" if has_ip else "perhop-air",
                    hops=hops,
                    policy=policy.label if has_tcp else "",
                    seed=seed,
                    swept=dict(point.swept),
                    config=config,
                )
            )
    return runs


@dataclass(frozen=True)
class _ResolvedFlow:
    index: int  # in the file's list of flows
    src: int
    dst: int
    model: ex.Flow


def _flows(experiment: ex.Experiment, node_count: int) -> list[_ResolvedFlow]:
    flows = []
    for index, flow in enumerate(experiment.flows):
        dst = _node(flow.dst, node_count, ("flows", index, "dst"))
        if flow.src == "each":
            flows += [_ResolvedFlow(index, src, dst, flow) for src in range(node_count) if src != dst]
            continue
        src = _node(flow.src, node_count, ("flows", index, "src"))
        if src == dst:
            raise FieldError(("flows", index, "dst"), f"node {dst} would send to itself", "name two different nodes")
        flows.append(_ResolvedFlow(index, src, dst, flow))
    return flows


def _node(end: int | str, node_count: int, path: tuple[str | int, ...]) -> int:
    if end == "first":
        return 0
    if end == "last":
        return node_count - 1
    if not isinstance(end, int) or end >= node_count:
        raise FieldError(
            path,
            f"is {end}, but the topology has {node_count} nodes",
            f"use an index from 0 to {node_count - 1}, first or last",
        )
    return end


def _path(links: list[list[int]], flow: _ResolvedFlow, experiment: ex.Experiment) -> list[int]:
    try:
        nodes = static.path(links, flow.src, flow.dst)
    except static.Unreachable:
        raise FieldError(
            ("flows", flow.index, "dst"),
            f"node {flow.dst} cannot be reached from node {flow.src}: no chain of links up to "
            f"medium.tx_range_m = {experiment.medium.tx_range_m:g} m joins them",
            "move nodes closer, widen medium.tx_range_m, or name another destination",
        ) from None
    if not isinstance(flow.model, IP_FLOWS) and len(nodes) > 2:
        raise FieldError(
            ("flows", flow.index, "dst"),
            f"node {flow.dst} is {len(nodes) - 1} hops from node {flow.src}; {flow.model.kind} crosses a single hop",
            "name a neighbour, or use kind: tcp",
        )
    return nodes


def _check_neighbours(document: Document, routes: list[static.Route]) -> None:
    next_hops: dict[int, set[int]] = {}
    for route in routes:
        next_hops.setdefault(route.node, set()).add(route.next_hop)
    for node, hops in next_hops.items():
        # A receiver of MAC-level traffic sends nothing back and needs no neighbour slots.
        over_ip = any(flow.get("kind") in ("tcp", "cbr", "exact") for flow in document.values["flows"])
        if len(hops) > spec.NEIGHBOUR_SLOTS and over_ip:
            raise FieldError(
                ("topology",),
                f"node {node} has {len(hops)} next hops; the MAC's neighbour table holds {spec.NEIGHBOUR_SLOTS}",
                "use fewer flows through this node",
            )


def _check_tcp_acks(flows: list[_ResolvedFlow], policies: list[Policy]) -> None:
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


def _check_bsd(flows: list[_ResolvedFlow]) -> None:
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


def _check_exact(experiment: ex.Experiment, node_count: int) -> None:
    for index, node in enumerate(experiment.exact.silent_routers):
        _node(node, node_count, ("exact", "silent_routers", index))


def _check_times(experiment: ex.Experiment) -> None:
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


def _check_routing(experiment: ex.Experiment, has_ip: bool) -> None:
    if not has_ip and experiment.routing != ex.Routing():
        raise FieldError(
            ("routing",),
            "is for packets that cross several hops; flows of the MAC alone cross one",
            "leave it out, or use flows of kind tcp, cbr or exact",
        )


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


def _check_events(experiment: ex.Experiment, nodes: list[tuple[float, float]]) -> None:
    """Events name nodes of the topology, lie within the run, and lead routes over links that are there."""
    positions = dict(enumerate(nodes))
    blocked: set[frozenset[int]] = set()
    dead: set[int] = set()
    for index, event in sorted(enumerate(experiment.events), key=lambda item: item[1].at_s):
        field, named = nodes_of_event(event)
        for node in named:
            if node >= len(nodes):
                raise FieldError(
                    ("events", index, field),
                    f"names node {node}, but the topology has {len(nodes)} nodes",
                    f"use indices from 0 to {len(nodes) - 1}",
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
            case "move":
                positions[event.node] = (event.x_m, event.y_m)
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
                    distance_m = math.dist(positions[here], positions[there])
                    cut = frozenset((here, there)) in blocked or bool(dead & {here, there})
                    if distance_m > experiment.medium.tx_range_m or cut:
                        raise FieldError(
                            ("events", index, "path"),
                            f"goes from node {here} to node {there}, which cannot hear each other at {event.at_s:g} s "
                            f"({distance_m:g} m apart, medium.tx_range_m = {experiment.medium.tx_range_m:g})",
                            "lead it over nodes in range of each other",
                        )


def _routing(experiment: ex.Experiment) -> dict[str, Any]:
    """What a run says beyond static routes that nothing changes; earlier run files said nothing."""
    fields: dict[str, Any] = {}
    if experiment.routing.protocol != "static":
        fields["routing"] = experiment.routing.protocol
    if experiment.routing.on_link_failure != "ignore":
        fields["link_failure"] = experiment.routing.on_link_failure
    if experiment.events:
        events = sorted(experiment.events, key=lambda event: event.at_s)
        fields["events"] = [event.model_dump() for event in events]
    return fields


def _check_medium(experiment: ex.Experiment) -> None:
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


def _check_samples(experiment: ex.Experiment, rate_index: int, has_ip: bool) -> None:
    """Fidelity samples has a DSSS modem of 1 and 2 Mb/s and no simulator with TCP."""
    mac, medium = experiment.mac, experiment.medium
    if mac.fidelity != "samples":
        return
    what = "at fidelity samples"
    if mac.profile not in ("dsss_long", "dsss_short"):
        raise FieldError(
            ("mac", "profile"), f"is {mac.profile}; {what} the PHY is a DSSS modem", "use dsss_long or dsss_short"
        )
    if rate_index > 1:
        raise FieldError(
            ("mac", "data_rate_mbps"), f"is {mac.data_rate_mbps:g}; {what} the modem sends 1 and 2 Mb/s", "use 1 or 2"
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


def _mac(mac: ex.Mac, rate_index: int) -> dict[str, Any]:
    # What came later is written only where it says something: runs of before keep their names.
    later = {"fidelity", "access_mode", "mac_ack", "vacation_us", "path_header", "four_address"}
    fields = mac.model_dump(exclude={"data_rate_mbps"} | (later - set(mac.model_dump(exclude_defaults=True))))
    return {**fields, "data_rate_index": rate_index}


def _medium(medium: ex.Medium) -> dict[str, Any]:
    return medium.model_dump(exclude_none=True)


def _flow(flow: _ResolvedFlow, policy: Policy) -> dict[str, Any]:
    fields = flow.model.model_dump(exclude={"policy"})
    fields |= {"src": flow.src, "dst": flow.dst}
    if isinstance(flow.model, ex.TcpFlow):
        own = parse_policy(flow.model.policy)[0] if flow.model.policy else policy
        fields["policy"] = own.run_json()
    return fields
