# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 5 to 7 of paper 000: throughput, window and drops over the window limit (rows B-06, B-07, B-10, B-23)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from perhop import core, paths
from perhop.experiment.load import load
from perhop.experiment.policies import parse_policy
from perhop.report.figures import COLOURS, drawing, means_line
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, by_seed, gain, mean

FLAT_HOPS_MOST = 2
FLAT_RATIO_MOST = 1.05
LONGEST_BEST = 5  # the paper's optimum for 15 hops; the row's check does not ask for it
K_LEAST, K_MOST = 1 / 8, 1 / 4
K_JUDGED_FROM = 12  # round-trip hops
LONG_FROM_HOPS = 5
SLOPE_MOST = 0.5
BEND_MOST = 0.6  # of the first step, which the finding speaks of
MAC_SHARE_LEAST = 0.9
# What B-10's finding rests on: not the MAC alone loses packets, but what it does not lose goes with what it does.
PURGED = """Full queues lose next to nothing, as in the paper; but the MAC's retry limit is not the only loss. DSR and AODV take a packet that the MAC gave up for a broken link, and what waits in the queue for the same neighbour goes with it. ns-2's AODV does so too and writes the same reason for both into its trace (a call-back of the MAC), so that the paper's 'MAC layer contention loss' may well count them.
Tried (5, 8 and 12 hops, limits 4, 12 and 20, 2 seeds of 100 s): with AODV as it is the MAC gives up 64 % and 36 % are purged; with AODV that leaves the queue alone, and with static routes, the MAC gives up 100 % of the packets lost."""  # noqa: E501

# ns-2.35, AODV and DSR, Reno, queue 25, 5 seeds of 200 s on 6 hops: packets/s by limit.
NS2_SIX_HOPS = "ns-2.35 on 6 hops, 5 seeds of 200 s: AODV {aodv} and DSR {dsr} packets/s at CWL 2 and 3"
NS2_SIX_HOPS_AODV, NS2_SIX_HOPS_DSR = "20.4 and 20.9", "20.1 and 19.4"


@dataclass(frozen=True)
class Chain:
    """One length: packets/s, mean window and drops by limit."""

    hops: int
    by_seed: Mapping[int, Mapping[int, float]]  # packets/s of each seed
    rates: Mapping[int, Mean]
    windows: Mapping[int, Mean]
    mac_drops: float
    queue_drops: float
    purged: float  # behind a packet that the MAC gave up

    @property
    def round_trip_hops(self) -> int:
        return 2 * self.hops

    @property
    def best(self) -> int:
        return max(self.rates, key=lambda limit: self.rates[limit].value)

    def falls_behind(self, limit: int) -> bool:
        """Less than the best by more than the seeds differ: seed by seed, as the runs of a seed share its draws.

        One seed tells nothing.
        """
        change = gain(self.by_seed[limit], self.by_seed[self.best])
        return change.count > 1 and change.value + change.half < 0

    @property
    def level(self) -> list[int]:
        """The limits that the seeds cannot tell from the best."""
        return [limit for limit in self.rates if limit != self.best and not self.falls_behind(limit)]


def check(results: Results | None, folder: Path) -> Check:
    """The shapes that the paper states; see the rows."""
    assert results is not None
    chains = _chains(results)
    limits = list(chains[0].rates)
    lines = ["packets/s by congestion window limit; the best in brackets"]
    lines.append(f"{'h':>2} {'table':>5} " + "".join(f"{limit:>7}" for limit in limits))
    for chain in chains:
        cells = "".join(
            f"{f'[{rate.value:.1f}]' if limit == chain.best else f'{rate.value:.1f} ':>7}"
            for limit, rate in chain.rates.items()
        )
        lines.append(f"{chain.hops:>2} {core.hop_table_limit_packets(chain.round_trip_hops):>5} {cells}")
    lines.append("mean window (packets)")
    lines += [
        f"{c.hops:>2}       " + "".join(f"{window.value:>6.1f} " for window in c.windows.values()) for c in chains
    ]

    rows = {"B-06": _corollary_1(chains), "B-07": _shape(chains), "B-10": _windows(chains), "B-23": _baselines(chains)}
    lines += [f"{row}: {verdict.measured}: {verdict.verdict}" for row, verdict in rows.items()]
    figures = [folder / "B-07_fig5.svg", folder / "B-06_fig6.svg", folder / "B-10_fig7.svg"]
    _draw_lines(figures[0], chains, "rates", "Fig. 5: throughput", "packets/s")
    _draw_bounds(figures[1], chains)
    _draw_lines(figures[2], chains, "windows", "Fig. 7: mean congestion window", "packets")
    numbers = {"best_cwl_packets": {chain.hops: chain.best for chain in chains}}
    return Check(all(row.verdict != "fail" for row in rows.values()), lines, numbers, figures, rows)


