# SPDX-License-Identifier: GPL-2.0-or-later
"""EXACT's design over a deterministic network of its routers, senders and receivers (rows E-01 to E-09).

No MAC and no chance: sim/exact says what its medium is. What gateware and air add is in the experiments over sim/ns3.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from perhop.study import exact_studies
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

PROGRAMS = (exact_studies.PROGRAM,)
FEEDBACK_INTERVAL_S = 0.2
MODES = ("m1", "m2")
SOFT_STATE_S = 5.0


def check(results: Results | None, folder: Path) -> Check:
    """Hold what the studies measured to the bounds of the rows."""
    found = exact_studies.run(
        *(
            "water_filling",
            "budget",
            "reroute",
            "join_leave",
            "mixed_rate",
            "surplus",
            "soft_state",
            "lost_reports",
            "liar",
        )
    )
    rows = {
        "E-01": water_filling(found["water_filling"]),
        "E-02": budget(found["budget"]),
        "E-03": reroute(found["reroute"]),
        "E-04": join_leave(found["join_leave"]),
        "E-05": mixed_rate(found["mixed_rate"]),
        "E-06": surplus(found["surplus"]),
        "E-07": soft_state(found["soft_state"]),
        "E-08": lost_reports(found["lost_reports"]),
        "E-09": liar(found["liar"]),
    }
    lines = [f"{name}: {row.verdict}: {row.measured}" for name, row in rows.items()]
    return Check(all(row.verdict == "pass" for row in rows.values()), lines, found, rows=rows)


def verdict(holds: bool, measured: str) -> RowVerdict:
    """A pass or a fail."""
    return RowVerdict("pass" if holds else "fail", measured)


def water_filling(found: dict[str, Any]) -> RowVerdict:
    """The shares are those of a linear program."""
    error = found["largest_error"]
    return verdict(
        found["instances"] >= 1000 and error <= 1e-9,
        f"largest relative error {error:.1e} over {found['instances']} instances, half of them with several budgets",
    )


def budget(found: dict[str, Any]) -> RowVerdict:
    """No sum of cost times allocation above the budget."""
    load = {mode: found[mode]["largest_load"] for mode in MODES}
    checks = sum(found[mode]["checks"] for mode in MODES)
    return verdict(
        max(load.values()) <= 1 + 1e-9,
        f"largest share of the budget M1 {load['m1']:.6f}, M2 {load['m2']:.6f} "
        f"after {checks:,} random and hostile packets",
    )


def reroute(found: dict[str, Any]) -> RowVerdict:
    """One round trip and a feedback interval, at the 95th percentile."""
    excess = sorted(a - b for a, b in zip(found["learned_s"], found["round_trip_s"], strict=True))
    learned = sorted(found["learned_s"])
    at = math.ceil(0.95 * len(excess)) - 1
    within = sum(value <= 0 for value in excess) / len(excess)
    return verdict(
        excess[at] <= FEEDBACK_INTERVAL_S,
        f"{len(excess)} re-routes: p95 {1e3 * learned[at]:.0f} ms, one round trip {excess[at] * 1e3:+.0f} ms "
        f"(200 ms allowed for feedback); {within:.0%} within one round trip",
    )


def join_leave(found: dict[str, Any]) -> RowVerdict:
    """Two round trips and an interval, for a join and for a leave."""
    holds, words = True, []
    for mode in MODES:
        bound = 2 * found[mode]["round_trip_s"] + found[mode]["interval_s"]
        join, leave = max(found[mode]["join_s"]), max(found[mode]["leave_s"])
        holds &= join <= bound and leave <= bound
        words.append(
            f"{mode.upper()} join {join * 1e3:.0f} ms, leave {leave * 1e3:.0f} ms (2 RTT + Tc = {bound * 1e3:.0f} ms)"
        )
    return verdict(holds, "; ".join(words))


def mixed_rate(found: dict[str, Any]) -> RowVerdict:
    """Equal rates in one mode, equal time in the other."""
    holds = all(abs(found[m]["rate_ratio"] - 1) <= 0.02 and abs(found[m]["time_ratio"] - 1) <= 0.05 for m in MODES)
    words = [f"{m.upper()} rates {found[m]['rate_ratio']:.3f}, times {found[m]['time_ratio']:.3f}" for m in MODES]
    return verdict(holds, "2 over 11 Mb/s: " + "; ".join(words))


def surplus(found: dict[str, Any]) -> RowVerdict:
    """The other flow gets what the limited one leaves."""
    holds = all(found[m]["greedy_share"] >= 0.95 and found[m]["later_share"] >= 0.9 for m in MODES)
    words = [
        f"{m.upper()} {found[m]['greedy_share']:.1%} of the optimum, given back in {found[m]['regained_s']:.2f} s"
        for m in MODES
    ]
    return verdict(holds, "; ".join(words))


def soft_state(found: dict[str, Any]) -> RowVerdict:
    """Gone 5 s after the last packet of the last of them."""
    return verdict(
        found["quick_flows_s"] <= SOFT_STATE_S and found["slow_flows_s"] <= SOFT_STATE_S,
        f"1000 flows gone after {found['quick_flows_s']:.2f} s; with 2 s "
        f"between packets after {found['slow_flows_s']:.2f} s",
    )


def lost_reports(found: list[dict[str, Any]]) -> RowVerdict:
    """Never more under way than the safety window."""
    sent, violations = sum(run["sent"] for run in found), sum(run["window_violations"] for run in found)
    lost = sum(run["lost"] for run in found) / sum(run["reports"] for run in found)
    share = min(run["rate_share"] for run in found)
    return verdict(
        violations == 0 and sent > 1000,
        f"{violations} sends beyond the window in {sent:,} packets, {lost:.0%} "
        f"of the reports lost; rate {share:.0%} of the optimum",
    )


def liar(found: dict[str, list[dict[str, Any]]]) -> RowVerdict:
    """Nothing is gained by a false current rate, not even what M1's rates swing by themselves."""
    gain = {mode: max(run["gain"] for run in found[mode]) for mode in MODES}
    other = -max(found["m1"], key=lambda run: run["gain"])["harm"]
    return RowVerdict(
        "pass" if max(gain.values()) <= 0 else "finding",
        f"largest gain M1 {gain['m1']:+.2%}, M2 {gain['m2']:+.2%}, for claims of 12 kb/s, 11 Mb/s and 4.4 Tb/s",
        evidence="The study has no chance: M2's rates stand still, and a claim above the own rate changes none. "
        "M1's rates swing with the service times that they cause, and one other packet shifts their mean over 10 s. "
        f"An honest flow beside the liar has {other:+.2%} more than without it.",
    )
