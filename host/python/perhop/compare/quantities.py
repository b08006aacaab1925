# SPDX-License-Identifier: GPL-2.0-or-later
"""What is compared of a run: the same numbers that the report of an experiment has means of."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perhop.report.beside import service_ms
from perhop.study.results import Results, Row
from perhop.study.summaries import Mean, Summary, shown_flows, summarise


@dataclass(frozen=True)
class Measured:
    """One run: its numbers as a summary of it alone, and its flows."""

    summary: Summary
    flows: list[Row]


Read = Callable[[Measured], float | None]


@dataclass(frozen=True)
class Quantity:
    """One number of a run. `factor` and `digits` show it in `unit`; `flow` is empty where it is of all flows."""

    name: str
    title: str
    unit: str
    unit_of_value: str
    factor: float
    digits: int
    read: Read
    flow: str = ""

    def shown(self, value: float, sign: bool = False) -> str:
        return f"{value * self.factor:{'+' if sign else ''}.{self.digits}f}"


def measured_runs(results: Results) -> dict[str, Measured]:
    """Each run that has results, by its id."""
    flows, hops = _by_run(results.flows), _by_run(results.hops)
    return {
        row["run"]: Measured(
            summarise(Results(flows[row["run"]], hops.get(row["run"], []), [], [row]))[0], flows[row["run"]]
        )
        for row in results.runs
        if row["run"] in flows
    }


def quantities(a: Sequence[Measured], b: Sequence[Measured]) -> list[Quantity]:
    """What can be read of a run on both sides."""
    flows, _ = shown_flows(a[0].summary)
    several = len(a[0].summary.flows) > 1
    found = [
        Quantity(
            "goodput_bps",
            "Goodput, sum of all flows" if several else "Goodput",
            "kb/s",
            "b/s",
            1e-3,
            1,
            _of("goodput_bps"),
        ),
        Quantity("rtt_ms", "Round-trip time", "ms", "ms", 1, 1, _of("rtt_ms")),
        Quantity("delay_ms", "One-way delay", "ms", "ms", 1, 1, _over_flows("delay_ms")),
        Quantity("loss_share", "Packets lost", "%", "", 100, 2, _over_flows("loss_share")),
        Quantity("jain", "Jain's index", "", "", 1, 3, _of("jain")),
        Quantity("cwnd_packets", "Congestion window", "packets", "packets", 1, 2, _of("cwnd_packets")),
        Quantity("retransmissions", "TCP resends", "packets", "packets", 1, 1, lambda run: run.summary.retransmissions),
        Quantity("timeouts", "TCP timeouts", "", "", 1, 1, lambda run: run.summary.timeouts),
        Quantity("service_ms", "Service time, all hops", "ms", "ms", 1, 2, lambda run: _value(service_ms(run.summary))),
        Quantity("retries", "MAC retries", "frames", "frames", 1, 0, lambda run: run.summary.retries),
        Quantity("drops", "MAC drops", "packets", "packets", 1, 1, lambda run: run.summary.drops),
    ]
    if several:
        for flow in flows:
            found += [
                Quantity(
                    "goodput_bps",
                    f"Goodput {flow.name}",
                    "kb/s",
                    "b/s",
                    1e-3,
                    1,
                    _flow(flow.index, "goodput_bps"),
                    flow.name,
                ),
                Quantity(
                    "rtt_ms", f"Round-trip time {flow.name}", "ms", "ms", 1, 1, _flow(flow.index, "rtt_ms"), flow.name
                ),
            ]
    return [each for each in found if all(any(each.read(run) is not None for run in side) for side in (a, b))]


def _of(name: str) -> Read:
    return lambda run: _value(getattr(run.summary, name))


def _over_flows(name: str) -> Read:
    def read(run: Measured) -> float | None:
        values = [row[name] for row in run.flows if row[name] is not None]
        return statistics.fmean(values) if values else None

    return read


def _flow(index: int, name: str) -> Read:
    return lambda run: next((_value(getattr(flow, name)) for flow in run.summary.flows if flow.index == index), None)


def _value(mean: Mean | None) -> float | None:
    return mean.value if mean is not None else None


def _by_run(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["run"], []).append(row)
    return found
