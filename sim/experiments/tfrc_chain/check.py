# SPDX-License-Identifier: GPL-2.0-or-later
"""The static scenarios of paper 002 (rows X-03, X-05 to X-09 and X-11)."""

from __future__ import annotations

from pathlib import Path

from perhop.reproduce import tfrc_rows as rows
from perhop.reproduce.tfrc_runs import Measured, measure
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row
from perhop.study.summaries import Mean

HOPS = (1, 2, 3, 4, 5, 6)
FLOWS = {"tcp": 10, "tfrc": 10, "cbr": 1}
# Prediction error in Fig. 5: the paper's bands, 15 points wider on both sides.
SHORT, LONG = (0.55, 0.95), (0.65, 1.05)
LONG_FROM_HOPS = 4

# What EVIDENCE speaks of: the ratio is the paper's where the ends hear each other, up to two hops, and may be anything
# up to this beyond; it may rise with the background. TCP has the steadier share where TFRC has the larger one.
INVERTED_FROM_HOPS = 3
KNOWN_RATIO_MOST = 15.0
KNOWN_CHANGES_LEAST = 0.03
KNOWN_LOSS_LEAST = 0.1
EVIDENCE = """From three hops on the far end is out of the source's carrier sense (750 m; 550 m). Its RTS goes unanswered while the source keeps the node before it silent, and the MAC gives up: TCP loses TCP ACKs, one of which it needs for each packet, where TFRC needs a report a round trip. At 3 hops, 30 kb/s, 300 s, one seed: with nodes 180 m apart the ends hear each other (540 m), and TFRC / TCP is 0.81 here and 1.07 in ns-2.35; with 190 m (570 m) 4.7 and 6.3; with 250 m and a carrier sense of 800 m 0.91 here.
ns-2.35 (sim/bench/ns2_tfrc.tcl, DSR, 1000 s, one seed, 10 / 30 / 50 kb/s) gives 0.57 / 0.60 / 0.60 at 1 hop, 0.57 / 0.65 / 0.83 at 2, 3.7 / 4.3 / 4.7 at 3, 0.73 / 1.5 / 1.7 at 4, 0.81 / 0.74 / 0.84 at 5, 0.77 / 0.83 / 0.88 at 6: inverted at 3 hops, too, and rising with the background in five of six places.
What differs from ns-2 at 4 to 6 hops is open. Either kind alone gets what ns-2 gives it (ten flows, 300 s, 4 and 6 hops: TCP 4260 and 3018 packets, in ns-2 4386 and 3147; TFRC 8213 and 5436, in ns-2 8016 and 5273); together, TFRC takes from TCP what it does not in ns-2. Tried: to raise TFRC's rate by at most a packet a round trip, as ns-2 does, takes its loss rate at 6 hops from 12 to 4 % (ns-2: 3 %) and leaves the ratio (3.3 and 4.3 at 4 and 6 hops). Then to keep TCP's back-off until a round trip is timed (RFC 6298; ns-3 forgets it at each TCP ACK of new data) takes TCP's timeouts there from 397 to 140, and leaves the ratio, too (3.5 and 3.5). Then a queue with room of its own for data, TCP ACKs and the routing's packets, as ns-2's for DSR: 4.8, 5.0 and 3.7 at 4 to 6 hops (1000 s, one seed, 30 kb/s) in place of 4.2, 5.0 and 2.8; a flow's first loss interval by RFC 3448 in place of RFC 5348 (now what runs): these in place of 4.8, 4.1 and 3.6.
A part of it is TFRC's pacing against oscillation (RFC 3448, 4.6; RFC 5348, 4.5; ca_ in ns-2, on there, too): packets leave the faster, the shorter the last round trip was beside their mean, and round trips here lie between half a second and ten. Without it (avoid_oscillation: false; ca_ 0) TFRC / TCP is 2.4, 2.0, 0.7 and 1.9 here at 3 to 6 hops in place of 5.7, 5.2, 2.6 and 2.9 (300 s, one seed, 30 kb/s), in ns-2 0.47 and 0.38 at 4 hops in place of 1.13 and 0.64, 0.64 and 0.57 at 6 in place of 0.82 and 0.76 (300 s, two seeds); both kinds together get the same in both simulators (4736 packets here, 4800 and 4738 in ns-2, at 4 hops). With a pace of at most twice what was received it is 2.9 and 1.8 at 4 and 6 hops, with means of the round trip over twice as many reports, as ns-2's, 3.5 and 2.9; a rate that grows by at most a packet a round trip leaves 5.8 and 2.5. What remains is open. TCP waits longer here: 28 and 34 timeouts a flow in 300 s at 4 and 6 hops, 13 and 11 in ns-2 (with pacing, one seed)."""  # noqa: E501
CHANGES_EVIDENCE = """Where TFRC has most of the throughput, it has most of its changes, which are counted in kb/s; TCP's changes are the larger ones in proportion (row X-07). ns-2.35 with the same flows (sim/bench/ns2_tfrc.tcl, 1000 s, one seed, 10 / 30 / 50 kb/s) gives 6 / 6 / 12 % at 1 hop, 46 / 36 / 40 % at 2, 31 / 17 / 28 % at 3, 54 / 42 / 45 % at 4, 53 / 59 / 61 % at 5 and 62 / 62 / 56 % at 6: 70 % nowhere, and 41 % of all steps (38 % here). The paper's text tells of four of its scenarios. Tried: shares by length and background, above."""  # noqa: E501
KNOWN_CORRELATION_LEAST = -0.6
CORRELATION_EVIDENCE = """At 3 hops a flow has some twenty loss intervals in 1000 s (row X-05), of which an autocovariance is biased downwards, by about 0.15 here; one scenario there has -0.34 (one seed). It is no sign that intervals can be predicted. Tried: all lengths; elsewhere the largest is 0.12."""  # noqa: E501
KNOWN_ERROR_MOST = 6.0
KNOWN_ERROR_MOST_SHORT = 1.05
ERROR_EVIDENCE = """At 3 hops a flow has twenty intervals in 1000 s, and the path is out for seconds at a time (row X-05). At 1 hop 14 % of the intervals are shorter than four packets, and make two fifths of the sum of errors; the medians of all were 0.53, 0.53, 0.86, 0.53, 0.51 and 0.63 at 1 to 6 hops. Tried: the first interval of a flow by the largest rate received so far (RFC 5348, 6.3.1) in place of the last round trip's (RFC 3448, 6.3.1, which the paper names and this profile follows now): 0.98, 0.92, 3.41, 0.84, 1.00 and 4.60 in place of 0.99, 0.97, 2.24, 0.83, 0.98 and 0.97 at 1 to 6 hops (1000 s, one seed, 30 kb/s). Among twenty flows that begin together the largest rate was far too high, and that prediction stayed in the mean of eight."""  # noqa: E501
LOSS_EVIDENCE = """Over three hops, and a little over four, TCP loses the larger share: the far end is out of the source's carrier sense (row X-05), and TCP, which sends data and a TCP ACK for each into both ends of the path, suffers more of that than TFRC with its report a round trip. Counted is what left the source and did not reach the receiver: 1.03, 0.49, 0.85 and 3.83 at 2, 3, 4 and 6 hops (1000 s, one seed, 30 kb/s). ns-2.35 with the same flows and the same count (sim/bench/ns2_tfrc.tcl prints it) gives 1.53, 1.07, 0.74, 1.04, 1.57 and 0.91 at 1 to 6 hops: below 1 at 3 and 6 hops. Tried: TCP's loss by what queues and MACs dropped and what was purged for a failed link, TCP ACKs of these among it, gives 1.41, 1.00, 0.14, 0.31, 0.35 and 0.42, without TCP ACKs 0.35, 0.39, 0.54 and 0.57 at 3 to 6 hops; but what a MAC gives up is not lost where DSR sends it another way. With TFRC's rate raised by at most a packet a round trip, as in ns-2, TFRC loses 4 % in place of 12 % at 6 hops."""  # noqa: E501


