# SPDX-License-Identifier: GPL-2.0-or-later
"""Positions of the nodes of each kind of topology, and which of them can hear one another."""

from __future__ import annotations

import math
import random

from perhop.errors import FieldError
from perhop.experiment import schema as ex

Positions = list[tuple[float, float]]

# Draws of a random topology before perhop says that the area is too sparse.
RANDOM_ATTEMPTS = 1000


def positions(topology: ex.Topology, medium: ex.Medium) -> Positions:
    """(x_m, y_m) of every node, in node order. Raises FieldError for a topology that cannot work."""
    match topology:
        case ex.Chain():
            _check_spacing(topology.spacing_m, medium)
            return [(i * topology.spacing_m, 0.0) for i in range(topology.hops + 1)]
        case ex.Ring():
            _check_spacing(topology.spacing_m, medium)
            # The chord between neighbours is 2 r sin(pi / n).
            return _circle(topology.nodes, topology.spacing_m / (2 * math.sin(math.pi / topology.nodes)))
        case ex.Grid():
            if topology.rows * topology.columns < 2:
                raise FieldError(
                    ("topology", "columns"), "the grid has a single node", "give at least 2 rows or columns"
                )
            if topology.rows * topology.columns > ex.MOST_NODES:
                raise FieldError(
                    ("topology", "columns"),
                    f"the grid has {topology.rows * topology.columns} nodes, more than {ex.MOST_NODES}",
                    "give fewer rows or columns",
                )
            _check_spacing(topology.spacing_m, medium)
            return [
                (column * topology.spacing_m, row * topology.spacing_m)
                for row in range(topology.rows)
                for column in range(topology.columns)
            ]
        case ex.Cross():
            _check_spacing(topology.spacing_m, medium)
            half = topology.hops // 2
            steps = range(-half, half + 1)
            west_east = [(i * topology.spacing_m, 0.0) for i in steps]
            return west_east + [(0.0, -i * topology.spacing_m) for i in steps if i != 0]
        case ex.Random():
            return _random(topology, medium)
        case ex.Star():
            _check_radius(topology.radius_m, topology.radius_m, "the middle", medium)
            return [(0.0, 0.0), *_circle(topology.stations, topology.radius_m)]
        case ex.FullMesh():
            _check_radius(topology.radius_m, 2 * topology.radius_m, "the node across", medium)
            return _circle(topology.nodes, topology.radius_m)
        case ex.HiddenPair():
            _check_spacing(topology.spacing_m, medium)
            if 2 * topology.spacing_m <= medium.cs_range_m:
                raise FieldError(
                    ("topology", "spacing_m"),
                    f"the two senders are {2 * topology.spacing_m:g} m apart and sense each other "
                    f"(medium.cs_range_m is {medium.cs_range_m:g}), so they are not hidden",
                    f"set medium.cs_range_m below {2 * topology.spacing_m:g} or widen the spacing",
                )
            return [(i * topology.spacing_m, 0.0) for i in range(3)]
        case ex.Explicit():
            return _explicit(topology)
    raise AssertionError(f"topology {topology!r} has no positions")


def distance_m(a: tuple[float, float], b: tuple[float, float]) -> float:
    return math.dist(a, b)


def neighbours(nodes: Positions, tx_range_m: float) -> list[list[int]]:
    """For each node the others within `tx_range_m`, nearest index first."""
    # A micrometre of slack, so that a ring's rounded chord does not fall outside a range equal to the spacing.
    reach = tx_range_m + 1e-6
    # Squares a little wider than the reach: whoever is heard is in one of the nine around.
    side = reach * (1 + 1e-9)
    squares: dict[tuple[int, int], list[int]] = {}
    for i, (x, y) in enumerate(nodes):
        squares.setdefault((math.floor(x / side), math.floor(y / side)), []).append(i)
    near = {
        (column, row): sorted(
            j for right in (-1, 0, 1) for up in (-1, 0, 1) for j in squares.get((column + right, row + up), ())
        )
        for column, row in squares
    }
    return [
        [
            j
            for j in near[math.floor(node[0] / side), math.floor(node[1] / side)]
            if j != i and distance_m(node, nodes[j]) <= reach
        ]
        for i, node in enumerate(nodes)
    ]


def _circle(count: int, radius_m: float) -> Positions:
    angles = [2 * math.pi * i / count for i in range(count)]
    return [(radius_m * math.cos(angle), radius_m * math.sin(angle)) for angle in angles]


def _check_spacing(spacing_m: float, medium: ex.Medium) -> None:
    if spacing_m > medium.tx_range_m:
        raise FieldError(
            ("topology", "spacing_m"),
            f"neighbours {spacing_m:g} m apart cannot hear each other (medium.tx_range_m is {medium.tx_range_m:g})",
            f"set the spacing to at most {medium.tx_range_m:g}, or widen medium.tx_range_m",
        )


def _check_radius(radius_m: float, farthest_m: float, who: str, medium: ex.Medium) -> None:
    if farthest_m > medium.tx_range_m:
        raise FieldError(
            ("topology", "radius_m"),
            f"{who} is {farthest_m:g} m away and out of reach (medium.tx_range_m is {medium.tx_range_m:g})",
            f"set the radius to at most {radius_m * medium.tx_range_m / farthest_m:g}, or widen medium.tx_range_m",
        )


def _random(topology: ex.Random, medium: ex.Medium) -> Positions:
    draw = random.Random(topology.seed)
    for _ in range(RANDOM_ATTEMPTS):
        nodes = [(draw.uniform(0, topology.width_m), draw.uniform(0, topology.height_m)) for _ in range(topology.nodes)]
        if len(set(nodes)) == len(nodes) and _connected(neighbours(nodes, medium.tx_range_m)):
            return nodes
    raise FieldError(
        ("topology", "nodes"),
        f"{RANDOM_ATTEMPTS} draws of {topology.nodes} nodes over {topology.width_m:g} x {topology.height_m:g} m "
        f"gave no connected network (medium.tx_range_m is {medium.tx_range_m:g})",
        "use more nodes, a smaller area, or a wider medium.tx_range_m",
    )


def _connected(links: list[list[int]]) -> bool:
    seen, todo = {0}, [0]
    while todo:
        fresh = set(links[todo.pop()]) - seen
        seen |= fresh
        todo.extend(fresh)
    return len(seen) == len(links)


def _explicit(topology: ex.Explicit) -> Positions:
    nodes = [(float(node.x_m), float(node.y_m)) for node in topology.nodes]
    first_at: dict[tuple[float, float], int] = {}
    for index, node in enumerate(nodes):
        if node in first_at:
            raise FieldError(
                ("topology", "nodes", index),
                f"node {index} stands at ({node[0]:g}, {node[1]:g}) m, where node {first_at[node]} is",
                "move one of the two",
            )
        first_at[node] = index
    return nodes
