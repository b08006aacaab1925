# SPDX-License-Identifier: GPL-2.0-or-later
"""Theorem 1's path: links that each hold one packet, in both directions, without interference between them."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Flow:
    """What a window of packets did."""

    packets_per_s: float
    waiting_packets: float  # in the queues of all links, mean over time


def run(delays_s: Sequence[float], window_packets: int, packets: int) -> Flow:
    """`window_packets` go round the links, forward ones first, until `packets` came back; the first half is left out.

    A link takes `delays_s` for a packet and holds one; the others wait in front of it.
    """
    queues: list[deque[int]] = [deque() for _ in delays_s]
    queues[0].extend(range(window_packets))
    busy = [False] * len(delays_s)
    events: list[tuple[float, int]] = []  # a link is done with its packet
    now = 0.0

    def start(link: int) -> None:
        if queues[link] and not busy[link]:
            busy[link] = True
            queues[link].popleft()
            heapq.heappush(events, (now + delays_s[link], link))

    start(0)
    back, measured_from, waited = 0, 0.0, 0.0
    while back < packets:
        until, link = heapq.heappop(events)
        waited += (until - now) * sum(map(len, queues))
        now = until
        busy[link] = False
        following = (link + 1) % len(delays_s)
        queues[following].append(0)
        if following == 0:
            back += 1
            if back == packets // 2:
                measured_from, waited = now, 0.0
        start(following)
        start(link)
    return Flow((packets - packets // 2) / (now - measured_from), waited / (now - measured_from))