def check(results: Results | None, folder: Path) -> Check:
    """Each row by its own rule; the figures are the paper's 1 and 3 to 5 and 7."""
    assert results is not None
    measured = measure(results, folder)
    runs: dict[rows.Scenario, list[Measured]] = {}
    for first in (row for row in results.flows if row["flow"] == 0):
        runs.setdefault(_scenario(first), []).append(measured[first["run"]])
    fairness, smoothness, loss = rows.fairness(runs), rows.smoothness(runs), rows.loss(runs)
    correlation, errors = rows.correlation(runs), rows.means(runs, "prediction_error")
    verdicts = {
        "X-03": _harness(results),
        "X-05": fairness.verdict(EVIDENCE, _known_ratio),
        "X-06": rows.short_term(runs).verdict(CHANGES_EVIDENCE, lambda _, share: share.value >= KNOWN_CHANGES_LEAST),
        "X-07": smoothness.verdict(),
        "X-08": loss.verdict(LOSS_EVIDENCE, lambda _, ratio: ratio.value >= KNOWN_LOSS_LEAST),
        "X-09": _prediction(errors),
        "X-11": correlation.verdict(
            CORRELATION_EVIDENCE,
            lambda scenario, one: scenario[0] == _place(3) and KNOWN_CORRELATION_LEAST < one.value < 0,
        ),
    }
    figures = []
    for name, title, means, bounds in (
        ("X-05_fig1", "Throughput, TFRC / TCP", fairness.means, rows.FAIRNESS),
        ("X-07_fig3", "Smoothness index, TFRC / TCP", smoothness.means, rows.SMOOTHNESS),
        ("X-08_fig4", "Loss rate, TFRC / TCP", loss.means, (1.0,)),
        ("X-09_fig5", "Prediction error of loss intervals", errors, (*SHORT, *LONG)),
        ("X-11_fig7", "Correlation of predicted and true loss interval", correlation.means, (-0.3, 0.3)),
    ):
        figures.append(folder / f"{name}.svg")
        rows.draw(figures[-1], title, means, bounds)
    lines = [f"{row}: {verdict.verdict}: {verdict.measured}" for row, verdict in verdicts.items()]
    lines += [
        f"{place}, {rate:g} kb/s: TCP {_kbps(of, 'tcp_bps')} and TFRC {_kbps(of, 'tfrc_bps')} kb/s a flow"
        for (place, rate), of in sorted(runs.items())
    ]
    return Check(all(row.verdict != "fail" for row in verdicts.values()), lines, {}, figures, verdicts)


