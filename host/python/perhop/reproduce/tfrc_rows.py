# SPDX-License-Identifier: GPL-2.0-or-later
"""How rows X-05 to X-08 and X-11 are judged: the same rules for chains and for nodes that move.

A scenario is a place, such as `3 hops`, under one rate of background traffic.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perhop.report.figures import drawing, means_line
from perhop.reproduce.tfrc_runs import Measured, over_runs
from perhop.study.check import RowVerdict
from perhop.study.summaries import Mean

FAIRNESS = (0.15, 0.9)
TREND_SHARE = 0.75  # six of the paper's eight places
TCP_CHANGES_MORE = 0.7
SMOOTHNESS = (0.25, 0.8)
SMOOTH_SHARE = 0.8
CORRELATION = 0.3
# Of a scenario in which something cannot be told: it is within no bounds.
NOTHING = Mean(float("nan"), 0.0, 0)

# Place, background rate of each of its flows in kb/s.
Scenario = tuple[str, float]
Runs = Mapping[Scenario, Sequence[Measured]]


@dataclass(frozen=True)
class Judged:
    """What a row came to: `wrong` has the scenarios that it is about, `broken` what does not hold in words."""

    means: dict[Scenario, Mean]
    broken: list[str]
    wrong: dict[Scenario, Mean]
    told: str

    def verdict(self, evidence: str = "", known: Callable[[Scenario, Mean], bool] = lambda *_: False) -> RowVerdict:
        """`finding` where the evidence is about every scenario that deviates, `known`."""
        interval = intervals(self.means)
        if not self.broken:
            return RowVerdict("pass", self.told, interval)
        measured = "; ".join([*self.broken, self.told])
        if evidence and all(known(scenario, value) for scenario, value in self.wrong.items()):
            return RowVerdict("finding", measured, interval, evidence)
        return RowVerdict("fail", measured, interval)


def means(runs: Runs, name: str) -> dict[Scenario, Mean]:
    return {scenario: over_runs(measured, name) or NOTHING for scenario, measured in runs.items()}


def by_place(values: Mapping[Scenario, Mean], digits: int = 2) -> str:
    """A clause a place: its values in the order of its rates."""
    return ", ".join(
        f"{place}: " + " / ".join(f"{value.value:.{digits}f}" for value in of.values())
        for place, of in places(values).items()
    )


def places(values: Mapping[Scenario, Mean]) -> dict[str, dict[float, Mean]]:
    found: dict[str, dict[float, Mean]] = {}
    for (place, rate), value in sorted(values.items(), key=lambda item: item[0][1]):
        found.setdefault(place, {})[rate] = value
    return dict(sorted(found.items()))


def intervals(values: Mapping[Scenario, Mean]) -> str:
    """The widest interval over the runs of a scenario; empty with one run each."""
    finite = [value for value in values.values() if value.count > 1]
    if not finite:
        return ""
    return f"{min(value.count for value in finite)} runs each, at most ± {max(value.half for value in finite):.2f}"


def rates_told(runs: Runs) -> str:
    return " / ".join(f"{rate:g}" for rate in sorted({rate for _, rate in runs})) + " kb/s of CBR"


def fairness(runs: Runs) -> Judged:
    """X-05: the ratio in bounds everywhere, and falling with the background in three quarters of the places."""
    found = means(runs, "fairness")
    wrong = {scenario: value for scenario, value in found.items() if not FAIRNESS[0] <= value.value <= FAIRNESS[1]}
    broken = []
    if wrong:
        broken.append(f"outside {FAIRNESS[0]:g} to {FAIRNESS[1]:g} in {len(wrong)} of {len(found)} scenarios")
    trends = {place: _falls([value.value for value in of.values()]) for place, of in places(found).items()}
    if sum(trends.values()) < TREND_SHARE * len(trends):
        broken.append(f"falls with the background in {sum(trends.values())} of {len(trends)} places only")
        rising = [place for place, falls in trends.items() if not falls]
        wrong |= {scenario: value for scenario, value in found.items() if scenario[0] in rising}
    return Judged(found, broken, wrong, f"TFRC / TCP at {rates_told(runs)}, {by_place(found)}")


def _falls(values: Sequence[float]) -> bool:
    return all(after <= before for before, after in itertools.pairwise(values))


def short_term(runs: Runs) -> Judged:
    """X-06: TCP's mean rate changes more between bins of 10 s, in 70 % of all steps."""
    found = means(runs, "tcp_changes_more")
    steps = [value for measured in runs.values() for one in measured if (value := one.tcp_changes_more) is not None]
    share = sum(steps) / len(steps) if steps else 0.0
    broken = [] if share >= TCP_CHANGES_MORE else [f"below {TCP_CHANGES_MORE:.0%}"]
    wrong = {scenario: value for scenario, value in found.items() if value.value < TCP_CHANGES_MORE} if broken else {}
    told = f"TCP's rate changes more than TFRC's in {share:.0%} of steps of 10 s; {by_place(found)}"
    return Judged(found, broken, wrong, told)