def _chains(results: Results) -> list[Chain]:
    rates, windows = by_seed(results, "packets_per_s"), by_seed(results, "cwnd_packets")
    mac = by_seed(results, "mac_drops_data_packets"), by_seed(results, "mac_drops_tcp_ack_packets")
    queue = by_seed(results, "queue_drops_data_packets"), by_seed(results, "queue_drops_tcp_ack_packets")
    purged = (by_seed(results, "link_failure_drops_packets"),)
    limits = sorted({int(policy.removeprefix("cwl ")) for _, policy in rates})

    def means(cells: dict, hops: int) -> dict[int, Mean]:
        return {limit: mean(cells[hops, f"cwl {limit}"].values()) for limit in limits}

    def total(cells: tuple[dict, ...], hops: int) -> float:
        return sum(sum(cell[hops, f"cwl {limit}"].values()) for cell in cells for limit in limits)

    return [
        Chain(
            hops,
            {limit: rates[hops, f"cwl {limit}"] for limit in limits},
            means(rates, hops),
            means(windows, hops),
            total(mac, hops),
            total(queue, hops),
            total(purged, hops),
        )
        for hops in sorted({hops for hops, _ in rates})
    ]


def _shape(chains: list[Chain]) -> RowVerdict:
    """Rises and falls from 3 hops on, as far as the seeds can tell; flat up to 2.

    The best of several means is above every other by construction, so that means alone would find a fall in noise.
    """
    wrong, flat = [], []
    for chain in chains:
        if chain.hops <= FLAT_HOPS_MOST:
            values = [rate.value for limit, rate in chain.rates.items() if limit >= 2]
            flat.append(max(values) / min(values))
            continue
        most = max(chain.rates)
        if chain.best == most or not chain.falls_behind(most):
            wrong.append(
                f"{chain.hops} hops: best at {chain.best}, CWL {most} gives {_rate(chain.rates[most])} of "
                f"{_rate(chain.rates[chain.best])}"
            )
    if max(flat, default=1.0) >= FLAT_RATIO_MOST:
        wrong.append(f"1 and 2 hops: largest over smallest {max(flat):.3f}")
    long = chains[-1]
    falls = [1 - c.rates[max(c.rates)].value / c.rates[c.best].value for c in chains if c.hops > FLAT_HOPS_MOST]
    level = ", ".join(map(str, long.level)) or "none"
    measured = (
        f"from 3 hops on CWL {max(long.rates)} gives {min(falls):.0%} to {max(falls):.0%} less than the best; "
        f"1 and 2 hops within {max(flat, default=1.0) - 1:.1%}; best at {long.hops} hops: {long.best} "
        f"(paper: {LONGEST_BEST}), from which the seeds cannot tell: {level}"
    )
    return RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, measured]), _interval(chains))


def _rate(rate: Mean) -> str:
    return f"{rate.value:.1f} ± {rate.half:.1f}"


def _corollary_1(chains: list[Chain]) -> RowVerdict:
    judged = [chain for chain in chains if chain.round_trip_hops >= K_JUDGED_FROM]
    shares = {chain.round_trip_hops: chain.best / chain.round_trip_hops for chain in judged}
    text = "best CWL / N = " + ", ".join(f"{k:.3f} at N = {n}" for n, k in shares.items())
    outside = [n for n, k in shares.items() if not K_LEAST < k < K_MOST]
    if not outside:
        return RowVerdict("pass", text, _interval(judged))
    # At N = 12 whole packets leave 2 alone below N/4; 3 are N/4 itself.
    evidence = NS2_SIX_HOPS.format(aodv=NS2_SIX_HOPS_AODV, dsr=NS2_SIX_HOPS_DSR)
    if outside == [12] and shares[12] == K_MOST:
        near = next(chain for chain in judged if chain.round_trip_hops == 12)
        less = 1 - near.rates[2].value / near.rates[3].value
        return RowVerdict(
            "finding",
            f"{text}: at N = 12 the best is N/4 itself; 2 packets give {less:.1%} less",
            _interval(judged),
            evidence,
        )
    return RowVerdict("fail", f"{text}: outside at N = {outside}", _interval(judged), evidence)


