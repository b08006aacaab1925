# SPDX-License-Identifier: GPL-2.0-or-later
"""What bench-kernel runs and compares: flows of a TCP over a chain, by place (kernel, ns-3, live), hops and policy.

Every contender has the same seeds, and a gain is the mean of each seed's own ratio with its 95 % interval by Student's
t: runs of a seed share the draws of the medium.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perhop.bound import chain
from perhop.bound.exchange import IPV4_AND_TCP_BYTES, Link
from perhop.bound.hearing import hearing
from perhop.bound.network import Flow, frame_bound
from perhop.experiment.policies import parse_policy
from perhop.study import studies
from perhop.study.outcomes import Study
from perhop.study.plan import make_plan
from perhop.study.results import PARTS, Row
from perhop.study.summaries import Mean, mean

ROOT = Path(__file__).resolve().parents[2]
CHAIN = ROOT / "sim/experiments/kernel_chain"

# As the experiment file calls them: Linux has one Reno, with NewReno's recovery.
TCPS = {"reno": "newreno", "cubic": "cubic", "bbr": "bbr"}
PLACES = {"kernel": "kernel", "ns3": "sim", "live": "live"}
NONE = "none"


@dataclass(frozen=True)
class Sample:
    """One run."""

    goodput_bps: float
    rtt_ms: float | None
    window_packets: float | None
    timeouts: float
    marks: int
    jain: float | None = None  # of the goodputs of several flows
    # Of a chain of one hop: what its source's service time of a packet has of each part, in microseconds.
    parts_us: Mapping[str, float] | None = None


# Of one place: (hops, TCP, policy) and seed.
Key = tuple[int, str, str]
Cells = dict[Key, dict[int, Sample]]


def run(place: str, overrides: Sequence[str], out: Path, jobs: int | None, fresh: bool, tcps: Iterable[str]) -> Cells:
    """The runs of one place, or what is left of them. Raises PerhopError; SystemExit when some are missing."""
    variants = [TCPS.get(name, name) for name in tcps]
    told = [f"flows.0.variant=[{', '.join(variants)}]", "outputs.pcapng=off", *overrides]
    planned = make_plan(CHAIN, told, out=out, backend=PLACES[place])
    done = studies.run(planned, jobs, fresh, check=False)
    demand_complete(done.study, out.name)
    marks = {
        (outcome.run.hops, outcome.run.config["flows"][0]["variant"], outcome.run.policy, outcome.run.seed): int(
            (outcome.result or {}).get("congestion_marks", 0)
        )
        for outcome in done.study.outcomes
    }
    parts = {
        row["run"]: {name: row[f"{name}_us"] or 0.0 for name in PARTS}
        for row in done.results.hops
        if row["hops"] == 1 and row["direction"] == "forward"
    }
    return cells_of(done.results.flows, variants, marks, parts)


def demand_complete(study: Study, name: str) -> None:
    """SystemExit when a run is missing."""
    if study.complete:
        return
    failed = [outcome for outcome in study.outcomes if outcome.status == "failed"]
    why = f": {failed[0].run.label}: {failed[0].message}" if failed else "; start it again to go on"
    raise SystemExit(f"bench-kernel: not all runs of {name} finished{why}")


def cells_of(
    flows: Iterable[Row],
    variants: Sequence[str],
    marks: Mapping[tuple[int, str, str, int], int],
    parts: Mapping[str, Mapping[str, float]],
) -> Cells:
    """From the rows of a study, one a flow; a chain has one. `parts` are by run."""
    names = {variant: name for name, variant in TCPS.items()}
    found: Cells = {}
    for row in flows:
        variant = row.get("sweep.flows.0.variant", variants[0])
        key = (row["hops"], names.get(variant, variant), row["policy"])
        found.setdefault(key, {})[row["seed"]] = Sample(
            goodput_bps=row["goodput_bps"] or 0.0,
            rtt_ms=row["rtt_ms"],
            window_packets=row["cwnd_packets"],
            timeouts=row["timeouts"] or 0.0,
            marks=marks.get((row["hops"], variant, row["policy"], row["seed"]), 0),
            parts_us=parts.get(row["run"]),
        )
    return found


def label(policy: str) -> str:
    """What results call a policy."""
    return parse_policy(policy)[0].label


def goodput(samples: Mapping[int, Sample]) -> Mean:
    found = mean(sample.goodput_bps for sample in samples.values())
    assert found is not None
    return found


def round_trip(samples: Mapping[int, Sample]) -> Mean | None:
    return mean(sample.rtt_ms for sample in samples.values() if sample.rtt_ms is not None)


@dataclass(frozen=True)
class Gain:
    """What a policy does to a TCP: its goodput and its round trip, over those without it."""

    goodput: Mean
    rtt: Mean | None

    @property
    def helps(self) -> bool:
        """More goodput, or a shorter round trip at no loss of goodput that could be seen."""
        more = self.goodput.value - self.goodput.half > 1
        shorter = self.rtt is not None and self.rtt.value + self.rtt.half < 1
        return more or (shorter and self.goodput.value + self.goodput.half >= 1)

    @property
    def costs(self) -> bool:
        """Less goodput, beyond the interval."""
        return self.goodput.value + self.goodput.half < 1


def gain(of: Mapping[int, Sample], over: Mapping[int, Sample]) -> Gain:
    """Raises ValueError when the seeds are not the same, or nothing came through without the policy."""
    if set(of) != set(over) or not of:
        raise ValueError("runs with other seeds cannot be compared")
    if any(sample.goodput_bps <= 0 for sample in over.values()):
        raise ValueError("a run without the policy delivered nothing")
    goodputs = mean(of[seed].goodput_bps / over[seed].goodput_bps for seed in sorted(of))
    timed = [seed for seed in sorted(of) if of[seed].rtt_ms is not None and over[seed].rtt_ms]
    rtts = mean((of[seed].rtt_ms or 0.0) / (over[seed].rtt_ms or 1.0) for seed in timed)
    assert goodputs is not None
    return Gain(goodputs, rtts)


# What is asked of ECN by service time: of the goodput that CUBIC has without it, and of its round trip.
LEAST_ECN_GOODPUT, MOST_ECN_ROUND_TRIP = 0.97, 0.5
ECN_HOPS = (4, 8, 15)


def ecn_holds(found: Gain) -> bool:
    return found.goodput.value >= LEAST_ECN_GOODPUT and found.rtt is not None and found.rtt.value <= MOST_ECN_ROUND_TRIP


SEGMENT_BYTES = 1448
# Linux has time stamps in each packet (RFC 7323); ns-3's TCP has none here.
OPTION_BYTES = {"kernel": 12, "ns3": 0, "live": 12}
SPACING_M = 250.0


def airtime_bound_bps(place: str) -> float:
    """Of one hop, with a TCP ACK for each packet: no TCP that answers each one has more goodput."""
    header_bytes = IPV4_AND_TCP_BYTES + OPTION_BYTES[place]
    link = Link(segment_bytes=SEGMENT_BYTES)
    flow = Flow(0, 1, ((0, 1),), link, SEGMENT_BYTES, SEGMENT_BYTES + header_bytes, 1, header_bytes)
    heard = hearing(dict(chain.MEDIUM), [(0.0, 0.0), (SPACING_M, 0.0)], link.profile)
    return frame_bound([flow], heard).bound


def of_airtime_bound(places: Mapping[str, Cells]) -> dict[str, dict[str, float]]:
    """The share of it that each TCP has over one hop, by place."""
    found: dict[str, dict[str, float]] = {}
    for place, cells in places.items():
        for (hops, tcp, policy), samples in cells.items():
            if hops == 1 and policy == label(NONE):
                found.setdefault(place, {})[tcp] = round(goodput(samples).value / airtime_bound_bps(place), 4)
    return found


@dataclass(frozen=True)
class HopTime:
    """Where the time of one hop goes, in microseconds a packet: of a source that always has one, or of the bound."""

    period_us: float
    idle_us: float  # inter-frame spaces and back-off
    data_us: float  # RTS, CTS, DATA, MAC ACK
    unanswered_us: float  # RTS that began together with another one

    @property
    def rest_us(self) -> float:
        """The exchanges of TCP ACKs."""
        return self.period_us - self.idle_us - self.data_us - self.unanswered_us


def hop_time(samples: Mapping[int, Sample]) -> HopTime | None:
    """Means over seeds; None where runs do not tell."""
    told = [(sample.goodput_bps, sample.parts_us) for sample in samples.values() if sample.parts_us is not None]
    if not told:
        return None
    rts_us = Link().frames(SEGMENT_BYTES)[0].airtime_us
    return HopTime(
        period_us=statistics.fmean(8e6 * SEGMENT_BYTES / bps for bps, _ in told),
        idle_us=statistics.fmean(of["ifs"] + of["backoff"] for _, of in told),
        data_us=statistics.fmean(rts_us + of["data"] + of["response"] for _, of in told),
        unanswered_us=statistics.fmean(of["control"] - rts_us + of["timeout"] for _, of in told),
    )


def bound_time(place: str) -> HopTime:
    """What the airtime bound of one hop has in the place of each."""
    header_bytes = IPV4_AND_TCP_BYTES + OPTION_BYTES[place]
    link = Link(segment_bytes=SEGMENT_BYTES)
    data_us, tcp_ack_us = (
        link.exchange_us(ip_bytes) - link.idle_before_us for ip_bytes in (SEGMENT_BYTES + header_bytes, header_bytes)
    )
    period_us = 8e6 * SEGMENT_BYTES / airtime_bound_bps(place)
    return HopTime(period_us, period_us - data_us - tcp_ack_us, data_us, 0.0)


@dataclass(frozen=True)
class Spread:
    """Kernels in virtual time beside live runs of the same: medians, and the least and the most of the live ones."""

    kernel_bps: float
    least_bps: float
    live_bps: float
    most_bps: float

    @property
    def within(self) -> bool:
        return self.least_bps <= self.kernel_bps <= self.most_bps


def spread(kernel: Mapping[int, Sample], live: Mapping[int, Sample]) -> Spread:
    rates = [sample.goodput_bps for sample in live.values()]
    return Spread(
        statistics.median(sample.goodput_bps for sample in kernel.values()),
        min(rates),
        statistics.median(rates),
        max(rates),
    )


def spreads(places: Mapping[str, Cells]) -> dict[tuple[int, str], Spread]:
    """Of each cell without a policy that was run live, too."""
    return {
        key[:2]: spread(places["kernel"][key], samples)
        for key, samples in places.get("live", {}).items()
        if key[2] == label(NONE) and key in places["kernel"]
    }


def within_live(places: Mapping[str, Cells]) -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    for (hops, tcp), each in spreads(places).items():
        found.setdefault(str(hops), {})[tcp] = each.within
    return found


def beside(cells: Cells, tcp: str, policy: str) -> dict[str, dict[str, float]]:
    """A policy over the hops where it was run, and over the same TCP without one: goodput, round trip."""
    found = {}
    for (hops, name, under), samples in cells.items():
        base = cells.get((hops, tcp, label(NONE)))
        if name != tcp or under != policy or base is None:
            continue
        rtt, gained = round_trip(samples), gain(samples, base)
        found[str(hops)] = {
            "bps": round(goodput(samples).value),
            "rtt_ms": round(rtt.value, 1) if rtt else 0.0,
            "goodput": round(gained.goodput.value, 4),
            "rtt": round(gained.rtt.value, 4) if gained.rtt else 0.0,
        }
    return found


def table(places: Mapping[str, Cells], tcps: Iterable[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """`rows` of the RESULT line: hops, TCP, and what each place has, null where it was not run."""
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    hops = sorted({key[0] for cells in places.values() for key in cells})
    for count in hops:
        for tcp in tcps:
            row = rows.setdefault(str(count), {}).setdefault(tcp, {})
            for place in PLACES:
                samples = places.get(place, {}).get((count, tcp, label(NONE)))
                value = goodput(samples) if samples else None
                row[f"{place}_bps"] = round(value.value) if value else None
                row[f"{place}_bps_95"] = round(value.half) if value and value.count > 1 else None
                rtt = round_trip(samples) if samples else None
                row[f"{place}_rtt_ms"] = round(rtt.value, 1) if rtt else None
    return rows
