# SPDX-License-Identifier: GPL-2.0-or-later
"""An ideal scheduler for a string: it knows every packet, and no two of its transmissions ever collide.

Each packet of the window goes forward over every hop, and its TCP ACK back; then the next one starts. Two transmissions
exclude each other when one's receiver is a neighbour of the other's sender, or they share a node. Whenever a
transmission ends, a rule picks the next ones; `best` takes the best of several rules, so what it finds can be had, and
`bound` says what no scheduler exceeds.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass

PACKETS = 600
WARMUP_PACKETS = 200


@dataclass(frozen=True)
class Step:
    """What a packet needs next: its data, or its TCP ACK, over one link."""

    sender: int
    receiver: int
    duration_us: int
    number: int  # 0 .. 2 hops - 1

    def excludes(self, other: Step) -> bool:
        ends = {self.sender, self.receiver} & {other.sender, other.receiver}
        return bool(ends) or abs(self.sender - other.receiver) == 1 or abs(other.sender - self.receiver) == 1


def steps(hops: int, data_us: int, tcp_ack_us: int) -> list[Step]:
    forward = [Step(hop, hop + 1, data_us, hop) for hop in range(hops)]
    back = [Step(hop + 1, hop, tcp_ack_us, 2 * hops - 1 - hop) for hop in range(hops)]
    return forward + back[::-1]


def bound(hops: int, window: int, data_us: int, tcp_ack_us: int) -> float:
    """Packets/s: a window a round trip; and data on three neighbouring links exclude each other."""
    round_trip_us = hops * (data_us + tcp_ack_us)
    return 1e6 * min(window / round_trip_us, 1 / (min(hops, 3) * data_us + (tcp_ack_us if hops == 1 else 0)))


# What goes first: the packet that has come furthest, least far, TCP ACKs, data; ties by the packet's number.
RULES: tuple[Callable[[Step, int], tuple[int, ...]], ...] = (
    lambda step, packet: (-step.number, packet),
    lambda step, packet: (step.number, packet),
    lambda step, packet: (step.duration_us, -step.number, packet),
    lambda step, packet: (-step.duration_us, -step.number, packet),
    lambda step, packet: (step.number % 3, -step.number, packet),
    lambda step, packet: (packet, step.number),
)


def throughput(
    hops: int, window: int, data_us: int, tcp_ack_us: int, rule: Callable[[Step, int], tuple[int, ...]]
) -> float:
    """Packets/s of a window under a rule."""
    path = steps(hops, data_us, tcp_ack_us)
    clash = [[one.excludes(other) for other in path] for one in path]
    waiting = [(0, packet) for packet in range(window)]  # (step, packet)
    active: list[tuple[int, int, int]] = []  # heap of (end, step, packet)
    now_us = done = since_us = 0
    while done < PACKETS:
        for step, packet in sorted(waiting, key=lambda item: rule(path[item[0]], item[1])):
            if not any(clash[step][other] for _, other, _ in active):
                heapq.heappush(active, (now_us + path[step].duration_us, step, packet))
                waiting.remove((step, packet))
        now_us = active[0][0]
        while active and active[0][0] == now_us:
            _, step, packet = heapq.heappop(active)
            if step + 1 == len(path):
                done += 1
                if done == WARMUP_PACKETS:
                    since_us = now_us
            waiting.append(((step + 1) % len(path), packet))
    return 1e6 * (done - WARMUP_PACKETS) / (now_us - since_us)


def best(hops: int, window: int, data_us: int, tcp_ack_us: int) -> float:
    """The most that any of the rules gets; a larger window may be used in part."""
    return max(
        throughput(hops, used, data_us, tcp_ack_us, rule)
        for used, rule in itertools.product(range(1, window + 1), RULES)
    )
