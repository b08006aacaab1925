# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the best fixed window limits with Table 1 of paper 000 (row B-08), and the computed ones with the best.

Chains of 1 and 2 hops have no best limit: they are judged for being flat.

The table is judged with DSR. It takes a lost packet for a broken link, as the paper's routing does: beyond the best
limit throughput falls. With static routes, shown beside it, a route never breaks and fast retransmit mends a loss, so
that the curve is a plateau on which the highest of a few means is a matter of chance.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perhop import core
from perhop.report.figures import COLOURS, MARKERS, drawing, means_line
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, by_seed, mean

# Table 1: up to this many round-trip hops, this limit (packets).
TABLE_1 = ((4, 2), (8, 1), (12, 2), (20, 3), (26, 4), (30, 5))

BEST_CWL_SLACK = 1
TABLE_SHARE_LEAST = 0.95  # of the best, mean over h
TABLE_SHARE_LEAST_ANYWHERE = 0.85  # up to 13 hops
SHORT_HOPS_MOST = 2  # tested only for flatness
FLAT_RATIO_BELOW = 1.05
DELAY_SHARE_LEAST = 0.95
LARGE_CWL = 8
JUDGED, BESIDE = "dsr", "static"


def table_cwl_packets(round_trip_hops: int) -> int:
    """Table 1 as printed."""
    return next(limit for most, limit in TABLE_1 if round_trip_hops <= most)


@dataclass(frozen=True)
class Chain:
    """What one chain did: packets/s by fixed limit, and with the computed ones."""

    hops: int
    fixed: Mapping[int, Mean]
    computed: Mapping[str, Mean]

    @property
    def best(self) -> int:
        return max(self.fixed, key=lambda limit: self.fixed[limit].value)

    @property
    def table(self) -> int:
        return table_cwl_packets(2 * self.hops)

    def share(self, rate: Mean) -> float:
        return rate.value / self.fixed[self.best].value

    @property
    def largest_over_smallest(self) -> float:
        """Of the limits that can hold a packet and a TCP ACK at once."""
        values = [rate.value for limit, rate in self.fixed.items() if limit >= 2]
        return max(values) / min(values)

    @property
    def near(self) -> bool:
        return abs(self.best - self.table) <= BEST_CWL_SLACK


def check(results: Results | None, folder: Path) -> Check:
    """Best fixed limit within 1 of Table 1 at every h; delay-based 0.95 of it or more, with less RTT than CWL 8."""
    assert results is not None
    lines = []
    chains = {}
    for routing in (JUDGED, BESIDE):
        chains[routing] = _chains(results, routing)
        lines += [f"{routing}: packets/s by congestion window limit; the best fixed one in brackets"]
        lines += _table(chains[routing])
    judged = [chain for chain in chains[JUDGED] if chain.hops > SHORT_HOPS_MOST]
    short = [chain for chain in chains[JUDGED] if chain.hops <= SHORT_HOPS_MOST]

    seeds = min(len(cell) for cell in by_seed(results, "packets_per_s").values())
    row = _table_verdict(judged, short, chains[BESIDE], seeds)
    lines.append(f"{JUDGED}: {row.measured}: {row.verdict}")
    share = statistics.fmean(chain.share(chain.computed["delay"]) for chain in judged)
    enough = share >= DELAY_SHARE_LEAST
    lines.append(
        f"delay-based: {share:.3f} of the best fixed limit, mean over h (at least {DELAY_SHARE_LEAST}): {_word(enough)}"
    )
    rtts_ms = {
        key: statistics.fmean(cell.values())
        for key, cell in by_seed(results, "rtt_ms").items()
        if key[2] == JUDGED and key[1] in ("delay", f"cwl {LARGE_CWL}")
    }
    pairs = [(rtts_ms[c.hops, "delay", JUDGED], rtts_ms[c.hops, f"cwl {LARGE_CWL}", JUDGED]) for c in judged]
    faster = all(delay < large for delay, large in pairs)
    rtt_text = ", ".join(f"{delay:.0f} / {large:.0f}" for delay, large in pairs)
    lines.append(f"RTT of delay-based / CWL {LARGE_CWL} in ms at each h: {rtt_text}: {_word(faster)}")

    figure = folder / "B-08_table1.svg"
    _draw(figure, chains)
    numbers = {
        "best_cwl_packets": {chain.hops: chain.best for chain in judged},
        "best_cwl_packets_static": {chain.hops: chain.best for chain in chains[BESIDE]},
        "table_cwl_packets": {chain.hops: chain.table for chain in judged},
        "delay_share_of_best": round(share, 4),
    }
    return Check(row.verdict == "pass" and enough and faster, lines, numbers, [figure], {"B-08": row})


