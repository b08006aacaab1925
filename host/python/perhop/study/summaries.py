# SPDX-License-Identifier: GPL-2.0-or-later
"""Summary rows: one for each point of the sweep and policy, averaged over seeds with a 95 % interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from scipy import special

from perhop.study.results import PARTS, Results, Row, goodput_sum_bps, jain_of_flows

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean over seeds; `half` is the half width of its 95 % interval, 0 with a single seed."""

    value: float
    half: float
    count: int


# Of more flows than this a page shows those with the least and the most.
FLOW_LINES_MAX = 8

# (sender, receiver): what a hop is called and joined by, whatever its place on a path.
Link = tuple[int, int]


@dataclass(frozen=True)
class Hop:
    """Means of one link in one direction over the seeds, all for a packet that left the head of the queue.

    `direction` says whose packets: `forward` data, `return` TCP ACKs or reports, `control` of a routing protocol,
    `broadcast`; `both` where a backend cannot tell data and TCP ACKs on the same link apart.
    """

    sender: int
    receiver: int
    direction: str
    packets: float
    service_time_us: float
    contention_us: float
    airtime_us: float
    parts_us: dict[str, float]
    retries: float
    drops: float

    @property
    def link(self) -> Link:
        return self.sender, self.receiver

    @property
    def name(self) -> str:
        return link_name(self.link)


def link_name(link: Link) -> str:
    return f"{link[0]}→{link[1] if link[1] >= 0 else 'all'}"


@dataclass(frozen=True)
class FlowSummary:
    """One flow of a Summary: means over its seeds; None is what no run has."""

    index: int
    kind: str
    src: int
    dst: int
    goodput_bps: Mean | None
    rtt_ms: Mean | None
    cwl_packets: Mean | None
    cwnd_packets: Mean | None
    retransmissions: Mean | None
    timeouts: Mean | None

    @property
    def name(self) -> str:
        return link_name((self.src, self.dst))


@dataclass(frozen=True)
class Summary:
    """One line of the table: a point of the sweep under one policy.

    Means are over the finished runs; over those cut short where none has finished (`interrupted`).
    """

    hops: int
    policy: str
    swept: dict[str, Any]
    flows: list[FlowSummary]
    goodput_bps: Mean | None  # the sum over all flows
    jain: Mean | None  # of the flows' goodputs; None with a single flow, and where no flow got anything
    rtt_ms: Mean | None  # the mean over the TCP flows that have one; the two that follow likewise
    cwl_packets: Mean | None
    cwnd_packets: Mean | None
    retries: float | None
    drops: float | None
    retransmissions: float | None  # sums over the TCP flows; None without any
    timeouts: float | None
    seeds: int  # how many runs the means are over
    seeds_asked: int
    links: list[Hop] = field(default_factory=list)
    interrupted: bool = False

    @property
    def has_tcp(self) -> bool:
        return any(flow.kind == "tcp" for flow in self.flows)

    @property
    def short_of_seeds(self) -> str:
        """How many runs the means are over, in words, where they are not all that were asked for."""
        return f"{self.seeds} of {self.seeds_asked}" if self.seeds < self.seeds_asked else ""

    @property
    def forward(self) -> list[Hop]:
        """The links that carry data, those of the first flow first; all links where nothing says what they carry."""
        return [hop for hop in self.links if hop.direction in ("forward", "both")] or self.links

    @property
    def mean_link(self) -> Hop:
        """The mean of the links of `forward`, weighted by packets. There must be one."""
        links = self.forward
        packets = sum(hop.packets for hop in links) or 1.0

        def weighted(read: Callable[[Hop], float]) -> float:
            return sum(read(hop) * hop.packets for hop in links) / packets

        return replace(
            links[0],
            packets=packets / len(links),
            service_time_us=weighted(lambda hop: hop.service_time_us),
            contention_us=weighted(lambda hop: hop.contention_us),
            airtime_us=weighted(lambda hop: hop.airtime_us),
            parts_us={name: weighted(lambda hop, name=name: hop.parts_us[name]) for name in PARTS},
        )


def data_links(summaries: Iterable[Summary]) -> list[Link]:
    """Every link that carries data in one of the summaries, those of the longest path first: a table's columns."""
    by_length = sorted(summaries, key=lambda summary: -len(summary.forward))
    return list(dict.fromkeys(hop.link for summary in by_length for hop in summary.forward))


def shown_flows(summary: Summary) -> tuple[list[FlowSummary], int]:
    """The flows that a page has lines for, and how many it leaves to flows.parquet: the least and the most of many."""
    if len(summary.flows) <= FLOW_LINES_MAX:
        return summary.flows, 0
    by_goodput = sorted(summary.flows, key=lambda flow: flow.goodput_bps.value if flow.goodput_bps else 0.0)
    half = FLOW_LINES_MAX // 2
    chosen = {flow.index for flow in (*by_goodput[:half], *by_goodput[-half:])}
    return [flow for flow in summary.flows if flow.index in chosen], len(summary.flows) - len(chosen)


