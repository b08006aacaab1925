# SPDX-License-Identifier: GPL-2.0-or-later
"""A station claims a neighbour's address, then 1,024 others: the neighbours stay where they are and are not forgotten.

The attacked node knows its neighbours by what it heard from them; nothing is configured.
"""

from __future__ import annotations

import ipaddress

from bench import Bench, Outcome, udp_packet, wait_until

FORGED = 1024
PINGS = 10
VICTIM, NEIGHBOUR, FORGER = 1, 0, 2


def run(bench: Bench, outcome: Outcome) -> None:
    bench.up(hops=2)
    bench.reconfigure(VICTIM, neighbours=[])
    victim, neighbour, forger = (bench.address(node) for node in (VICTIM, NEIGHBOUR, FORGER))
    for node in (NEIGHBOUR, FORGER):
        wait_until(lambda node=node: bench.answers(node, victim), 10, f"node {node} reaches the attacked one")
    known = _addresses(bench)
    had = _arrived(bench)
    raw = bench.raw_socket(FORGER, 4)
    raw.sendto(udp_packet(neighbour, victim, 9, b"here I am"), (victim, 0))
    _wait_for_packets(bench, had + 1)
    _judge(bench, outcome, known, "one forged packet", forger, neighbour)
    had = _arrived(bench)
    for number in range(FORGED):
        claimed = str(ipaddress.ip_address("10.99.0.0") + number)
        raw.sendto(udp_packet(claimed, victim, 9, b"here I am"), (victim, 0))
        if number % 20 == 19:
            _wait_for_packets(bench, had + number + 1)
    _wait_for_packets(bench, had + FORGED)
    _judge(bench, outcome, known, f"{FORGED} forged packets", forger, neighbour)


def _arrived(bench: Bench) -> int:
    """Packets that the attacked node has taken for itself."""
    count: int = bench.daemon(VICTIM)["packets"]["to_ip"]
    return count


def _wait_for_packets(bench: Bench, count: int) -> None:
    wait_until(lambda: _arrived(bench) >= count, 20, "the forged packets have arrived")


def _addresses(bench: Bench) -> dict[str, str]:
    """The victim's neighbours by IPv4 address, as it tells them."""
    return {
        address: neighbour["mac"]
        for neighbour in bench.daemon(VICTIM)["neighbours"]
        for address in neighbour.get("addresses", [])
        if ":" not in address and address.startswith("10.0.")
    }


def _judge(bench: Bench, outcome: Outcome, known: dict[str, str], what: str, forger: str, neighbour: str) -> None:
    now = _addresses(bench)
    moved = sum(now.get(address) != mac for address, mac in known.items())
    outcome.figures[f"neighbours moved or forgotten after {what}"] = moved
    outcome.check(moved == 0, f"after {what} {moved} of {len(known)} neighbours are elsewhere or forgotten")
    # The attacked node speaks first: an answer would only follow what it hears.
    for place, address in (("the neighbour", neighbour), ("the forger", forger)):
        answered = bench.replies(VICTIM, address, PINGS)
        outcome.figures[f"replies of {place} after {what}"] = answered
        outcome.check(answered == PINGS, f"after {what} {answered} of {PINGS} pings to {place} are answered")
