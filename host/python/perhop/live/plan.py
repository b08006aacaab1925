# SPDX-License-Identifier: GPL-2.0-or-later
"""What a live network is made of: from an experiment file to addresses, routes and configurations."""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import PydanticCustomError

from perhop import paths
from perhop.errors import FieldError, PerhopError
from perhop.experiment import resolve, routes
from perhop.experiment import topology as topo
from perhop.experiment.cautions import cautions
from perhop.experiment.load import Point, load, located
from perhop.experiment.policies import Policy, parse_policy
from perhop.experiment.rules import check_jumps
from perhop.experiment.settings_table import ExactSettings
from perhop.live import state_files
from perhop.registers import spec_generated as spec

INTERFACE = "radio0"
# So that a packet with path header still fits the largest MSDU, and TCP's segments are those of a wired host.
MTU_BYTES = 1500
# A name becomes a part of names of namespaces and of paths of sockets, which are short.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")
# As in the simulator (sim/ns3/node-address.h), 250 nodes in each block of 256 addresses.
NETWORK = ipaddress.IPv4Network("10.0.0.0/16")
LEAST_RTO_MS = 200  # of Linux' TCP
# Each has a namespace, a daemon and routes to all others, on one machine.
MOST_NODES = 256


@dataclass(frozen=True)
class Node:
    """One node: its namespace and its addresses."""

    index: int
    namespace: str
    mac: str
    ipv4: str
    ipv6: str
    link_local: str


@dataclass(frozen=True)
class LivePlan:
    """A network that is not there yet."""

    name: str
    nodes: list[Node]
    routes: list[routes.Route]
    run: dict[str, Any]  # run.json
    policy: str
    policy_json: dict[str, Any]
    path_nodes: list[int]  # of the first flow
    route_metrics: list[str]
    events: list[dict[str, Any]]
    exact: dict[str, Any] | None = None  # of the daemons' configuration; None: no EXACT
    routing: str = "static"  # or babel: a babeld in each node instead of `routes`
    enforce: str = "window"  # or ebpf: how TCP senders are held to their limit
    sack: bool | None = None  # selective acknowledgements of TCP; None: as the kernel has them
    cautions: tuple[str, ...] = ()  # sentences for whoever brings it up
    slow_down: int = 1  # how many times slower than the hosts' clocks everything goes, with virtual radios


def namespace(name: str, index: int) -> str:
    return f"perhop-{name}-{index}"