def _chains(results: Results, routing: str) -> list[Chain]:
    cells = {key: mean(cell.values()) for key, cell in by_seed(results, "packets_per_s").items() if key[2] == routing}
    limits = sorted({int(policy.removeprefix("cwl ")) for _, policy, _ in cells if policy.startswith("cwl ")})
    return [
        Chain(
            hops,
            {limit: cells[hops, f"cwl {limit}", routing] for limit in limits},
            {policy: cells[hops, policy, routing] for policy in ("hop", "delay")},
        )
        for hops in sorted({hops for hops, _, _ in cells})
    ]


def _table(chains: list[Chain]) -> list[str]:
    limits = list(chains[0].fixed)
    lines = [f"{'h':>2} {'table':>5} " + "".join(f"{limit:>8}" for limit in limits) + f"{'hop':>8}{'delay':>8}"]
    for chain in chains:
        cell = "".join(
            f"{f'[{rate.value:.1f}]' if limit == chain.best else f'{rate.value:.1f} ':>8}"
            for limit, rate in chain.fixed.items()
        )
        computed = "".join(f"{rate.value:>8.1f}" for rate in chain.computed.values())
        far = f"  best {chain.best} is more than {BEST_CWL_SLACK} from the table"
        if chain.near or chain.hops <= SHORT_HOPS_MOST:
            far = ""
        lines.append(f"{chain.hops:>2} {chain.table:>5} {cell}{computed}{far}")
    return lines


def _table_verdict(judged: list[Chain], short: list[Chain], beside: list[Chain], seeds: int) -> RowVerdict:
    shares = {chain.hops: chain.share(chain.fixed[chain.table]) for chain in judged}
    least = min((share, hops) for hops, share in shares.items() if hops <= 13)
    lookup = all(core.hop_table_limit_packets(n) == table_cwl_packets(n) for n in range(1, 31))
    # Beyond the table N / 6, half up.
    lookup &= all(core.hop_table_limit_packets(n) == (n + 3) // 6 for n in range(31, 256))
    flat = {chain.hops: chain.largest_over_smallest for chain in short}
    holds = (
        all(chain.near for chain in judged)
        and sorted(flat) == list(range(1, SHORT_HOPS_MOST + 1))
        and max(flat.values()) < FLAT_RATIO_BELOW
        and statistics.fmean(shares.values()) >= TABLE_SHARE_LEAST
        and least[0] >= TABLE_SHARE_LEAST_ANYWHERE
        and lookup
    )
    bests = ", ".join(f"{chain.hops}: {chain.best}" for chain in judged)
    measured = (
        f"best CWL at h = {bests} (table {', '.join(str(chain.table) for chain in judged)}); the table's gives "
        f"{statistics.fmean(shares.values()):.3f} of the best on average, least {least[0]:.3f} at h = {least[1]}; "
        f"largest over smallest from CWL 2 on "
        + ", ".join(f"{ratio:.3f} at h = {hops}" for hops, ratio in flat.items())
        + f"; lookup of N = 1..30, and of N / 6 beyond, {'exact' if lookup else 'WRONG'}"
    )
    evidence = "static routes: best CWL " + ", ".join(
        f"{chain.hops}: {chain.best}" for chain in beside if chain.hops > SHORT_HOPS_MOST
    )
    interval = f"means of {seeds} seeds; largest 95 % half width {_widest(judged):.2f} packets/s" if seeds > 1 else ""
    return RowVerdict("pass" if holds else "fail", measured, interval, evidence)


def _widest(chains: list[Chain]) -> float:
    return max(rate.half for chain in chains for rate in chain.fixed.values())


def _word(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def _draw(file: Path, chains: Mapping[str, list[Chain]]) -> None:
    shown = [chain.hops for chain in chains[JUDGED] if chain.hops in (3, 4, 5, 6, 8, 10, 12, 15)]
    with drawing(file, columns=2, height=5.0) as (figure, axes):
        for axis, routing in zip(axes, (JUDGED, BESIDE), strict=True):
            for index, chain in enumerate(chain for chain in chains[routing] if chain.hops in shown):
                means_line(axis, list(chain.fixed.items()), index, f"{chain.hops} hops")
                colour, last = COLOURS[index % len(COLOURS)], max(chain.fixed)
                axis.plot(chain.table, chain.fixed[chain.table].value, "o", ms=14, mfc="none", mec=colour, mew=1.3)
                for place, policy in enumerate(("hop", "delay")):
                    axis.plot(
                        last + 1 + place, chain.computed[policy].value, MARKERS[index % len(MARKERS)], color=colour
                    )
            axis.axvline(last + 0.5, color="#C9D1D9", linewidth=1)
            limits = list(chain.fixed)
            axis.set_xticks([*limits, last + 1, last + 2], [*(str(limit) for limit in limits), "hop", "delay"])
            axis.set_title(f"{routing} routes; rings: Table 1's choice", loc="left")
            axis.set_xlabel("congestion window limit, packets; 8 is a fixed limit of the literature")
            axis.set_ylabel("packets/s")
            axis.set_ylim(bottom=0)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=8)