def smoothness(runs: Runs) -> Judged:
    """X-07: the ratio of the smoothness indices in bounds in 80 % of the scenarios."""
    found = means(runs, "smoothness")
    wrong = {scenario: value for scenario, value in found.items() if not SMOOTHNESS[0] <= value.value <= SMOOTHNESS[1]}
    share = 1 - len(wrong) / len(found)
    broken = [] if share >= SMOOTH_SHARE else [f"below {SMOOTH_SHARE:.0%} of the scenarios"]
    told = f"within {SMOOTHNESS[0]:g} to {SMOOTHNESS[1]:g} in {share:.0%} of {len(found)} scenarios; {by_place(found)}"
    return Judged(found, broken, wrong if broken else {}, told)


def loss(runs: Runs) -> Judged:
    """X-08: TFRC loses a larger share of its packets than TCP everywhere."""
    found = means(runs, "loss")
    wrong = {scenario: value for scenario, value in found.items() if not value.value > 1}
    broken = [f"not above 1 in {len(wrong)} of {len(found)} scenarios"] if wrong else []
    shares = means(runs, "tfrc_loss")
    told = f"loss rate of TFRC / TCP, {by_place(found)}; TFRC loses {_span(shares.values())}"
    return Judged(found, broken, wrong, told)


def correlation(runs: Runs) -> Judged:
    """X-11: what the weighted mean of the intervals before says of the next one: next to nothing."""
    found = means(runs, "correlation")
    wrong = {scenario: value for scenario, value in found.items() if not abs(value.value) < CORRELATION}
    broken = [f"not below {CORRELATION:g} in {len(wrong)} of {len(found)} scenarios"] if wrong else []
    return Judged(found, broken, wrong, f"correlation, {by_place(found)}")


def _span(values: Iterable[Mean]) -> str:
    shares = [value.value for value in values]
    return f"{min(shares):.1%} to {max(shares):.1%}"


def draw(file: Path, title: str, found: Mapping[Scenario, Mean], bounds: Sequence[float] = ()) -> None:
    """A value over the places, a line a background rate; grey lines are the row's bounds."""
    of_places = places(found)
    names = list(of_places)
    rates = sorted({rate for _, rate in found})
    with drawing(file, height=3.6) as (figure, (axis,)):
        for bound in bounds:
            axis.axhline(bound, color="#9AA5B1", linewidth=1.2, linestyle="--")
        for index, rate in enumerate(rates):
            points = [
                (place + 0.06 * (index - (len(rates) - 1) / 2), of_places[name][rate])
                for place, name in enumerate(names)
                if rate in of_places[name] and of_places[name][rate].count
            ]
            means_line(axis, points, index, f"{rate:g} kb/s")
        axis.set_xticks(range(len(names)), names)
        axis.set_ylim(bottom=min(0.0, *axis.get_ylim()))
        axis.set_title(title, loc="left")
        figure.legend(loc="outside lower center", ncols=len(rates), title="background")