def _windows(chains: list[Chain]) -> RowVerdict:
    """Beyond twice the optimum the mean window is flat, and above the optimum; what is lost is lost by the MAC.

    Flat from each limit to the next. The first step begins where the curve bends: there a little more is known.
    """
    wrong: list[str] = []
    steps: dict[tuple[int, int, int], float] = {}
    first: set[tuple[int, int, int]] = set()
    for chain in (chain for chain in chains if chain.hops >= LONG_FROM_HOPS):
        beyond = [limit for limit in chain.windows if limit >= 2 * chain.best]
        if len(beyond) < 2:
            wrong.append(f"{chain.hops} hops: nothing beyond twice the best of {chain.best}")
            continue
        first.add((chain.hops, beyond[0], beyond[1]))
        for a, b in itertools.pairwise(beyond):
            steps[chain.hops, a, b] = (chain.windows[b].value - chain.windows[a].value) / (b - a)
        wrong += [
            f"{chain.hops} hops: mean window {chain.windows[limit].value:.1f} at CWL {limit}, best {chain.best}"
            for limit in beyond
            if chain.windows[limit].value <= chain.best
        ]
    steep = {step: slope for step, slope in steps.items() if slope >= SLOPE_MOST}
    wrong += [f"slope {_step(step, slope)}" for step, slope in steep.items() if step not in first or slope > BEND_MOST]
    names = ("mac_drops", "queue_drops", "purged")
    mac, queue, purged = (sum(getattr(chain, name) for chain in chains) for name in names)
    lost = mac + queue + purged
    later = max((slope for step, slope in steps.items() if step not in first), default=0.0)
    measured = "nothing lies beyond twice the optimum"
    if steps:
        steepest = max(steps, key=lambda step: steps[step])
        measured = (
            f"slope of the mean window beyond twice the optimum (h >= {LONG_FROM_HOPS}) at most "
            f"{_step(steepest, steps[steepest])}, behind the first step at most {later:.2f}"
        )
    measured += (
        f"; of {lost:.0f} packets lost the MAC gave up {_share(mac, lost):.1%}, "
        f"{_share(purged, lost):.1%} were purged behind those, full queues lost {_share(queue, lost):.1%}"
    )
    evidence = []
    if lost and mac / lost <= MAC_SHARE_LEAST:
        evidence.append(PURGED)
        if (mac + purged) / lost <= MAC_SHARE_LEAST:
            wrong.append("full queues lose a part")
    if steep:
        bends = "; ".join(_step(step, slope) for step, slope in steep.items())
        evidence.append(
            f"The mean window bends at twice the optimum, and there its slope is still above {SLOPE_MOST} ({bends}); "
            f"behind that step it is flat ({later:.2f} at most)."
        )
    if wrong or not lost:
        return RowVerdict("fail", "; ".join([*wrong, measured]))
    return RowVerdict("finding" if evidence else "pass", measured, evidence="\n".join(evidence))


def _step(step: tuple[int, int, int], slope: float) -> str:
    hops, lower, upper = step
    return f"{slope:.2f} from CWL {lower} to {upper} at h = {hops}"


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _baselines(chains: list[Chain]) -> RowVerdict:
    """The fixed limits of the literature run in every experiment that draws chains of paper 000, at each length."""
    missing = _missing_baselines()
    judged = [chain for chain in chains if chain.hops > FLAT_HOPS_MOST]

    def share(limit_of: Callable[[int], int]) -> str:
        shares = [chain.rates[limit_of(chain.hops)].value / chain.rates[chain.best].value for chain in judged]
        return f"{sum(shares) / len(shares):.2f} (least {min(shares):.2f})"

    if missing:
        return RowVerdict("fail", "; ".join(missing))
    return RowVerdict(
        "pass",
        f"in this paper's chain plots ({', '.join(CHAIN_PLOTS)}), every length; share of the best, mean over h >= 3: "
        + ", ".join(f"{name} {share(limit_of)}" for name, limit_of in BASELINES.items()),
    )


