# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 8 of paper 000: the window limit by hops and by delay (rows B-13 to B-15)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perhop import core
from perhop.report.figures import COLOURS, drawing, means_line
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, by_seed, gain, mean

LONG_FROM = 18  # round-trip hops
LONG_DIFFERENCE_MOST = 1.0
MIDDLE = range(10, 17)
FLOOR_AT = (2, 4)
RATIO_LEAST, RATIO_MOST = 0.9, 1.1
FILL_LEAST, FILL_MOST = 0.85, 1.0
ROUNDING = 1e-9


@dataclass(frozen=True)
class Chain:
    """What one chain did, by policy's label."""

    hops: int
    rates: Mapping[str, Mean]
    limits: Mapping[str, Mean]
    windows: Mapping[str, Mean]
    ratio: Mean  # of packets/s, delay over hop, seed by seed
    in_flight: Mapping[str, float]  # mean, by Little's law
    most_in_flight_by_hops: float  # at any time of any seed, under the limit by hops, which is constant

    @property
    def round_trip_hops(self) -> int:
        return 2 * self.hops


def check(results: Results | None, folder: Path) -> Check:
    """The three figures' claims; see the rows."""
    assert results is not None
    rates, limits, windows = (by_seed(results, name) for name in ("packets_per_s", "cwl_packets", "cwnd_packets"))
    rtts_ms, most = by_seed(results, "rtt_ms"), by_seed(results, "max_packets_in_flight")
    policies = list(dict.fromkeys(policy for _, policy in rates))
    chains = [
        Chain(
            hops,
            {policy: mean(rates[hops, policy].values()) for policy in policies},
            {policy: mean(limits[hops, policy].values()) for policy in policies},
            {policy: mean(windows[hops, policy].values()) for policy in policies},
            gain(rates[hops, "delay"], rates[hops, "hop"]),
            {policy: _in_flight(rates[hops, policy], rtts_ms[hops, policy]) for policy in ("hop", "delay")},
            max(most[hops, "hop"].values()),
        )
        for hops in sorted({hops for hops, _ in rates})
    ]
    lines = [
        f"{'N':>2}   CWL hop, delay   packets/s hop, delay, ratio   mean window / CWL hop, delay   fixed 1, 2, h/4, 8"
    ]
    for chain in chains:
        fixed = ("cwl 1", "cwl 2", f"cwl {_quarter(chain.hops)}", "cwl 8")
        lines.append(
            f"{chain.round_trip_hops:>2}   {chain.limits['hop'].value:7.2f} {chain.limits['delay'].value:6.2f}   "
            f"{chain.rates['hop'].value:13.1f} {chain.rates['delay'].value:6.1f} {1 + chain.ratio.value:6.3f}   "
            f"{_fill(chain, 'hop'):19.3f} {_fill(chain, 'delay'):6.3f}    "
            + " ".join(f"{chain.rates[policy].value:6.1f}" for policy in fixed)
        )
    rows = {"B-13": _limits(chains), "B-14": _throughput(chains), "B-15": _windows(chains)}
    lines += [f"{row}: {verdict.measured}: {verdict.verdict}" for row, verdict in rows.items()]
    figures = [folder / "B-13_fig8a.svg", folder / "B-14_fig8b.svg", folder / "B-15_fig8c.svg"]
    _draw(figures[0], chains, "limits", "Fig. 8a: mean limit", "packets")
    _draw(figures[1], chains, "rates", "Fig. 8b: throughput", "packets/s")
    _draw(figures[2], chains, "windows", "Fig. 8c: mean congestion window", "packets")
    return Check(all(row.verdict != "fail" for row in rows.values()), lines, {}, figures, rows)


def _in_flight(rates: Mapping[int, float], rtts_ms: Mapping[int, float]) -> float:
    return statistics.fmean(rates[seed] * rtts_ms[seed] / 1e3 for seed in rtts_ms)


def _fill(chain: Chain, policy: str) -> float:
    return chain.windows[policy].value / chain.limits[policy].value


def _quarter(hops: int) -> int:
    """h/4 in whole packets, at least 1."""
    return max(1, int(hops / 4 + 0.5))


