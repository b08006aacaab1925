# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns the points of a sweep into runs: one topology, policy and seed each, as the simulators read them."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perhop.errors import FieldError, PerhopError
from perhop.experiment import motion, profiles
from perhop.experiment import routes as static
from perhop.experiment import schema as ex
from perhop.experiment import topology as topo
from perhop.experiment import wires as wired
from perhop.experiment.load import Point, located
from perhop.experiment.policies import Policy, parse_policy
from perhop.experiment.rules import (
    IP_FLOWS,
    ResolvedFlow,
    check_bsd,
    check_captures,
    check_events,
    check_exact,
    check_fama,
    check_links,
    check_medium,
    check_neighbours,
    check_routing,
    check_samples,
    check_tcp_acks,
    check_timeouts,
    check_times,
    node_of,
)
from perhop.experiment.words import swept_word
from perhop.own import files as own_files

SCHEMA = 1
# Outputs that a run has or has not, and that change nothing else in it.
OPTIONAL_OUTPUTS = ("pcapng", "pcapng_nodes", "trace", "completions")
LARGEST_UNSCALED_WINDOW_BYTES = 65_535
LATER_TCP_FIELDS = {"ecn", "max_rto_ms", "transfer_bytes", "rate_bps"}


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


def made_by(run: Run, program: str) -> Run:
    """The same run, made by another simulator."""
    return _finish(replace(run, program=program), pcapng=run.config["outputs"]["pcapng"])


def longest(runs: list[Run]) -> Run:
    """The run whose packets are worth a look: most hops, then the first seed, then the last policy and point."""
    first_seed = runs[0].seed
    return max(enumerate(runs), key=lambda item: (item[1].hops, item[1].seed == first_seed, item[0]))[1]


