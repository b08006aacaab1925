# SPDX-License-Identifier: GPL-2.0-or-later
"""Static routes: fewest hops over the links that the transmission range allows."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Route:
    """At `node`, packets for `destination` go to `next_hop`; all three are node indices."""

    node: int
    destination: int
    next_hop: int


class Unreachable(Exception):
    """There is no path from `src` to `dst`."""

    def __init__(self, src: int, dst: int) -> None:
        super().__init__(src, dst)
        self.src = src
        self.dst = dst


def path(links: list[list[int]], src: int, dst: int) -> list[int]:
    """The nodes from `src` to `dst` with both ends; among equally short paths the lowest indices win.

    Raises Unreachable.
    """
    hops = _hops_to(links, dst)
    if src not in hops:
        raise Unreachable(src, dst)
    nodes = [src]
    while nodes[-1] != dst:
        here = nodes[-1]
        nodes.append(min(other for other in links[here] if hops.get(other) == hops[here] - 1))
    return nodes


def routes(links: list[list[int]], pairs: Iterable[tuple[int, int]]) -> list[Route]:
    """The routes that the flows `pairs` (src, dst) and their returning TCP ACKs need, sorted and without repeats.

    Both directions follow the same nodes. Raises Unreachable.
    """
    found: dict[tuple[int, int], int] = {}
    for src, dst in pairs:
        nodes = path(links, src, dst)
        for here, there in itertools.pairwise(nodes):
            # A route that another flow has set stays: a node has one next hop to a destination.
            found.setdefault((here, dst), there)
            found.setdefault((there, src), here)
    return sorted(Route(node, destination, next_hop) for (node, destination), next_hop in found.items())


def _hops_to(links: list[list[int]], dst: int) -> dict[int, int]:
    """Hops from every node that can reach `dst`. Links are symmetric, so the search runs from `dst`."""
    hops = {dst: 0}
    todo = deque([dst])
    while todo:
        here = todo.popleft()
        for other in links[here]:
            if other not in hops:
                hops[other] = hops[here] + 1
                todo.append(other)
    return hops
