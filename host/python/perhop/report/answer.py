# SPDX-License-Identifier: GPL-2.0-or-later
"""What came out, in sentences: what a reader of the page wants to know first."""

from __future__ import annotations

from perhop.report.events import Mark
from perhop.report.focus import Focus, hops_words
from perhop.report.study_tables import plain_name
from perhop.study.summaries import Mean, Summary

EVENTS_TOLD_MAX = 3


def sentences(focus: Focus, summaries: list[Summary], x_name: str | None, marks: list[Mark], where: str) -> list[str]:
    """The answer at the point that the page looks at, how it changes along the sweep, and how sure it is."""
    measured = [summary for summary in focus.summaries if summary.goodput_bps is not None]
    if not measured:
        return []
    at = f"At {focus.words}: " if focus.words else ""
    said = _of_policies(at, measured) if len(measured) > 1 else [_of_flows(at, measured[0])]
    if along := _along(summaries, measured[0], x_name):
        said.append(along)
    if marks:
        told = "; ".join(f"at {mark.at_s:g} s {mark.words}" for mark in marks[:EVENTS_TOLD_MAX])
        more = f"; and {len(marks) - EVENTS_TOLD_MAX} events more" if len(marks) > EVENTS_TOLD_MAX else ""
        said.append(f"During each run, {told}{more}.")
    said.append(_how_sure(focus, measured, where))
    return [sentence[0].upper() + sentence[1:] for sentence in said]


def _cost(summary: Summary) -> str:
    rtt = f" at a round-trip time of {_ms(summary.rtt_ms)}" if summary.rtt_ms else ""
    return f"{_kbps(summary.goodput_bps)}{rtt}"


def _kbps(mean: Mean | None) -> str:
    if mean is None:
        return "nothing"
    value = mean.value / 1e3
    return f"{value:.0f} kb/s" if value >= 10 else f"{value:.2g} kb/s"


def _ms(mean: Mean) -> str:
    return f"{mean.value:.0f} ms" if mean.value >= 10 else f"{mean.value:.2g} ms"


def _of_flows(at: str, summary: Summary) -> str:
    if len(summary.flows) == 1:
        return f"{at}flow {summary.flows[0].name} gets {_cost(summary)}."
    jain = f", Jain's index {summary.jain.value:.2f}" if summary.jain else ""
    most, least = _ends(summary)
    return (
        f"{at}the {len(summary.flows)} flows get {_cost(summary)} together{jain}: {most[0]} the most, {most[1]}, "
        f"{least[0]} the least, {least[1]}."
    )


def _ends(summary: Summary) -> tuple[tuple[str, str], tuple[str, str]]:
    ordered = sorted(summary.flows, key=lambda flow: flow.goodput_bps.value if flow.goodput_bps else 0.0)
    return ((ordered[-1].name, _kbps(ordered[-1].goodput_bps)), (ordered[0].name, _kbps(ordered[0].goodput_bps)))


def _of_policies(at: str, measured: list[Summary]) -> list[str]:
    most = max(measured, key=_goodput)
    with_rtt = [summary for summary in measured if summary.rtt_ms is not None]
    soonest = min(with_rtt, key=lambda summary: summary.rtt_ms.value if summary.rtt_ms else 0.0) if with_rtt else None
    base = measured[0]
    if soonest is None or soonest is most:
        also = " and has the shortest round trip" if soonest else ""
        said = [f"{at}{most.policy} delivers the most{also}: {_cost(most)}."]
    else:
        said = [
            f"{at}{most.policy} delivers the most, {_cost(most)}; "
            f"{soonest.policy} has the shortest round trip, {_ms(_rtt(soonest))} at {_kbps(soonest.goodput_bps)}."
        ]
    if base is not most and base is not soonest:
        said.append(f"{base.policy} gets {_cost(base)}.")
    if len(most.flows) > 1:
        shares = [f"{summary.policy} {summary.jain.value:.2f}" for summary in measured if summary.jain is not None]
        if shares:
            said.append(f"Jain's index of fairness among the {len(most.flows)} flows: {', '.join(shares)}.")
    return said


def _goodput(summary: Summary) -> float:
    return summary.goodput_bps.value if summary.goodput_bps else 0.0


def _rtt(summary: Summary) -> Mean:
    assert summary.rtt_ms is not None
    return summary.rtt_ms


def _along(summaries: list[Summary], base: Summary, x_name: str | None) -> str:
    """How the first policy fares from the least to the largest value of the sweep, all else as in `base`."""
    if x_name is None:
        return ""

    def value(summary: Summary) -> float:
        return float(summary.hops if x_name == "hops" else summary.swept[x_name])

    of_hops = ("topology.hops",) if x_name == "hops" else (x_name,)
    kept = {name: swept for name, swept in base.swept.items() if name not in of_hops}
    line = sorted(
        (
            summary
            for summary in summaries
            if summary.policy == base.policy
            and summary.goodput_bps is not None
            and all(summary.swept.get(name) == swept for name, swept in kept.items())
        ),
        key=value,
    )
    if len(line) < 2 or value(line[0]) == value(line[-1]):
        return ""
    first, last = line[0], line[-1]
    name = plain_name(x_name)
    ends = (
        (hops_words(first.hops), hops_words(last.hops))
        if x_name == "hops"
        else (f"{name} {value(first):g}", f"{name} {value(last):g}")
    )
    whose = f"Under {base.policy}, goodput" if base.policy else "Goodput"
    text = f"{whose} goes from {_kbps(first.goodput_bps)} at {ends[0]} to {_kbps(last.goodput_bps)} at {ends[1]}"
    if first.rtt_ms and last.rtt_ms:
        text += f", and the round-trip time from {_ms(first.rtt_ms)} to {_ms(last.rtt_ms)}"
    return text + "."


def _how_sure(focus: Focus, measured: list[Summary], where: str) -> str:
    experiment = focus.experiment
    seeds = measured[0].seeds
    runs = f"means over {seeds} runs" if seeds > 1 else "numbers of one run"
    times = f"of {experiment.duration_s:g} s, without the first {experiment.warmup_s:g} s"
    text = f"These are {runs} {times} ({where})"
    if seeds == 1:
        return f"{text}; one seed does not tell how far chance goes."
    by_goodput = sorted(measured, key=_goodput)
    if len(by_goodput) > 1:
        second, first = (summary.goodput_bps for summary in by_goodput[-2:])
        assert first is not None and second is not None
        if first.value - first.half <= second.value + second.half:
            return (
                f"{text}; the 95 % intervals of the goodput of {by_goodput[-1].policy} and {by_goodput[-2].policy} "
                "overlap, so that their order may be chance."
            )
    return f"{text}; 95 % intervals are in the table."
