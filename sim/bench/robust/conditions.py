# SPDX-License-Identifier: GPL-2.0-or-later
"""In which conditions the combined policy is judged: what each one changes of home.yaml.

A condition's name is that of its family, and the hops or the number of its mesh: `sinr-4`, `mesh-7`.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from perhop.errors import PerhopError
from perhop.experiment import routes, topology
from perhop.experiment.schema import Medium, Random

QUICK_HOPS = (4, 6, 8, 15)
ALL_HOPS = tuple(range(1, 16))
CROSSING_HOPS = (4, 8)
MESHES = tuple(range(1, 11))

# What the combined policy had more than the best policy of the papers at home, by hops (docs/airtime_bound.md), when
# this bench was made; three points of it may be given up for other conditions.
HOME_LEAD = {
    1: -0.009, 2: -0.009, 3: 0.028, 4: 0.009, 5: 0.109, 6: 0.165, 7: 0.198, 8: 0.311,
    9: 0.313, 10: 0.274, 11: 0.314, 12: 0.302, 13: 0.291, 14: 0.260, 15: 0.285,
}  # fmt: skip
HOME_SLACK = 0.03


@dataclass(frozen=True)
class Condition:
    """One line of the table. `settings` are those of `perhop run --set`."""

    family: str
    size: int  # hops, or the number of a mesh
    title: str
    settings: tuple[str, ...]
    by_chance: bool = False  # flows meet on ways of their own: which one gets the medium differs from seed to seed
    least_lead: float | None = None  # over the best rival's goodput; None: what holds of all conditions is enough

    @property
    def name(self) -> str:
        return f"{self.family}-{self.size}"


def _flows(*ends: tuple[int | str, int | str]) -> str:
    """Flows between these nodes, each half a second after the one before."""
    flow = "{{kind: tcp, src: {}, dst: {}, start_s: {}, segment_bytes: 1460, max_window_packets: 44, min_rto_ms: 1000}}"
    listed = (flow.format(src, dst, 0.1 + 0.5 * index) for index, (src, dst) in enumerate(ends))
    return f"flows=[{', '.join(listed)}]"


def _slow_link(hops: int) -> str:
    """The link in the middle of the chain."""
    return f"links=[{{a: {(hops - 1) // 2}, b: {(hops - 1) // 2 + 1}, data_rate_mbps: 1}}]"


# Family, words for it, and what it changes over so many hops.
CHAINS: tuple[tuple[str, str, Callable[[int], tuple[str, ...]]], ...] = (
    ("250m", "250 m, at home", lambda _: ()),
    ("200m", "200 m", lambda _: ("topology.spacing_m=200",)),
    ("errors5", "5 % frame errors", lambda _: ("medium.frame_error_rate=0.05",)),
    ("errors10", "10 % frame errors", lambda _: ("medium.frame_error_rate=0.10",)),
    ("slow-link", "one link at 1 Mb/s", lambda hops: (_slow_link(hops),)),
    ("11mbps", "11 Mb/s", lambda _: ("mac.data_rate_mbps=11",)),
    ("500bytes", "500-byte segments", lambda _: ("flows.0.segment_bytes=500",)),
    ("sinr", "sinr reception, 200 m", lambda _: ("medium.reception=sinr", "topology.spacing_m=200")),
    ("ns2-mac", "ns-2's MAC, two-ray", lambda _: ("mac.compat=ns2", "medium.loss=two_ray")),
    ("sack", "TCP with SACK", lambda _: ("flows.0.sack=true",)),
    ("same", "two flows, same direction", lambda _: (_flows(("first", "last"), ("first", "last")),)),
    ("opposite", "two flows, opposite", lambda _: (_flows(("first", "last"), ("last", "first")),)),
)

MESH_NODES = 30
MESH_FLOWS = 3
LEAST_MESH_HOPS = 3


Ends = tuple[tuple[int | str, int | str], ...]  # source and destination of each flow


def crossing(hops: int, both_ways: bool) -> tuple[str, Ends]:
    """The topology, and the ends of the flows."""
    east, south = (0, hops), (hops + 1, 2 * hops)
    ways = (east, south, east[::-1], south[::-1]) if both_ways else (east, south)
    return f"topology={{kind: cross, hops: {hops}, spacing_m: 200}}", ways


def mesh(seed: int) -> tuple[str, Ends]:
    """Flows between far nodes: one over a single hop would have nearly all the goodput, under any policy."""
    random = Random(kind="random", nodes=MESH_NODES, width_m=1000, height_m=1000, seed=seed)
    medium = Medium()
    links = topology.neighbours(topology.positions(random, medium), medium.tx_range_m)
    # Where a node stands is random, so any order of the nodes will do.
    pairs = ((node, MESH_NODES - 1 - node) for node in range(MESH_NODES // 2))
    far = tuple(pair for pair in pairs if len(routes.path(links, *pair)) > LEAST_MESH_HOPS)
    fields = ", ".join(f"{name}: {value}" for name, value in random.model_dump().items())
    return f"topology={{{fields}}}", far[:MESH_FLOWS]


def _with_flows(topology_and_ends: tuple[str, Ends]) -> tuple[str, ...]:
    among, ends = topology_and_ends
    return among, _flows(*ends)


def all_conditions(quick: bool) -> list[Condition]:
    """Those of a grade, in the order of the table."""
    hops_of_chains = QUICK_HOPS if quick else ALL_HOPS
    found = [
        Condition(family, hops, f"{words}, {hops} hops", settings(hops), least_lead=_least_lead(family, hops))
        for family, words, settings in CHAINS
        for hops in hops_of_chains
    ]
    for family, words, both_ways in (("cross2", "two", False), ("cross4", "four", True)):
        found += [
            Condition(
                family,
                hops,
                f"{words} flows crossing, 200 m, {hops} hops",
                _with_flows(crossing(hops, both_ways)),
                by_chance=True,
            )
            for hops in CROSSING_HOPS
        ]
    found += [
        Condition("mesh", seed, f"random mesh {seed}, three flows", _with_flows(mesh(seed)), by_chance=True)
        for seed in MESHES
    ]
    return found


def _least_lead(family: str, hops: int) -> float | None:
    return HOME_LEAD[hops] - HOME_SLACK if family == "250m" else None


def chosen(conditions: list[Condition], only: Iterable[str]) -> list[Condition]:
    """Those that a name, a family or a pattern such as `sinr-*` of `only` stands for; all without one."""
    patterns = list(only)
    for pattern in patterns:
        if not any(_matches(condition, pattern) for condition in conditions):
            families = ", ".join(dict.fromkeys(condition.family for condition in conditions))
            raise PerhopError(
                f"--only {pattern!r} is no condition of this grade",
                f"a family ({families}), or one of it, such as 250m-4",
            )
    return [
        condition
        for condition in conditions
        if not patterns or any(_matches(condition, pattern) for pattern in patterns)
    ]


def _matches(condition: Condition, pattern: str) -> bool:
    return condition.family == pattern or fnmatch.fnmatchcase(condition.name, pattern)
