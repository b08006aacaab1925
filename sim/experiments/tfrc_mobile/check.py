# SPDX-License-Identifier: GPL-2.0-or-later
"""The dynamic scenarios of paper 002 (row X-04, and the mobile half of X-05 to X-08 and X-11)."""

from __future__ import annotations

import json
from pathlib import Path

from perhop.reproduce import tfrc_rows as rows
from perhop.reproduce.tfrc_runs import Measured, measure
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row

AREAS = {"600 x 600 m": 50, "1500 x 300 m": 60}
FLOWS = {"tcp": 10, "tfrc": 10, "cbr": 10}
FASTEST_MPS = 10.0

# What TREND_EVIDENCE speaks of: every ratio is in its bounds.
TREND_EVIDENCE = """The ratio is in its bounds in each scenario, and TFRC gets less than TCP in all; that it falls with the background was not found, here as little as over chains, where ns-2.35 has it rise in five of six places (row X-05's chains). The paper names no rates; tried are 1, 4 and 8 kb/s for each of ten CBR flows."""  # noqa: E501
# What CHANGES_EVIDENCE speaks of: TCP changes more in most steps, if not in seven of ten, of every scenario.
KNOWN_CHANGES_LEAST = 0.5
CHANGES_EVIDENCE = """Where nodes move, TCP's rate changes more than TFRC's in nearly as many steps as the row asks, and the traces cannot tell the share from 70 %. Changes are counted in kb/s: the smaller TFRC's part of the throughput, the more often TCP's is the larger one. With the background the ratio TFRC / TCP falls here (row X-05), and the share rises. ns-2.35 with the same flows over the same traces (sim/bench/ns2_tfrc.tcl, 4 kb/s, 1000 s, one seed) gives 78, 63 and 82 % in three traces of 600 x 600 m, and 75 and 81 % in two of 1500 x 300 m, at ratios of 0.14, 0.28, 0.09, 0.39 and 0.15, which are lower than here. Tried: shares by area and background, above."""  # noqa: E501


def check(results: Results | None, folder: Path) -> Check:
    """Each row by the rule that holds for the chains, too."""
    assert results is not None
    measured = measure(results, folder)
    runs: dict[rows.Scenario, list[Measured]] = {}
    for first in (row for row in results.flows if row["flow"] == 0):
        scenario = (_place(first), first["sweep.flows"][-1]["rate_bps"] / 1e3)
        runs.setdefault(scenario, []).append(measured[first["run"]])
    fairness, smoothness, loss = rows.fairness(runs), rows.smoothness(runs), rows.loss(runs)
    correlation, errors = rows.correlation(runs), rows.means(runs, "prediction_error")
    verdicts = {
        "X-04": _harness(results, json.loads((folder / "provenance.json").read_text())),
        "X-05": fairness.verdict(TREND_EVIDENCE, lambda _, ratio: rows.FAIRNESS[0] <= ratio.value <= rows.FAIRNESS[1]),
        "X-06": rows.short_term(runs).verdict(CHANGES_EVIDENCE, lambda _, share: share.value >= KNOWN_CHANGES_LEAST),
        "X-07": smoothness.verdict(),
        "X-08": loss.verdict(),
        "X-11": correlation.verdict(),
    }
    figure = folder / "X-04_dynamic.svg"
    rows.draw(figure, "Nodes that move: throughput, TFRC / TCP", fairness.means, rows.FAIRNESS)
    lines = [f"{row}: {verdict.verdict}: {verdict.measured}" for row, verdict in verdicts.items()]
    lines.append(f"prediction error of loss intervals, {rows.by_place(errors)}")
    passed = all(row.verdict != "fail" for row in verdicts.values())
    return Check(passed, lines, {}, [figure], verdicts)


def _place(row: Row) -> str:
    area = row["sweep.topology"]
    return f"{area['width_m']:g} x {area['height_m']:g} m"


def _harness(results: Results, provenance: dict) -> RowVerdict:
    """X-04: both areas and their nodes, flows of all kinds, no trace with a partition."""
    wrong = []
    areas = {
        _place(row): (row["sweep.topology"]["nodes"], row["sweep.topology"]["max_speed_mps"]) for row in results.flows
    }
    if areas != {place: (nodes, FASTEST_MPS) for place, nodes in AREAS.items()}:
        wrong.append("other areas, nodes or speeds than the paper's")
    kinds: dict[str, dict[str, int]] = {}
    for row in results.flows:
        of = kinds.setdefault(row["run"], {})
        of[row["kind"]] = of.get(row["kind"], 0) + 1
    if any(of != FLOWS for of in kinds.values()):
        wrong.append("other flows than ten of each kind")
    traces = {json.dumps(point["topology"], sort_keys=True): row for point, row in _motion(provenance)}
    if parted := sum(row["partitioned_at_s"] is not None for row in traces.values()):
        wrong.append(f"{parted} traces have a partition")
    if stalled := sum(not row["delivered_packets"] for row in results.flows if row["kind"] != "cbr"):
        wrong.append(f"{stalled} flows of TCP or TFRC got nothing through")
    rejected = sum(row["rejected"] for row in traces.values())
    failures = [row["link_failures"] / row["measured_s"] for row in results.runs]
    measured = (
        f"{len(kinds)} runs in {len(traces)} traces of two areas, never partitioned ({rejected} rejected before them), "
        f"10 TCP-SACK, 10 TFRC and 10 CBR flows; {min(failures):.2f} to {max(failures):.2f} link failures a second"
    )
    return RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, measured]))


def _motion(provenance: dict) -> list[tuple[dict, dict]]:
    return list(zip(provenance["points"], provenance["motion"], strict=True))
