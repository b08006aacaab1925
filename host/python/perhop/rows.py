# SPDX-License-Identifier: GPL-2.0-or-later
"""Summary rows: one for each point of the sweep and policy, averaged over seeds with a 95 % interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from perhop.results import PARTS, Results, Row

# Two-sided 95 % quantiles of Student's t for 1..30 degrees of freedom (beyond: the normal's 1.96).
STUDENT_T_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


@dataclass(frozen=True)
class Mean:
    """A mean over seeds; `half` is the half width of its 95 % interval, 0 with a single seed."""

    value: float
    half: float
    count: int


@dataclass(frozen=True)
class Hop:
    """Means of one hop over the seeds, all for a packet that left the head of the queue, in microseconds."""

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


@dataclass(frozen=True)
class Summary:
    """One line of the table: a point of the sweep under one policy."""

    hops: int
    policy: str
    swept: dict[str, Any]
    flow_count: int
    goodput_bps: Mean  # of all flows together
    rtt_ms: Mean | None
    cwl_packets: Mean | None
    cwnd_packets: Mean | None
    retries: float
    drops: float
    retransmissions: float
    timeouts: float
    links: list[Hop] = field(default_factory=list)
    interrupted: bool = False

    @property
    def forward(self) -> list[Hop]:
        """The hops of the first TCP flow in its direction, or all hops of MAC-level traffic, in path order."""
        return [hop for hop in self.links if hop.direction == "forward"] or self.links

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


def mean(values: Iterable[float | None]) -> Mean | None:
    """The mean of the values that are there, with its interval by Student's t; None if there are none."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return None
    half = 0.0
    if len(numbers) > 1:
        freedom = len(numbers) - 1
        quantile = STUDENT_T_95[freedom - 1] if freedom <= len(STUDENT_T_95) else 1.96
        half = quantile * statistics.stdev(numbers) / math.sqrt(len(numbers))
    return Mean(statistics.fmean(numbers), half, len(numbers))


def by_seed(results: Results, name: str = "goodput_bps") -> dict[tuple[Any, ...], dict[int, float]]:
    """The sum over a run's flows of `name`, by seed; the key is (hops, policy, *swept values but topology.hops)."""
    cells: dict[tuple[Any, ...], dict[int, float]] = {}
    for row in results.flows:
        swept = [row[field] for field in row if field.startswith("sweep.") and field != "sweep.topology.hops"]
        key = (row["hops"], row["policy"], *(str(v) if isinstance(v, list | dict) else v for v in swept))
        seeds = cells.setdefault(key, {})
        seeds[row["seed"]] = seeds.get(row["seed"], 0.0) + (row[name] or 0.0)
    return cells


def gain(cell: dict[int, float], base: dict[int, float]) -> Mean:
    """How much more `cell` has than `base`, 0.2 for 20 %: the mean of each seed's own ratio, less 1."""
    found = mean(cell[seed] / base[seed] - 1 for seed in base if base[seed] > 0)
    assert found is not None
    return found


def summarise(results: Results) -> list[Summary]:
    """One Summary for each point and policy, in the order of the runs."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    flows_of: dict[str, list[Row]] = {}
    for row in results.flows:
        flows_of.setdefault(row["run"], []).append(row)
    for run, rows in flows_of.items():
        swept = tuple(str(rows[0][name]) for name in rows[0] if name.startswith("sweep."))
        groups.setdefault((rows[0]["hops"], rows[0]["policy"], swept), []).append(run)
    hops_of: dict[str, list[Row]] = {}
    for row in results.hops:
        hops_of.setdefault(row["run"], []).append(row)
    return [
        _summary([flows_of[run] for run in runs], [hops_of.get(run, []) for run in runs]) for runs in groups.values()
    ]


def _summary(flows: list[list[Row]], hops: list[list[Row]]) -> Summary:
    first = flows[0][0]
    tcp = [[row for row in rows if row["kind"] == "tcp"] for rows in flows]
    links = _links(hops)
    goodput = mean(sum(row["goodput_bps"] or 0.0 for row in rows) for rows in flows)
    assert goodput is not None
    return Summary(
        hops=first["hops"],
        policy=first["policy"],
        swept={name.removeprefix("sweep."): first[name] for name in first if name.startswith("sweep.")},
        flow_count=len(flows[0]),
        goodput_bps=goodput,
        rtt_ms=_over_flows(tcp, "rtt_ms"),
        cwl_packets=_over_flows(tcp, "cwl_packets"),
        cwnd_packets=_over_flows(tcp, "cwnd_packets"),
        retries=sum(hop.retries for hop in links),
        drops=sum(hop.drops for hop in links),
        retransmissions=_total(tcp, "retransmissions"),
        timeouts=_total(tcp, "timeouts"),
        links=links,
        interrupted=any(row["interrupted"] for rows in flows for row in rows),
    )


def _over_flows(flows: list[list[Row]], name: str) -> Mean | None:
    """Mean over the flows of a run first, so that the interval is one over seeds."""
    return mean(
        statistics.fmean(values) if (values := [r[name] for r in rows if r[name] is not None]) else None
        for rows in flows
    )


def _total(flows: list[list[Row]], name: str) -> float:
    return statistics.fmean(sum(row[name] or 0.0 for row in rows) for rows in flows)


def _links(hops: list[list[Row]]) -> list[Hop]:
    """Each link's means over the seeds, weighted by packets; the first run gives the order."""
    rows: dict[tuple[int, int], list[Row]] = {}
    for run in hops:
        for row in run:
            rows.setdefault((row["from"], row["to"]), []).append(row)
    return [_link(link) for link in rows.values()]


def _link(rows: list[Row]) -> Hop:
    packets = sum(row["packets"] or 0.0 for row in rows)

    def weighted(name: str) -> float:
        return sum((row[name] or 0.0) * (row["packets"] or 0.0) for row in rows) / packets if packets else 0.0

    return Hop(
        sender=rows[0]["from"],
        receiver=rows[0]["to"],
        direction=rows[0]["direction"],
        packets=packets / len(rows),
        service_time_us=weighted("service_time_us"),
        contention_us=weighted("contention_us"),
        airtime_us=weighted("airtime_us"),
        parts_us={name: weighted(f"{name}_us") for name in PARTS},
        retries=statistics.fmean(row["retries"] or 0.0 for row in rows),
        drops=statistics.fmean(row["drops"] or 0.0 for row in rows),
    )
