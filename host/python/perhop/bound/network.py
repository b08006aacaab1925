# SPDX-License-Identifier: GPL-2.0-or-later
"""The bound of a network: flows over paths, and the most goodput that all of them together can have.

    goodput <= program.maximise(overlaps of all exchanges, what a packet of each flow takes of them, its payload)

docs/airtime_bound.md proves that no policy exceeds it under the reception rule of `hearing`. Airtimes are in
microseconds, rates in bit/s of payload.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from perhop.bound import overlap, program
from perhop.bound.exchange import Link
from perhop.bound.hearing import Hearing

Path = tuple[int, ...]

# Of a longer path only the hops in its middle count. To count fewer can only raise a bound, and beyond twice the
# distance at which hops can be used again it does not.
MOST_HOPS = 8


@dataclass(frozen=True)
class Flow:
    """Packets from `src` to `dst`, each over one of `paths`; none given: nothing is known but the ends.

    `links` has the settings of hops that differ from `link`, by (sender, receiver). A TCP ACK of `answer_ip_bytes` goes
    back over the same nodes for every `packets_per_answer` packets; infinite: it counts as free, as do UDP flows'.
    """

    src: int
    dst: int
    paths: tuple[Path, ...]
    link: Link
    payload_bytes: int
    ip_bytes: int
    packets_per_answer: float = math.inf
    answer_ip_bytes: int = 40
    links: tuple[tuple[tuple[int, int], Link], ...] = ()
    backoff_less_us: float = 0.0  # how much shorter than its mean the back-off of this flow may have been, on average


def exchange_bound(flows: Sequence[Flow], hearing: Hearing) -> program.Optimum:
    """As if exchanges that cannot overlap as wholes did not overlap at all. No bound: see docs/airtime_bound.md."""
    exchanges, uses, value = _uses(flows, most_hops=256)
    return _solved(overlap.whole_exchanges(exchanges, hearing), uses, value)


def frame_bound(
    flows: Sequence[Flow], hearing: Hearing, backoff: bool = True, enough_bps: float = math.inf
) -> program.Optimum:
    """The proven bound. Without `backoff` every station is allowed to draw no slots at all.

    Whoever only asks whether it is as large as `enough_bps` need not wait for all of it: see `program.maximise`.
    """
    exchanges, uses, value = _uses(flows, MOST_HOPS)
    less_us = [0.0] * len(exchanges)
    for flow, columns in _by_flow(flows, uses):
        for index in columns:
            less_us[index] = max(less_us[index], flow.backoff_less_us)
    backoff_us = [
        max(0.0, exchange.link.mean_backoff_us - less) if backoff else 0.0
        for exchange, less in zip(exchanges, less_us, strict=True)
    ]
    return _solved(overlap.frames(exchanges, hearing, backoff_us), uses, value, enough_bps)


@dataclass(frozen=True)
class _Use:
    """One way of a flow: how often a packet needs each exchange."""

    flow: int
    times: dict[int, float]


def _uses(flows: Sequence[Flow], most_hops: int) -> tuple[list[overlap.Exchange], list[_Use], list[float]]:
    """The exchanges of all flows, each once; a variable of the program for each path of a flow; payloads in bits."""
    exchanges: list[overlap.Exchange] = []
    places: dict[overlap.Exchange, int] = {}
    uses, value = [], []
    for number, flow in enumerate(flows):
        for nodes in flow.paths or ((),):
            times: dict[int, float] = {}
            for exchange, often in _exchanges(flow, _middle(nodes, most_hops)):
                place = places.setdefault(exchange, len(exchanges))
                if place == len(exchanges):
                    exchanges.append(exchange)
                times[place] = times.get(place, 0.0) + often
            uses.append(_Use(number, times))
            value.append(8.0 * flow.payload_bytes)
    return exchanges, uses, value


def _middle(nodes: Path, most_hops: int) -> Path:
    first = max(0, len(nodes) - 1 - most_hops) // 2
    return nodes[first : first + most_hops + 1]


def _exchanges(flow: Flow, nodes: Path) -> Iterable[tuple[overlap.Exchange, float]]:
    settings = dict(flow.links)
    if not nodes:
        # Wherever the packets go, the source sends each of them once and the destination receives it.
        yield overlap.Exchange(flow.src, None, flow.ip_bytes, flow.link), 1.0
        yield overlap.Exchange(flow.dst, None, flow.ip_bytes, flow.link), 1.0
        return
    for here, there in itertools.pairwise(nodes):
        yield overlap.Exchange(here, there, flow.ip_bytes, settings.get((here, there), flow.link)), 1.0
        if math.isfinite(flow.packets_per_answer):
            back = settings.get((there, here), flow.link)
            yield overlap.Exchange(there, here, flow.answer_ip_bytes, back), 1 / flow.packets_per_answer


def _by_flow(flows: Sequence[Flow], uses: Sequence[_Use]) -> Iterable[tuple[Flow, list[int]]]:
    for use in uses:
        yield flows[use.flow], list(use.times)


def _solved(
    overlaps: overlap.Overlaps, uses: Sequence[_Use], value: Sequence[float], enough_bps: float = math.inf
) -> program.Optimum:
    demand = np.array(
        [
            [activity.duration_us * 1e-6 * use.times.get(activity.exchange, 0.0) for use in uses]
            for activity in overlaps.activities
        ]
    )
    return program.maximise(overlaps, demand, np.array(value), enough=enough_bps)
