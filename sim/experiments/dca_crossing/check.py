# SPDX-License-Identifier: GPL-2.0-or-later
"""Fig. 7 of paper 001: flows that cross in a cross and in a grid (row D-14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perhop.reproduce.checks import STANDARD, best, draw_windows, mean_of, percent, window_table, window_word
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results
from perhop.study.summaries import Mean, by_seed, gain

WHOLE = "dca cwnd no resend"
# As the sweep of experiment.yaml lists them.
CASES = ("cross, 2 hops", "cross, 4 hops", "cross, 6 hops", "cross, 8 hops", "grid, 4 hops")
# What the evidence speaks of: with so few packets in flight w = cwnd is hardly another policy than the best w.
KNOWN_PACKETS_PER_TCP_ACK_MOST = 6.0


@dataclass(frozen=True)
class Case:
    """Flows that cross: the throughput of all together by policy and seed."""

    name: str
    rates: Mapping[str, Mapping[int, float]]
    packets_per_tcp_ack: float  # at w = cwnd

    @property
    def means(self) -> dict[str, Mean]:
        return {policy: mean_of(cell) for policy, cell in self.rates.items()}

    @property
    def inner(self) -> str:
        """The best w between 1 and the whole window."""
        return best({policy: rate for policy, rate in self.means.items() if policy not in (STANDARD, WHOLE)})

    def lead(self, policy: str) -> Mean:
        """What the best inner w has more than another."""
        return gain(self.rates[self.inner], self.rates[policy])

    @property
    def is_long(self) -> bool:
        return not self.name.endswith(" 2 hops")

    @property
    def interior(self) -> bool:
        return all(_tells(self.lead(end)) for end in (STANDARD, WHOLE))

    @property
    def level(self) -> bool:
        """Better than w = 1, and no worse than w = cwnd as far as the seeds tell."""
        return _tells(self.lead(STANDARD)) and not _tells(gain(self.rates[WHOLE], self.rates[self.inner]))


def _tells(lead: Mean) -> bool:
    """The seeds say that there is a lead. One seed says nothing."""
    return lead.count > 1 and lead.value - lead.half > 0


def check(results: Results | None, folder: Path) -> Check:
    """Beyond 3 hops the best w lies inside: it is better than w = 1 and than w = cwnd, and the seeds can tell."""
    assert results is not None
    cases = _cases(results)
    shapes = [
        f"{case.name}: best w {window_word(best(case.means))}; w {window_word(case.inner)} "
        f"{percent(case.lead(STANDARD))} over 1, {percent(case.lead(WHOLE))} over cwnd"
        for case in cases
    ]
    missed = [case for case in cases if case.is_long and not case.interior]
    explained = all(case.level and case.packets_per_tcp_ack <= KNOWN_PACKETS_PER_TCP_ACK_MOST for case in missed)
    measured = "; ".join(shapes)
    if missed:
        measured += f". Not interior as far as the seeds tell: {', '.join(case.name for case in missed)}"
    verdict = "pass" if not missed else "finding" if explained else "fail"
    row = RowVerdict(verdict, measured, evidence=_evidence(missed) if verdict == "finding" else "")
    curves = {case.name: case.means for case in cases}
    policies = list(cases[0].rates)
    figure = folder / "D-14_fig7.svg"
    draw_windows(figure, "Fig. 7: flows that cross, all together", curves, policies)
    return Check(verdict != "fail", window_table(curves, policies), {}, [figure], {"D-14": row})


def _cases(results: Results) -> list[Case]:
    cells, sent, delivered = (by_seed(results, name) for name in ("goodput_bps", "tcp_acks_sent", "delivered_packets"))
    policies = list(dict.fromkeys(policy for _, policy, _ in cells))
    flows = list(dict.fromkeys(swept for _, _, swept in cells))
    cases = []
    for name, of in zip(CASES, flows, strict=True):
        rates = {policy: next(cell for key, cell in cells.items() if key[1:] == (policy, of)) for policy in policies}
        whole = next(key for key in cells if key[1:] == (WHOLE, of))
        cases.append(Case(name, rates, sum(delivered[whole].values()) / sum(sent[whole].values())))
    return cases


def _evidence(level: list[Case]) -> str:
    packets = ", ".join(f"{case.packets_per_tcp_ack:.1f} in {case.name}" for case in level)
    return (
        "The curve rises up to its best w and is level behind it, where the paper's falls. Each of the four flows has "
        f"few packets in flight, so that even w = cwnd is a TCP ACK for few packets ({packets}): all w beyond are "
        "nearly the same policy. Five flows over a chain (row D-13) are as level, and so are they in ns-3.44."
    )
