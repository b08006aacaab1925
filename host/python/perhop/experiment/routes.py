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


class Paths:
    """Shortest paths in one network. Asked for one destination after another, it searches once for each."""

    def __init__(self, links: list[list[int]]) -> None:
        self._links = links
        self._dst = -1
        self._hops: dict[int, int] = {}

    def find(self, src: int, dst: int) -> list[int]:
        """As path()."""
        if dst != self._dst:
            self._dst, self._hops = dst, _hops_to(self._links, dst)
        return _followed(self._links, self._hops, src, dst)


def path(links: list[list[int]], src: int, dst: int) -> list[int]:
    """The nodes from `src` to `dst` with both ends; among equally short paths the lowest indices win.

    Raises Unreachable.
    """
    return Paths(links).find(src, dst)


def _followed(links: list[list[int]], hops: dict[int, int], src: int, dst: int) -> list[int]:
    if src not in hops:
        raise Unreachable(src, dst)
    nodes = [src]
    while nodes[-1] != dst:
        here = nodes[-1]
        nodes.append(min(other for other in links[here] if hops.get(other) == hops[here] - 1))
    return nodes


def routes(links: list[list[int]], pairs: Iterable[tuple[int, int]]) -> list[Route]:
    """The routes that the flows `pairs` (src, dst) and their returning TCP ACKs need, as routes_along().

    Raises Unreachable.
    """
    paths = Paths(links)
    return routes_along(paths.find(src, dst) for src, dst in pairs)


def routes_along(paths: Iterable[list[int]]) -> list[Route]:
    """The routes of flows along these paths and of what returns to their sources, sorted and without repeats.

    `paths` are those of one Paths: all to one destination agree. Every flow takes its own. What returns (TCP ACKs,
    EXACT's reports) takes it backwards as far as next hops allow, of which a node has one for each destination; beyond
    that it goes another way, as short.
    """
    paths = list(paths)
    found: dict[tuple[int, int], int] = {}
    for nodes in paths:
        found.update({(here, nodes[-1]): there for here, there in itertools.pairwise(nodes)})
    for nodes in paths:
        for here, there in itertools.pairwise(nodes):
            found.setdefault((there, nodes[0]), here)
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