def _missing_baselines() -> list[str]:
    """Which experiments lack which baseline, at either grade."""
    missing = []
    for name, quick in itertools.product(CHAIN_PLOTS, (True, False)):
        for point in load(paths.repository() / "sim" / "experiments" / name / "experiment.yaml", quick=quick):
            there = {policy.label for text in point.experiment.policies for policy in parse_policy(text)}
            hops = point.experiment.topology.hops
            missing += [
                f"{name}{' --quick' if quick else ''}: no {baseline} at h = {hops}"
                for baseline, limit_of in BASELINES.items()
                if f"cwl {limit_of(hops)}" not in there
            ]
    return missing


def _quarter(hops: int) -> int:
    """h/4 in whole packets, at least 1."""
    return max(1, math.floor(hops / 4 + 0.5))


BASELINES: Mapping[str, Callable[[int], int]] = {
    "CWL 8": lambda _: 8,
    "CWL 1": lambda _: 1,
    "CWL 2": lambda _: 2,
    "h/4": _quarter,
}
# The folders whose checks draw chains for rows of paper 000.
CHAIN_PLOTS = ("cwl_sweep", "cwl_table", "cwl_hop_delay", "cwl_pacing")


def _interval(chains: list[Chain]) -> str:
    rates = list(itertools.chain.from_iterable(chain.rates.values() for chain in chains))
    if rates[0].count < 2:
        return ""
    return f"{rates[0].count} seeds; largest 95 % half width {max(rate.half for rate in rates):.2f} packets/s"


def _draw_lines(file: Path, chains: list[Chain], name: str, title: str, unit: str) -> None:
    panels = (
        [chain for chain in chains if chain.hops <= FLAT_HOPS_MOST],
        [chain for chain in chains if chain.hops in (3, 5, 6, 8, 10, 12, 15)],
    )
    with drawing(file, columns=2, height=4.8) as (figure, axes):
        index = 0
        for axis, shown in zip(axes, panels, strict=True):
            for chain in shown:
                cells: Mapping[int, Mean] = getattr(chain, name)
                means_line(axis, list(cells.items()), index, f"{chain.hops} hop{'s' if chain.hops > 1 else ''}")
                colour = COLOURS[index % len(COLOURS)]
                axis.plot(
                    _quarter(chain.hops), cells[_quarter(chain.hops)].value, "o", ms=14, mfc="none", mec=colour, mew=1.3
                )
                index += 1
            for limit in (1, 2, 8):
                axis.axvline(limit, color="#C9D1D9", linewidth=5, alpha=0.5, zorder=0)
            most = max(mean.value for chain in shown for mean in getattr(chain, name).values())
            axis.set_ylim(0, 1.15 * most)
            axis.set_xlabel("congestion window limit, packets")
            axis.set_xticks(list(shown[0].rates))
            axis.set_ylabel(unit)
        axes[0].set_title(title, loc="left")
        axes[1].set_title("grey: fixed limits of the literature; rings: h/4", loc="left")
        figure.legend(loc="outside lower center", ncols=9)


def _draw_bounds(file: Path, chains: list[Chain]) -> None:
    hops = [chain.round_trip_hops for chain in chains]
    with drawing(file) as (_, [axis]):
        for index, (k, label) in enumerate(((1 / 4, "N/4"), (1 / 5, "N/5"), (1 / 8, "N/8"))):
            axis.plot(hops, [k * n for n in hops], "--", color=COLOURS[index + 2], label=label)
        axis.plot(hops, [core.hop_table_limit_packets(n) for n in hops], "s-", color=COLOURS[1], label="Table 1")
        best = [(chain.round_trip_hops, chain.best) for chain in chains if chain.hops > FLAT_HOPS_MOST]
        axis.plot(*zip(*best, strict=True), "o", ms=9, color=COLOURS[0], label="best measured")
        axis.axhline(8, color="#C9D1D9", linewidth=3, label="fixed 8")
        axis.axhspan(1, 2, color="#C9D1D9", alpha=0.4, label="fixed 1 to 2")
        axis.plot(hops, [_quarter(chain.hops) for chain in chains], ":", color="#000000", label="h/4")
        axis.set_title("Fig. 6: best limit and its bounds by hops", loc="left")
        axis.set_xlabel("round-trip hops N")
        axis.set_ylabel("packets")
        axis.legend(ncols=2)