def _scenario(row: Row) -> rows.Scenario:
    return _place(row["hops"]), row["sweep.flows.20.rate_bps"] / 1e3


def _known_ratio(scenario: rows.Scenario, ratio: Mean) -> bool:
    inverted = scenario[0] not in [_place(hops) for hops in HOPS if hops < INVERTED_FROM_HOPS]
    most = KNOWN_RATIO_MOST if inverted else rows.FAIRNESS[1]
    return rows.FAIRNESS[0] <= ratio.value <= most


def _place(hops: int) -> str:
    return f"{hops} hop{'s' * (hops > 1)}"


def _kbps(of: list[Measured], name: str) -> str:
    found = rows.over_runs(of, name)
    assert found is not None
    return f"{found.value / 1e3:.1f} ± {found.half / 1e3:.1f}"


def _harness(results: Results) -> RowVerdict:
    """X-03: 2 to 7 nodes, every flow there and none stalled; what reaches the end of the CBR flow."""
    kinds: dict[str, dict[str, int]] = {}
    for row in results.flows:
        of = kinds.setdefault(row["run"], {})
        of[row["kind"]] = of.get(row["kind"], 0) + 1
    wrong = []
    if sorted({row["hops"] for row in results.flows}) != list(HOPS):
        wrong.append("not the chains of 2 to 7 nodes")
    if any(of != FLOWS for of in kinds.values()):
        wrong.append("other flows than ten of TCP, ten of TFRC and one of CBR")
    if stalled := sum(not row["delivered_packets"] for row in results.flows):
        wrong.append(f"{stalled} flows got nothing through")
    cbr = [1 - (row["loss_share"] or 0.0) for row in results.flows if row["kind"] == "cbr"]
    measured = (
        f"{len(kinds)} runs over 2 to 7 nodes, 10 TCP-SACK, 10 TFRC and a CBR flow each; every flow got packets "
        f"through, CBR {min(cbr):.0%} to {max(cbr):.0%} of its own"
    )
    return RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, measured]))


def _prediction(errors: dict[rows.Scenario, Mean]) -> RowVerdict:
    """X-09: the mean error of each scenario in the band of its length."""
    wrong = {}
    for hops in HOPS:
        low, high = LONG if hops >= LONG_FROM_HOPS else SHORT
        wrong |= {
            scenario: error
            for scenario, error in errors.items()
            if scenario[0] == _place(hops) and not low <= error.value <= high
        }
    bands = f"bands {SHORT[0]:g} to {SHORT[1]:g} up to 3 hops, {LONG[0]:g} to {LONG[1]:g} beyond"
    told = f"mean error, {rows.by_place(errors)} ({bands})"
    if wrong:
        told = f"outside the band at {', '.join(f'{place} with {rate:g} kb/s' for place, rate in wrong)}; {told}"
    if wrong and all(_known_error(scenario, error) for scenario, error in wrong.items()):
        return RowVerdict("finding", told, rows.intervals(errors), ERROR_EVIDENCE)
    return RowVerdict("fail" if wrong else "pass", told, rows.intervals(errors))


def _known_error(scenario: rows.Scenario, error: Mean) -> bool:
    """Too much, by short intervals at one hop and two, by few of them where the path is out."""
    short = scenario[0] in (_place(1), _place(2))
    most = KNOWN_ERROR_MOST_SHORT if short else KNOWN_ERROR_MOST
    return LONG[0] < error.value <= most