def _finish(run: Run, pcapng: bool) -> Run:
    outputs = {**run.config["outputs"], "pcapng": pcapng}
    config = {**run.config, "outputs": outputs}
    # With or without its optional outputs it is the same run.
    kept = {name: value for name, value in outputs.items() if name not in OPTIONAL_OUTPUTS}
    said = own_files.nameless(config)
    canonical = json.dumps({"program": run.program, **said, "outputs": kept}, sort_keys=True, separators=(",", ":"))
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
    trace = motion.topology_trace(experiment, Path(point.document.source).parent)
    nodes = list(trace.starts)
    check_times(experiment)
    rate_index = profiles.rate_index(experiment.mac.profile, experiment.mac.data_rate_mbps)
    check_medium(experiment)
    wires = wired.of(experiment, len(nodes))
    links = wires.neighbours(topo.neighbours(nodes, experiment.medium.tx_range_m))
    link_rates = check_links(experiment, nodes)
    flows = _flows(experiment, len(nodes))
    found = static.Paths(links)
    paths = [_path(found, flow, experiment) for flow in flows]
    programs = _programs(experiment, Path(point.document.source).parent, len(nodes))
    paths += [_program_path(found, here, there) for here, there in _pairs(programs)]
    routes = static.routes_along(path for path in paths if path)
    check_neighbours(point.document, [route for route in routes if not wires.joins(route.node, route.next_hop)])

    has_tcp = any(isinstance(flow.model, ex.TcpFlow) for flow in flows)
    has_exact = any(isinstance(flow.model, ex.ExactFlow) for flow in flows)
    has_ip = any(isinstance(flow.model, IP_FLOWS) for flow in flows)
    for flow in flows:
        if has_ip and not isinstance(flow.model, IP_FLOWS):
            raise FieldError(
                ("flows", flow.index, "kind"),
                f"is {flow.model.kind!r} beside flows over IP; no simulator runs both",
                "use flows of kind tcp, cbr, exact and tfrc only, or none of them",
            )
    check_exact(experiment, len(nodes))
    check_captures(experiment, len(nodes))
    check_routing(experiment, has_ip)
    check_events(experiment, motion.whole_trace(experiment, trace), wires.joins)
    check_samples(experiment, rate_index, has_ip)
    check_fama(experiment.mac)
    hops = max(len(paths[0]) - 1, 0)
    own = [flow.model.policy for flow in flows if isinstance(flow.model, ex.TcpFlow)]
    texts = experiment.policies if None in own else own[:1] or ["none"]
    folder = Path(point.document.source).parent
    where = ("policies",) if None in own else ("flows",)
    policies = [_found(policy, folder, where) for text in texts if text for policy in parse_policy(text)]
    check_tcp_acks(flows, policies)
    check_bsd(flows)
    check_timeouts(flows)
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
                **({"links": link_rates} if link_rates else {}),
                **wires.run_json(),
                **_routing(experiment, motion.moves(trace, experiment.duration_s)),
                "flows": [_flow(flow, policy, folder) for flow in flows],
                **({"programs": programs} if programs else {}),
                **({"exact": experiment.exact.model_dump()} if has_exact or policy.paced_by_exact else {}),
                **({"swan": experiment.swan.model_dump()} if experiment.swan is not None else {}),
                "outputs": {
                    "pcapng": False,
                    # Runs of before keep their files.
                    **({"pcapng_nodes": chosen} if (chosen := sorted(set(experiment.outputs.capture_nodes))) else {}),
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


def _flows(experiment: ex.Experiment, node_count: int) -> list[ResolvedFlow]:
    flows = []
    for index, flow in enumerate(experiment.flows):
        if flow.src in ("each", "top") or flow.dst in ("right", "bottom"):
            for number, (src, dst) in enumerate(
                _ends(experiment.topology, flow, index, node_count, experiment.servers)
            ):
                start_s = flow.start_s + number * flow.stagger_s
                flows.append(ResolvedFlow(index, src, dst, flow.model_copy(update={"start_s": start_s})))
            continue
        dst = node_of(flow.dst, node_count, ("flows", index, "dst"), experiment.servers)
        src = node_of(flow.src, node_count, ("flows", index, "src"), experiment.servers)
        if src == dst:
            raise FieldError(("flows", index, "dst"), f"node {dst} would send to itself", "name two different nodes")
        flows.append(ResolvedFlow(index, src, dst, flow))
    return flows


def _programs(experiment: ex.Experiment, folder: Path, node_count: int) -> list[dict[str, Any]]:
    found = []
    for index, program in enumerate(experiment.programs):
        file = (folder / program.initramfs).resolve()
        if not file.is_file():
            raise FieldError(("programs", index, "initramfs"), f"is {str(file)!r}, which is no file", "name an archive")
        node = node_of(program.node, node_count, ("programs", index, "node"), 0)
        found.append({**program.model_dump(), "node": node, "initramfs": str(file)})
    return found


def _pairs(programs: list[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """Programs may talk to each other."""
    return itertools.combinations(sorted({program["node"] for program in programs}), 2)


def _program_path(paths: static.Paths, here: int, there: int) -> list[int]:
    try:
        return paths.find(here, there)
    except static.Unreachable:
        raise FieldError(
            ("programs",),
            f"node {there} cannot be reached from node {here}: no chain of links joins them",
            "move nodes closer, widen medium.tx_range_m, or name another node",
        ) from None


def _ends(topology: ex.Topology, flow: ex.Flow, index: int, node_count: int, servers: int) -> list[tuple[int, int]]:
    """The flows that one of the file stands for."""
    if flow.src == "each" and flow.dst not in ("right", "bottom"):
        dst = node_of(flow.dst, node_count, ("flows", index, "dst"), servers)
        return [(src, dst) for src in range(node_count) if src != dst]
    if not isinstance(topology, ex.Grid) or (flow.src, flow.dst) not in (("each", "right"), ("top", "bottom")):
        raise FieldError(
            ("flows", index, "dst"),
            f"is {flow.dst} with src {flow.src}, which names no flows of a {topology.kind}",
            "in a grid write src: each, dst: right, or src: top, dst: bottom; elsewhere name the nodes",
        )
    rows, columns = topology.rows, topology.columns
    if flow.src == "each":
        return [(node, node + 1) for node in range(rows * columns) if (node + 1) % columns]
    return [(column, (rows - 1) * columns + column) for column in range(columns)] if rows > 1 else []


def _path(paths: static.Paths, flow: ResolvedFlow, experiment: ex.Experiment) -> list[int]:
    """The nodes of a flow's path at the start; none where nodes move and routes are found on demand."""
    try:
        nodes = paths.find(flow.src, flow.dst)
    except static.Unreachable:
        if isinstance(experiment.topology, motion.Mobile) and experiment.routing.protocol != "static":
            return []
        raise FieldError(
            ("flows", flow.index, "dst"),
            f"node {flow.dst} cannot be reached from node {flow.src}: no chain of links up to "
            f"medium.tx_range_m = {experiment.medium.tx_range_m:g} m, or of wires, joins them",
            "move nodes closer, widen medium.tx_range_m, or name another destination",
        ) from None
    if not isinstance(flow.model, IP_FLOWS) and len(nodes) > 2:
        raise FieldError(
            ("flows", flow.index, "dst"),
            f"node {flow.dst} is {len(nodes) - 1} hops from node {flow.src}; {flow.model.kind} crosses a single hop",
            "name a neighbour, or use kind: tcp",
        )
    if len(nodes) - 1 > ex.MOST_HOPS:
        raise FieldError(
            ("flows", flow.index, "dst"),
            f"node {flow.dst} is {len(nodes) - 1} hops from node {flow.src}; "
            f"a time to live and a path header end at {ex.MOST_HOPS}",
            "name a nearer destination",
        )
    return nodes


def _routing(experiment: ex.Experiment, moves: list[dict[str, Any]]) -> dict[str, Any]:
    """What a run says beyond static routes that nothing changes; earlier run files said nothing."""
    fields: dict[str, Any] = {}
    if experiment.routing.protocol != "static":
        fields["routing"] = experiment.routing.protocol
    if experiment.routing.on_link_failure != "ignore":
        fields["link_failure"] = experiment.routing.on_link_failure
    if experiment.routing.local_repair != "ns2":
        fields["local_repair"] = experiment.routing.local_repair
    # A jump has no speed, as in run files of before.
    events = [*moves, *(event.model_dump(exclude_none=True) for event in experiment.events)]
    if events:
        fields["events"] = sorted(events, key=lambda event: event["at_s"])
    return fields


def _mac(mac: ex.Mac, rate_index: int) -> dict[str, Any]:
    # What came later is written only where it says something: runs of before keep their names.
    later = {"fidelity", "access_mode", "mac_ack", "vacation_us", "path_header", "four_address"}
    fields = mac.model_dump(exclude={"data_rate_mbps", "fama"} | (later - set(mac.model_dump(exclude_defaults=True))))
    fama = mac.fama.model_dump(exclude_defaults=True)
    if fama and mac.access_mode == "fama":
        fields["fama"] = fama
    return {**fields, "data_rate_index": rate_index}


def _medium(medium: ex.Medium) -> dict[str, Any]:
    return medium.model_dump(exclude_none=True)


def _found(policy: Policy, folder: Path, where: tuple[str | int, ...]) -> Policy:
    try:
        return policy.found(folder)
    except PerhopError as error:
        raise FieldError(where, f"{policy.words}: {error.problem}", error.remedy) from None


def _flow(flow: ResolvedFlow, policy: Policy, folder: Path) -> dict[str, Any]:
    # What came later is written only where it says something: runs of before keep their names.
    later = LATER_TCP_FIELDS - flow.model.model_dump(exclude_defaults=True).keys()
    left_out = {"policy", "stagger_s"}
    fields = flow.model.model_dump(exclude=left_out | later if isinstance(flow.model, ex.TcpFlow) else left_out)
    fields |= {"src": flow.src, "dst": flow.dst}
    if isinstance(flow.model, ex.TcpFlow):
        own = policy
        if flow.model.policy:
            own = _found(parse_policy(flow.model.policy)[0], folder, ("flows", flow.index, "policy"))
        fields["policy"] = own.run_json()
        if fields["policy"]["cwl"] != "none":
            # Where a limit rules, there is no window scaling.
            fits = max(LARGEST_UNSCALED_WINDOW_BYTES // fields["segment_bytes"], 1)
            fields["max_window_packets"] = min(fields["max_window_packets"], fits)
    return fields