def make_node(name: str, index: int, network: ipaddress.IPv4Network = NETWORK) -> Node:
    """Its addresses as in the simulator (sim/ns3/node-address.h), in `network`; IPv6 ones hold the MAC address."""
    address = spec.NODE_ADDRESS_BASE + index + 1
    octets = address.to_bytes(6, "big")
    interface_id = bytes([octets[0] ^ 2, *octets[1:3], 0xFF, 0xFE, *octets[3:]]).hex()
    suffix = ":".join(f"{int(interface_id[at : at + 4], 16):x}" for at in range(0, 16, 4))
    return Node(
        index=index,
        namespace=namespace(name, index),
        mac=":".join(f"{octet:02x}" for octet in octets),
        ipv4=str(network.network_address + 256 * (index // 250) + index % 250 + 1),
        ipv6=f"fd70:6572:686f:70:{suffix}",
        link_local=f"fe80::{suffix}",
    )


def make_plan(
    file: Path,
    overrides: Iterable[str] = (),
    policy: str | None = None,
    name: str | None = None,
    exact: str | None = None,
    routing: str = "static",
    udp: str = "asked",
    enforce: str = "window",
) -> LivePlan:
    """The network that the experiment file says, with one policy. Raises PerhopError.

    `exact` is m1, m2 or off; by default the nodes have EXACT where the file has flows of EXACT. `routing` is static or
    babel. `udp` is asked or all: which UDP flows EXACT paces. `enforce` is window or ebpf: how the window limit
    holds the kernel's TCP.
    """
    if routing not in ("static", "babel"):
        raise PerhopError(f"--routing {routing!r} is not known", "one of static, babel")
    if enforce not in ("window", "ebpf"):
        raise PerhopError(f"--enforce {enforce!r} is not known", "one of window, ebpf")
    file = paths.experiment_file(file)
    points = load(file, overrides)
    if len(points) > 1:
        swept = ", ".join(points[0].swept)
        raise PerhopError(
            f"{file} sweeps {swept}: {len(points)} networks",
            f"choose one: --set {points[0].swept and next(iter(points[0].swept))}=..",
        )
    experiment = points[0].experiment
    name = name or experiment.name
    if not NAME.fullmatch(name):
        raise PerhopError(
            f"{name!r} is no name of a live network", "give at most 32 letters, digits, _ . - with --name"
        )
    try:
        check_jumps(experiment, "in a live network")
    except FieldError as error:
        raise located(points[0].document, error) from None
    run = resolve.resolve(points)[0]
    check_size(points[0], run)
    if policy is not None:
        chosen = one_policy(policy).found(Path.cwd())
        label, policy_json = chosen.label, chosen.run_json()
    else:
        label, policy_json = run.policy or "no limit", None
    return plan_run(
        run.config,
        name=name,
        policy=label,
        policy_json=policy_json,
        exact=_exact(experiment.exact.model_dump(), "exact" in run.config, exact, udp),
        routing=routing,
        enforce=enforce,
        said=cautions(experiment),
    )


def check_size(point: Point, run: resolve.Run) -> None:
    """Raises ExperimentError for more nodes than a live network may have."""
    nodes = len(run.config["nodes"])
    if nodes > MOST_NODES:
        error = FieldError(
            ("topology",),
            f"has {nodes} nodes, but a live network at most {MOST_NODES}: each takes a namespace and a daemon",
            "use fewer nodes, or simulate them (perhop run --backend sim)",
        )
        raise located(point.document, error)


def plan_run(
    run: dict[str, Any],
    *,
    name: str,
    policy: str,
    policy_json: dict[str, Any] | None = None,
    exact: dict[str, Any] | None = None,
    routing: str = "static",
    enforce: str = "window",
    network: ipaddress.IPv4Network = NETWORK,
    as_simulated: bool = False,
    said: Iterable[str] = (),
    slow_down: int = 1,
) -> LivePlan:
    """The network of one run (resolve.Run.config), with the policy that its TCP flows have or with `policy_json`.

    `as_simulated`: TCP has what the run says of it, not what the kernel has by default. `said`: LivePlan.cautions,
    `slow_down`: LivePlan.slow_down.
    """
    if policy_json is None:
        policy_json = next((flow["policy"] for flow in run["flows"] if "policy" in flow), {})
    config = {key: value for key, value in run.items() if key != "realtime"}
    positions = [(node["x_m"], node["y_m"]) for node in config["nodes"]]
    links = topo.neighbours(positions, config["medium"]["tx_range_m"])
    pairs = [
        pair for pair in itertools.combinations(range(len(positions)), 2) if _joined(links, *pair)
    ]  # flows may go anywhere
    found = routes.routes(links, pairs)
    events = config.pop("events", [])
    config["outputs"] = {**config["outputs"], "directory": ".", "pcapng": False}
    first = next((flow for flow in config["flows"] if flow["kind"] == "tcp"), None)
    metrics = []
    if first is not None:
        # As ns-3's TCP: the sender begins with one segment, the receiver acknowledges each and advertises as much.
        metrics += ["initcwnd", "1"]
        metrics += ["quickack", "1"] if first.get("tcp_ack_every", 1) == 1 else []
        metrics += ["window", str(first["max_window_packets"] * first["segment_bytes"])]
        # The kernel's clock is not slowed down; what its TCP would repeat too early is held by the least time-out.
        metrics += ["rto_min", f"{LEAST_RTO_MS * slow_down}ms"] if slow_down > 1 else []
    flow = config["flows"][0]
    return LivePlan(
        name=name,
        nodes=[make_node(name, index, network) for index in range(len(positions))],
        routes=found if routing == "static" else [],
        run=config,
        policy=policy,
        policy_json=policy_json,
        path_nodes=routes.path(links, flow["src"], flow["dst"]),
        route_metrics=metrics,
        events=events,
        exact=exact,
        routing=routing,
        enforce=enforce,
        sack=first["sack"] if as_simulated and first is not None else None,
        cautions=tuple(said),
        slow_down=slow_down,
    )


def exact_of_run(run: dict[str, Any]) -> dict[str, Any] | None:
    """EXACT in the daemons as the run has it, for the flows of EXACT that it has. Raises PerhopError."""
    return _exact(run["exact"], True, None, "asked") if "exact" in run else None


def _exact(section: dict[str, Any], has_flows: bool, word: str | None, udp: str) -> dict[str, Any] | None:
    if word not in (None, "off", "m1", "m2"):
        raise PerhopError(f"--exact {word!r} is not known", "one of m1, m2, off")
    if udp not in ("asked", "all"):
        raise PerhopError(f"--udp {udp!r} is not known", "one of asked, all")
    if word == "off" or (word is None and not has_flows):
        return None
    if section["silent_routers"]:
        raise PerhopError("exact.silent_routers: live nodes all have a shim", "leave it out, or use `perhop run`")
    found = {key: section[key] for key in ExactSettings.model_fields}
    return {**found, "mode": word or section["mode"], "udp": udp}


def one_policy(text: str) -> Policy:
    """The policy that `text` says, in the words of experiment files. Raises PerhopError."""
    try:
        found = parse_policy(text)
    except PydanticCustomError as error:
        context = error.context or {}
        raise PerhopError(f"--policy {context.get('problem', error)}", context.get("remedy", "mend it")) from None
    if len(found) != 1:
        raise PerhopError(f"{text!r} stands for several policies", "name one")
    return found[0]


def _joined(links: list[list[int]], one: int, other: int) -> bool:
    try:
        routes.path(links, one, other)
    except routes.Unreachable:
        return False
    return True


def rates_socket(index: int) -> str:
    """The file by which applications on a node ask for their rates, in the network's folder."""
    return f"rates-{index}.sock"


def node_config(
    plan: LivePlan,
    node: Node,
    folder: Path,
    cgroup: str | None = None,
    driver: dict[str, Any] | None = None,
    capture: Path | None = None,
) -> dict[str, Any]:
    """What perhop-node reads. All nodes are told of all: which of them are neighbours is the routes' business.

    `cgroup` is there where eBPF enforces the window limit; `driver` says the MAC where it is not one of the network's
    own medium; packets are recorded to the file `capture`.
    """
    if driver is None:
        driver = {"kind": "air", "socket": str(state_files.medium_socket(folder)), "node": node.index}
    if capture is not None:
        driver = {**driver, "capture": {"file": str(capture)}}
    exact = {} if plan.exact is None else {"exact": plan.exact, "rates_socket": str(folder / rates_socket(node.index))}
    rates = {
        link["to"]: {"data_rate_index": link["data_rate_index"]}
        for link in plan.run.get("links", [])
        if link["from"] == node.index
    }
    cwl = {} if cgroup is None else {"cwl": {"enforce": plan.enforce, "cgroup": cgroup}}
    return {
        **exact,
        **({"swan": plan.run["swan"]} if "swan" in plan.run else {}),
        **cwl,
        **({"slow_down": plan.slow_down} if plan.slow_down > 1 else {}),
        "name": f"{plan.name} node {node.index}",
        "interface": INTERFACE,
        "driver": driver,
        "control_socket": str(folder / f"node-{node.index}.sock"),
        "queue_packets": plan.run["mac"]["queue_packets"],
        "mtu_bytes": MTU_BYTES,
        "policy": plan.policy_json,
        "neighbours": [
            {"address": address, "mac": other.mac, **rates.get(other.index, {})}
            for other in plan.nodes
            if other is not node
            for address in (other.ipv4, other.ipv6)
        ],
    }