def _limits(chains: list[Chain]) -> RowVerdict:
    wrong, long = [], []
    for chain in chains:
        n, hop, delay = chain.round_trip_hops, chain.limits["hop"].value, chain.limits["delay"].value
        if n >= LONG_FROM:
            long.append(abs(delay - hop))
            if long[-1] > LONG_DIFFERENCE_MOST:
                wrong.append(f"N = {n}: {delay:.2f} by delay, {hop:.2f} by hops")
        if n in MIDDLE and delay > hop + ROUNDING:
            wrong.append(f"N = {n}: {delay:.2f} by delay is above {hop:.2f} by hops")
        if n in FLOOR_AT and abs(delay - 1) > ROUNDING:
            wrong.append(f"N = {n}: {delay:.2f} by delay, not the floor of 1")
    text = "; ".join(
        f"N = {chain.round_trip_hops}: {chain.limits['hop'].value:.2f}, {chain.limits['delay'].value:.2f}"
        for chain in chains
    )
    measured = f"mean limit by hops, by delay: {text}; difference at most {max(long):.2f} for N >= {LONG_FROM}"
    return RowVerdict(
        "fail" if wrong else "pass", "; ".join([*wrong, measured]), _interval(chains, "limits", "packets")
    )


def _throughput(chains: list[Chain]) -> RowVerdict:
    ratios = {chain.hops: 1 + chain.ratio.value for chain in chains if chain.hops >= 3}
    outside = [hops for hops, ratio in ratios.items() if not RATIO_LEAST <= ratio <= RATIO_MOST]
    text = ", ".join(f"{hops}: {ratio:.3f}" for hops, ratio in ratios.items())
    widest = max(chain.ratio.half for chain in chains if chain.hops >= 3)
    interval = (
        f"{chains[0].ratio.count} seeds; largest 95 % half width {widest:.3f}" if chains[0].ratio.count > 1 else ""
    )
    return RowVerdict("fail" if outside else "pass", f"packets/s by delay over by hops at h = {text}", interval)


def _windows(chains: list[Chain]) -> RowVerdict:
    """The mean window fills at least 0.85 of the mean limit, and no more packets are in flight than the limit.

    The window that is measured is the smaller one of TCP's and the advertised one, which the limit lowers: it cannot
    exceed the limit, whatever TCP does. So the upper half is judged by what is in flight, counted by sequence numbers.
    """
    fills = {(chain.hops, policy): _fill(chain, policy) for chain in chains for policy in ("hop", "delay")}
    wrong = [
        f"{hops} hops, {policy}: {fill:.3f}"
        for (hops, policy), fill in fills.items()
        if not FILL_LEAST <= fill <= FILL_MOST + ROUNDING
    ]
    wrong += [
        f"{chain.hops} hops: {chain.most_in_flight_by_hops:.0f} packets in flight under a limit of "
        f"{chain.limits['hop'].value:g}"
        for chain in chains
        if chain.most_in_flight_by_hops > chain.limits["hop"].value + ROUNDING
    ]
    in_flight = [
        chain.in_flight[policy] / chain.limits[policy].value for chain in chains for policy in ("hop", "delay")
    ]
    measured = (
        f"mean window over mean limit {min(fills.values()):.3f} to {max(fills.values()):.3f}, of which the upper half "
        "holds by construction; by hops never more packets in flight than the limit; throughput times round trip over "
        f"mean limit {min(in_flight):.3f} to {max(in_flight):.3f}"
    )
    return RowVerdict(
        "fail" if wrong else "pass", "; ".join([*wrong, measured]), _interval(chains, "windows", "packets")
    )


def _interval(chains: list[Chain], name: str, unit: str) -> str:
    means = [getattr(chain, name)[policy] for chain in chains for policy in ("hop", "delay")]
    if means[0].count < 2:
        return ""
    return f"{means[0].count} seeds; largest 95 % half width {max(m.half for m in means):.2f} {unit}"


def _draw(file: Path, chains: list[Chain], name: str, title: str, unit: str) -> None:
    hops = [chain.round_trip_hops for chain in chains]
    with drawing(file) as (figure, [axis]):
        for index, (policy, label) in enumerate((("hop", "by hops"), ("delay", "by delay"))):
            means_line(axis, [(c.round_trip_hops, getattr(c, name)[policy]) for c in chains], index, label)
        baselines = ((lambda _: 1, "fixed 1"), (lambda _: 2, "fixed 2"), (_quarter, "h/4"), (lambda _: 8, "fixed 8"))
        for index, (limit_of, label) in enumerate(baselines):
            values = [getattr(chain, name)[f"cwl {limit_of(chain.hops)}"].value for chain in chains]
            axis.plot(hops, values, "--", color=COLOURS[2 + index], linewidth=1.2, label=label)
        if name == "limits":
            axis.plot(
                hops, [core.hop_table_limit_packets(n) for n in hops], "_", color="#000000", ms=12, label="Table 1"
            )
        if name == "rates":
            axis.set_yscale("log")
            axis.set_yticks([10, 20, 50, 100], ["10", "20", "50", "100"])
            axis.minorticks_off()
            axis.set_ylim(5, 130)
        axis.set_title(title, loc="left")
        axis.set_xlabel("round-trip hops N")
        axis.set_ylabel(unit)
        figure.legend(loc="outside lower center", ncols=7)
