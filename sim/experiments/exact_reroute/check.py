# SPDX-License-Identifier: GPL-2.0-or-later
"""Row X-14: how soon after a re-route the sender knows the least allocation of its new path."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from perhop.report.figures import COLOURS, drawing
from perhop.study import exact_logs
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

FIRST_EVENT_S, PERIOD_S, EVENTS = 4.0, 2.1, 46
FLOW = 0
FEEDBACK_INTERVAL_MS = 200.0  # exact_receiver: the latest that a report waits
SETTLED = 0.10
PERCENTILE = 95


@dataclass(frozen=True)
class Reroute:
    """One change of the path. None: it never came before the next change."""

    learnt_ms: float | None  # from the first packet that takes the new path to the sender's using its rate
    round_trip_ms: float  # of that packet and its report, without waiting for it
    settled_ms: float | None  # from the event until the signal stays within 10 % of where it ends up


def reroutes(run: Path, round_trip_ms: float) -> list[Reroute]:
    """What the records of a run say of each change."""
    series = exact_logs.signals(run)[FLOW]
    source, sink = 0, 3
    sent: list[tuple[int, int, int]] = []  # t_us, sequence, first hop's allocation
    arrived: dict[int, int] = {}  # sequence -> rate that arrived
    hops: dict[int, int] = {}
    for packet in exact_logs.packets(run):
        if packet.flow != FLOW:
            continue
        if packet.node == source:
            sent.append((packet.t_us, packet.sequence, packet.sent_bps))
        if packet.node == sink:
            arrived[packet.sequence] = packet.arrived_bps
        else:
            hops[packet.sequence] = hops.get(packet.sequence, 0) + 1
    found = []
    for index in range(EVENTS):
        at_us = round((FIRST_EVENT_S + index * PERIOD_S) * 1e6)
        end_us = at_us + round(PERIOD_S * 1e6)
        new_hops = 4 if index % 2 == 0 else 3
        stage = [(t_us, sequence) for t_us, sequence, _ in sent if at_us <= t_us < end_us]
        if not stage:
            found.append(Reroute(None, round_trip_ms, None))
            continue
        rates = {arrived[sequence] for _, sequence in stage if sequence in arrived and hops[sequence] == new_hops}
        told = [
            signal
            for signal in series
            if stage[0][0] <= signal.t_us < end_us and signal.hops == new_hops and signal.signal_bps in rates
        ]
        learnt = (told[0].t_us - stage[0][0]) / 1e3 if told else None
        last = exact_logs.at(series, end_us - 1)
        settled = None
        if last is not None and last.hops == new_hops:
            settled = 0.0
            for signal in series:
                off = signal.hops != new_hops or abs(signal.signal_bps / last.signal_bps - 1) > SETTLED
                if at_us <= signal.t_us < end_us and off:
                    settled = None
                elif at_us <= signal.t_us < end_us and settled is None:
                    settled = (signal.t_us - at_us) / 1e3
        found.append(Reroute(learnt, round_trip_ms, settled))
    return found


def check(results: Results | None, folder: Path) -> Check:
    """Learnt within a round trip and a feedback interval at the 95th percentile, under M2 and M1."""
    assert results is not None
    found: dict[str, list[Reroute]] = {}
    for row in results.flows:
        if row["flow"] == FLOW:
            run = exact_logs.run_folder(folder, row)
            found.setdefault(row["sweep.exact.mode"], []).extend(reroutes(run, row["rtt_ms"]))

    lines = []
    numbers: dict[str, object] = {}
    p95: dict[str, float] = {}
    within: dict[str, float] = {}
    bound: dict[str, float] = {}
    settled_p50: dict[str, float] = {}
    for mode, changes in found.items():
        learnt = sorted(change.learnt_ms if change.learnt_ms is not None else 1e9 for change in changes)
        settled = sorted(change.settled_ms if change.settled_ms is not None else 1e9 for change in changes)
        round_trip_ms = statistics.fmean(change.round_trip_ms for change in changes)
        p95[mode] = percentile(learnt, PERCENTILE)
        settled_p50[mode] = percentile(settled, 50)
        bound[mode] = round_trip_ms + FEEDBACK_INTERVAL_MS
        within[mode] = sum(value <= round_trip_ms for value in learnt) / len(learnt)
        lines.append(
            f"{mode.upper()}: {len(changes)} re-routes; the new path's rate is known {percentile(learnt, 50):.0f} ms "
            f"after the first packet on it (median), {p95[mode]:.0f} ms (95th percentile); mean round trip "
            f"{round_trip_ms:.0f} ms, with a feedback interval {bound[mode]:.0f} ms; within the round trip alone: "
            f"{within[mode]:.0%}; the signal stays within {SETTLED:.0%} of its end after "
            f"{percentile(settled, 50):.0f} ms (median), {percentile(settled, PERCENTILE):.0f} ms (95th percentile)"
        )
        numbers[mode] = {
            "reroutes": len(changes),
            "learnt_p95_ms": round(p95[mode], 1),
            "round_trip_ms": round(round_trip_ms, 1),
            "settled_p95_ms": round(percentile(settled, PERCENTILE), 1),
        }

    figure = folder / "X-14_exact_reroute.svg"
    with drawing(figure, columns=2) as (_, (left, right)):
        for index, (mode, changes) in enumerate(found.items()):
            learnt = sorted(change.learnt_ms for change in changes if change.learnt_ms is not None)
            shares = [100 * (place + 1) / len(changes) for place in range(len(learnt))]
            left.step(learnt, shares, where="post", color=COLOURS[index], label=f"{mode.upper()}, known")
            left.axvline(bound[mode], color=COLOURS[index], linestyle=":", label=f"{mode.upper()}, round trip + 200 ms")
        left.axhline(PERCENTILE, color="#7F7F7F", linewidth=1)
        left.set_title("Time until the sender knows its new path's rate", loc="left")
        left.set_xlabel("ms after the first packet on the new path")
        left.set_ylabel("% of the re-routes")
        left.set_xlim(0, 1.5 * max(bound.values()))
        left.legend(loc="lower right")
        row = next(row for row in results.flows if row["flow"] == FLOW and row["sweep.exact.mode"] == "m2")
        series = [s for s in exact_logs.signals(exact_logs.run_folder(folder, row))[FLOW] if 3e6 < s.t_us < 17e6]
        right.step([s.t_us / 1e6 for s in series], [s.signal_bps / 1e3 for s in series], where="post", color=COLOURS[0])
        for index in range(6):
            right.axvline(FIRST_EVENT_S + index * PERIOD_S, color="#C9D1D9", linewidth=1)
        right.set_title("Rate signal at the sender, M2; lines: re-routes", loc="left")
        right.set_xlabel("s")
        right.set_ylabel("kb/s")
        right.set_ylim(bottom=0)
    verdict = judged(p95, bound, {mode: len(changes) for mode, changes in found.items()}, settled_p50, "; ".join(lines))
    return Check(verdict.verdict == "pass", lines, numbers, [figure], {"X-14": verdict})


def judged(
    p95: dict[str, float],
    bound: dict[str, float],
    count: dict[str, int],
    settled_p50: dict[str, float],
    evidence: str,
) -> RowVerdict:
    """Both ways to allocate have to hold."""
    holds = all(mode in p95 and p95[mode] <= bound[mode] for mode in ("m2", "m1"))
    words = [
        f"{mode.upper()} {p95[mode]:.0f} ms of {bound[mode]:.0f} ms allowed ({count[mode]} re-routes; within "
        f"{SETTLED:.0%} of the final rate after {settled_p50[mode]:.0f} ms, median)"
        for mode in p95
    ]
    return RowVerdict(
        "pass" if holds else "finding",
        f"known after the first packet on the new path at the {PERCENTILE}th percentile, allowed a round trip and a "
        f"feedback interval: {'; '.join(words)}",
        evidence=evidence,
    )


def percentile(ordered: list[float], share: float) -> float:
    """The value that `share` percent of the values do not exceed."""
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)]
