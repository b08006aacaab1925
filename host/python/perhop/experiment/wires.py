# SPDX-License-Identifier: GPL-2.0-or-later
"""Wired links of an experiment: which nodes they join, and what must hold of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perhop.errors import FieldError
from perhop.experiment import schema as ex
from perhop.experiment.rules import node_of


@dataclass(frozen=True)
class Wires:
    """The wires of a run by the nodes that they join; its servers follow the `radios` nodes of the topology."""

    radios: int
    servers: int
    links: tuple[tuple[int, int, ex.Wire], ...]

    @property
    def node_count(self) -> int:
        return self.radios + self.servers

    def joins(self, here: int, there: int) -> bool:
        return any({here, there} == {a, b} for a, b, _ in self.links)

    def neighbours(self, over_the_air: list[list[int]]) -> list[list[int]]:
        """For each node its neighbours over the air and over wires, lowest index first."""
        near = [set(others) for others in over_the_air] + [set() for _ in range(self.servers)]
        for a, b, _ in self.links:
            near[a].add(b)
            near[b].add(a)
        return [sorted(others) for others in near]

    def run_json(self) -> dict[str, Any]:
        """Sections of run.json; a run without wires says nothing of them, as runs of before."""
        if not self.links:
            return {}
        return {
            "servers": self.servers,
            "wires": [
                {
                    "a": a,
                    "b": b,
                    "rate_bps": wire.rate_mbps * 1e6,
                    "delay_us": round(wire.delay_ms * 1e3),
                    "queue_packets": wire.queue_packets,
                }
                for a, b, wire in self.links
            ],
        }


def of(experiment: ex.Experiment, radios: int) -> Wires:
    """The wires of an experiment whose topology has `radios` nodes. Raises FieldError."""
    links: list[tuple[int, int, ex.Wire]] = []
    for index, wire in enumerate(experiment.wires):
        a, b = (
            node_of(end, radios, ("wires", index, field), experiment.servers)
            for field, end in (("a", wire.a), ("b", wire.b))
        )
        if a == b:
            raise FieldError(("wires", index, "b"), "names node a again", "name two different nodes")
        if any({a, b} == {c, d} for c, d, _ in links):
            raise FieldError(
                ("wires", index, "b"), f"joins nodes {a} and {b} a second time", "remove one of the two wires"
            )
        links.append((a, b, wire))
    wires = Wires(radios, experiment.servers, tuple(links))
    for server in range(radios, wires.node_count):
        if not any(server in (a, b) for a, b, _ in links):
            raise FieldError(("servers",), f"gives node {server}, which no wire joins to another", "add it to `wires`")
    if links:
        _check_what_crosses(experiment)
    return wires


def _check_what_crosses(experiment: ex.Experiment) -> None:
    protocol = experiment.routing.protocol
    if protocol in ("dsr", "gpsr"):
        raise FieldError(
            ("routing",), f"is {protocol}, which crosses no wire", "use static or aodv, or leave `wires` out"
        )
    for index, flow in enumerate(experiment.flows):
        if not isinstance(flow, ex.TcpFlow | ex.CbrFlow | ex.TfrcFlow):
            raise FieldError(
                ("flows", index, "kind"),
                f"is {flow.kind}, which crosses no wire",
                "use tcp, cbr or tfrc, or leave `wires` out",
            )
