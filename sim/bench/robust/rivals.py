# SPDX-License-Identifier: GPL-2.0-or-later
"""Whom the combined policy is compared with: this table is the only place that names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

COMBINED = "combined"


@dataclass(frozen=True)
class Rival:
    """One contender, in the words of `policies`.

    Of several candidates, the one with the most goodput in runs with seeds of tuning is judged, in each condition anew.
    `flow` are fields of its TCP flows beside the policy.
    """

    name: str
    candidates: tuple[str, ...]
    flow: Mapping[str, int] = field(default_factory=dict)


RIVALS = (
    Rival("none", ("none",)),
    Rival("delayed tcp ack", ("none",), {"tcp_ack_every": 2}),  # TCP's own, for every second segment
    Rival("fixed", tuple(f"fixed {packets}" for packets in (1, 2, 3, 4, 5, 6, 8, 12, 16))),
    Rival("hop", ("hop",)),
    Rival("delay", ("delay",)),
    Rival("dca", ("dca",)),
    Rival("daa", ("daa",)),
    Rival("daa as in 001", ("daa as in 001",)),
    Rival("paced", ("paced",)),
    Rival("tcp-ap", ("tcp-ap", "delay + tcp-ap by mean deviation")),
)
