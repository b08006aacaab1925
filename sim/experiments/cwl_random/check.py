# SPDX-License-Identifier: GPL-2.0-or-later
"""Remark 4 of paper 000: random paths carry no more packets than a chain of as many hops (row B-25)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from perhop import core
from perhop.report.figures import COLOURS, drawing
from perhop.reproduce.checks import mean_of
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

JUDGED = "aodv"
WITHIN = 0.02  # of the highest throughput: of the limits that reach it, the smallest is the best
SLACK_PACKETS = 1
SHARE_LEAST = 0.9
POSITIONS_LEAST, PAIRS_LEAST = 20, 5
HOPS = range(2, 9)


@dataclass(frozen=True)
class RandomPath:
    """A pair of nodes in one set of positions: packets/s by window limit, means over the seeds."""

    positions: int
    hops: int
    rates: dict[int, float]

    @property
    def best(self) -> int:
        most = max(self.rates.values())
        return min(limit for limit, rate in self.rates.items() if rate >= (1 - WITHIN) * most)

    @property
    def table(self) -> int:
        return core.hop_table_limit_packets(2 * self.hops)

    @property
    def within(self) -> bool:
        return self.best <= self.table + SLACK_PACKETS


def check(results: Results | None, folder: Path) -> Check:
    """Best limits of all paths against the table's, with AODV; static routes beside it."""
    assert results is not None
    by_routing = {routing: _paths(results, routing) for routing in _routings(results)}
    lines = []
    for routing, paths in by_routing.items():
        lines.append(
            f"{routing}: best limits by hops (limit: paths), table's limit, share within {SLACK_PACKETS} of it"
        )
        for hops in sorted({path.hops for path in paths}):
            here = [path for path in paths if path.hops == hops]
            counts = ", ".join(f"{limit}: {count}" for limit, count in sorted(Counter(p.best for p in here).items()))
            share = sum(path.within for path in here) / len(here)
            lines.append(f"{hops:>2} hops, {len(here):>2} paths: {counts}; table {here[0].table}; {share:.0%}")
    judged = by_routing[JUDGED]
    share = _share(judged)
    per_position = Counter(path.positions for path in judged)
    enough = (
        len(per_position) >= POSITIONS_LEAST
        and min(per_position.values()) >= PAIRS_LEAST
        and all(path.hops in HOPS for path in judged)
    )
    beside = "".join(
        f"; {routing} routes {_share(paths):.0%}" for routing, paths in by_routing.items() if routing != JUDGED
    )
    no_more = sum(path.best <= path.table for path in judged) / len(judged)
    measured = (
        f"best limit at most the table's + {SLACK_PACKETS} on {share:.0%} of {len(judged)} paths in "
        f"{len(per_position)} sets of positions, at most the table's on {no_more:.0%}{beside}"
    )
    holds = enough and share >= SHARE_LEAST
    row = RowVerdict("pass" if holds else "fail", measured)
    lines.append(f"B-25: {measured}: {row.verdict}")
    figure = folder / "B-25_best_limits.svg"
    _draw(figure, by_routing)
    numbers = {"within_share": {routing: round(_share(paths), 4) for routing, paths in by_routing.items()}}
    return Check(holds, lines, numbers, [figure], {"B-25": row})


def _routings(results: Results) -> list[str]:
    return list(dict.fromkeys(row.get("sweep.routing", JUDGED) for row in results.flows))


def _share(paths: list[RandomPath]) -> float:
    return sum(path.within for path in paths) / len(paths)


def _paths(results: Results, routing: str) -> list[RandomPath]:
    cells: dict[tuple[int, str], dict[int, dict[int, float]]] = {}
    hops: dict[tuple[int, str], int] = {}
    for row in results.flows:
        if row.get("sweep.routing", JUDGED) != routing:
            continue
        key = (row["sweep.topology.seed"], str(row["sweep.flows"]))
        limit = int(row["policy"].removeprefix("cwl "))
        cells.setdefault(key, {}).setdefault(limit, {})[row["seed"]] = row["packets_per_s"] or 0.0
        hops[key] = row["hops"]
    return [
        RandomPath(key[0], hops[key], {limit: mean_of(seeds).value for limit, seeds in sorted(of.items())})
        for key, of in cells.items()
    ]


def _draw(file: Path, by_routing: dict[str, list[RandomPath]]) -> None:
    """A disc for each number of hops and best limit, as large as the paths are many; the table's limit as a step."""
    with drawing(file, columns=len(by_routing), height=4.0) as (_, axes):
        for axis, (routing, paths) in zip(axes, by_routing.items(), strict=True):
            counts = Counter((path.hops, path.best) for path in paths)
            for (hops, best), count in counts.items():
                far = best > core.hop_table_limit_packets(2 * hops) + SLACK_PACKETS
                axis.scatter(hops, best, s=40 * count, color=COLOURS[1 if far else 0], alpha=0.8)
                axis.annotate(str(count), (hops, best), ha="center", va="center", fontsize=8)
            places = list(HOPS)
            table = [core.hop_table_limit_packets(2 * hops) for hops in places]
            axis.step(places, table, where="mid", color="#000000", label="Table 1, chain")
            axis.step(
                places,
                [limit + SLACK_PACKETS for limit in table],
                "--",
                where="mid",
                color="#5B6673",
                label=f"Table 1 + {SLACK_PACKETS}",
            )
            axis.set_title(f"{routing} routes; number of paths", loc="left")
            axis.set(xlabel="hops", ylabel="best limit, packets")
            axis.set_ylim(0, 9)
            axis.legend()