def mean(values: Iterable[float | None]) -> Mean | None:
    """The mean of the values that are there, with its interval by Student's t; None if there are none."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return None
    half = 0.0
    if len(numbers) > 1:
        half = student_t(len(numbers) - 1) * statistics.stdev(numbers) / math.sqrt(len(numbers))
    return Mean(statistics.fmean(numbers), half, len(numbers))


@cache
def student_t(freedom: int) -> float:
    """How many standard errors a two-sided 95 % interval reaches, with so many degrees of freedom."""
    # Not scipy.stats, which takes a second to load.
    return float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))


def by_seed(results: Results, name: str = "goodput_bps") -> dict[tuple[Any, ...], dict[int, float]]:
    """The sum over a run's flows of `name`, by seed; the key is (hops, policy, *swept values but topology.hops).

    A flow that has no such value adds nothing, and a run none of whose flows has one is left out of its cell.
    """
    cells: dict[tuple[Any, ...], dict[int, float]] = {}
    for row in results.flows:
        swept = [row[field] for field in row if field.startswith("sweep.") and field != "sweep.topology.hops"]
        key = (row["hops"], row["policy"], *(str(v) if isinstance(v, list | dict) else v for v in swept))
        seeds = cells.setdefault(key, {})
        if row[name] is not None:
            seeds[row["seed"]] = seeds.get(row["seed"], 0.0) + row[name]
    return cells


def gain(cell: dict[int, float], base: dict[int, float]) -> Mean:
    """How much more `cell` has than `base`, 0.2 for 20 %: the mean of each seed's own ratio, less 1."""
    found = mean(cell[seed] / base[seed] - 1 for seed in base if base[seed] > 0)
    assert found is not None
    return found


def summarise(results: Results) -> list[Summary]:
    """One Summary for each point and policy, in the order of the runs; one without any result says so."""
    flows_of = _by_run(results.flows)
    hops_of = _by_run(results.hops)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in results.runs:
        swept = tuple(str(row[name]) for name in row if name.startswith("sweep."))
        groups.setdefault((row["hops"], row["policy"], swept), []).append(row)
    return [_summary(runs, flows_of, hops_of) for runs in groups.values()]


def _by_run(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["run"], []).append(row)
    return found


def _summary(runs: list[Row], flows_of: dict[str, list[Row]], hops_of: dict[str, list[Row]]) -> Summary:
    first = runs[0]
    measured = [row for row in runs if goodput_sum_bps(flows_of.get(row["run"], [])) is not None]
    finished = [row for row in measured if not row["interrupted"]]
    used = finished or measured
    flows = [flows_of[row["run"]] for row in used]
    tcp = [[flow for flow in rows if flow["kind"] == "tcp"] for rows in flows]
    links = _links([hops_of.get(row["run"], []) for row in used])
    return Summary(
        hops=first["hops"],
        policy=first["policy"],
        swept={name.removeprefix("sweep."): first[name] for name in first if name.startswith("sweep.")},
        flows=[_flow([rows[index] for rows in flows]) for index in range(len(flows[0]) if flows else 0)],
        goodput_bps=mean(map(goodput_sum_bps, flows)),
        jain=mean(map(jain_of_flows, flows)),
        rtt_ms=_over_flows(tcp, "rtt_ms"),
        cwl_packets=_over_flows(tcp, "cwl_packets"),
        cwnd_packets=_over_flows(tcp, "cwnd_packets"),
        retries=sum(hop.retries for hop in links) if used else None,
        drops=sum(hop.drops for hop in links) if used else None,
        retransmissions=_total(tcp, "retransmissions"),
        timeouts=_total(tcp, "timeouts"),
        seeds=len(used),
        seeds_asked=len(runs),
        links=links,
        interrupted=bool(used) and not finished,
    )


def _flow(rows: list[Row]) -> FlowSummary:
    """One flow's means over the runs."""
    names = ("goodput_bps", "rtt_ms", "cwl_packets", "cwnd_packets", "retransmissions", "timeouts")
    first = rows[0]
    return FlowSummary(
        first["flow"],
        first["kind"],
        first["src"],
        first["dst"],
        **{name: mean(row[name] for row in rows) for name in names},
    )


def _over_flows(flows: list[list[Row]], name: str) -> Mean | None:
    """Mean over the flows of a run first, so that the interval is one over seeds."""
    return mean(
        statistics.fmean(values) if (values := [r[name] for r in rows if r[name] is not None]) else None
        for rows in flows
    )


def _total(flows: list[list[Row]], name: str) -> float | None:
    """Mean over the runs of the sum over the flows that have a value."""
    sums = [sum(values) for rows in flows if (values := [row[name] for row in rows if row[name] is not None])]
    return statistics.fmean(sums) if sums else None


def _links(hops: list[list[Row]]) -> list[Hop]:
    """Each link's means over the seeds, each direction by itself, weighted by packets, in the first run's order."""
    rows: dict[tuple[int, int, str], list[Row]] = {}
    for run in hops:
        for row in run:
            rows.setdefault((row["from"], row["to"], row["direction"]), []).append(row)
    return [_link(link, len(hops)) for link in rows.values()]


def _link(rows: list[Row], runs: int) -> Hop:
    """@param runs of which those without a row had no packet on this link"""
    packets = sum(row["packets"] or 0.0 for row in rows)

    def weighted(name: str) -> float:
        return sum((row[name] or 0.0) * (row["packets"] or 0.0) for row in rows) / packets if packets else 0.0

    return Hop(
        sender=rows[0]["from"],
        receiver=rows[0]["to"],
        direction=rows[0]["direction"],
        packets=packets / runs,
        service_time_us=weighted("service_time_us"),
        contention_us=weighted("contention_us"),
        airtime_us=weighted("airtime_us"),
        parts_us={name: weighted(f"{name}_us") for name in PARTS},
        retries=sum(row["retries"] or 0.0 for row in rows) / runs,
        drops=sum(row["drops"] or 0.0 for row in rows) / runs,
    )
