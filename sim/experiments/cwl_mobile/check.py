# SPDX-License-Identifier: GPL-2.0-or-later
"""The mobile set of paper 000 (rows B-17 to B-20, the mobile half of B-21): window limits between nodes that move.

Every comparison is within a trace: the mean of each trace's own difference, with its interval over the traces.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import traces
from perhop.report.figures import drawing, means_line
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row
from perhop.study.summaries import Mean, gain, mean

LARGE, HOP, DELAY = "no limit", "hop", "delay"
PACED = {HOP: "hop + paced", DELAY: "delay + paced"}
NAMES = {LARGE: "256", HOP: "hop-based", DELAY: "delay-based"}
TRACES_LEAST = 5
HOP_GAIN, DELAY_GAIN = (0.05, 0.20), (0.0, 0.15)
PACED_MOST = 0.05
LARGEST_RTO_MS = 2000
HOP_ABOVE_SHARE = 0.8  # four of five loads

# What GAIN_EVIDENCE speaks of: neither limit gains or loses much.
KNOWN_HOP_GAIN, KNOWN_DELAY_GAIN = (-0.08, 0.03), (-0.15, 0.03)
GAIN_EVIDENCE = """TCP with a window of 256 packets carries here what the hop-based limit carries, at six times its round trip (row B-20). ns-2.35 with ten flows on five such traces (`make peers`, DSR, 200 s) gives 256 packets 1211 kb/s and the hop-based limit 1283 kb/s, +6 %, which is below the paper's 8 to 16 %, too; here the same runs give 1302 and 1286 kb/s. So the hop-based limit agrees with ns-2's within 1 %, and it is 256 that does better here than there. Tried: TCP that takes duplicates of different TCP ACKs together, as ns-3 ships it, has 1228 kb/s with 256; loads, and traces, above. Why ns-2's TCP with 256 packets does worse is open."""  # noqa: E501
# What PACED_EVIDENCE speaks of: pacing costs the smaller, delay-based limit a good part, and the hop-based one little.
KNOWN_PACED = {HOP: (-0.10, 0.05), DELAY: (-0.30, -0.08)}
PACED_EVIDENCE = """A packet waits for its TCP ACK, since the window is of one to three packets, and for its turn, a smoothed round trip over the window after the last. So the time between packets is the larger of the two, whose mean is above the round trip's: by 37 % under a window of one packet if round trips were exponential. Among many flows between nodes that move round trips vary that much; on a chain with one flow they hardly do, and there pacing costs nothing under small limits. The smaller the window, the more it costs: the delay-based limit loses more than the hop-based one at every load. This is reckoned, not measured. ns-2.35 has no paced TCP to set beside it. Tried: loads and traces, above."""  # noqa: E501


@dataclass(frozen=True)
class Cell:
    """A policy under a load: each number by trace."""

    goodput_bps: dict[int, float]
    rtt_ms: dict[int, float]
    drops: dict[int, float]  # packets dropped for one that arrived
    false_failures: dict[int, float]  # a second


Cells = dict[tuple[int, str], Cell]


def check(results: Results | None, folder: Path) -> Check:
    """Gains in the paper's bounds, the order of the limits, less delay and fewer drops, little from pacing."""
    assert results is not None
    cells = _cells(results)
    loads = sorted({load for load, _ in cells})
    rows = {
        "B-17": traces.scenario(json.loads((folder / "provenance.json").read_text())),
        "B-18": _same_traces(results, folder),
        "B-19": _gains(cells, loads),
        "B-20": _delay_and_drops(cells, loads),
        "B-21": _pacing(cells, loads),
        "B-26": _related(results, folder),
    }
    figures = [folder / "B-19_fig9a.svg", folder / "B-20_fig9bc.svg"]
    _draw_gains(figures[0], cells, loads)
    _draw_delay_and_drops(figures[1], cells, loads)
    return Check(all(row.verdict != "fail" for row in rows.values()), _lines(cells), {}, figures, rows)


def _cells(results: Results) -> Cells:
    runs = {row["run"]: row for row in results.runs}
    flows: dict[str, list[Row]] = {}
    for row in results.flows:
        flows.setdefault(row["run"], []).append(row)
    cells: Cells = {}
    for run, rows in flows.items():
        cell = cells.setdefault((len(rows), rows[0]["policy"]), Cell({}, {}, {}, {}))
        trace = rows[0]["sweep.topology.seed"]
        delivered = sum(row["delivered_packets"] for row in rows)
        dropped = sum(
            row["mac_drops_data_packets"] + row["queue_drops_data_packets"] + row["link_failure_drops_packets"]
            for row in rows
        )
        cell.goodput_bps[trace] = sum(row["goodput_bps"] for row in rows)
        # Of packets: who delivers more counts for more.
        cell.rtt_ms[trace] = sum((row["rtt_ms"] or 0.0) * row["delivered_packets"] for row in rows) / (delivered or 1.0)
        cell.drops[trace] = dropped / (delivered or 1.0)
        cell.false_failures[trace] = runs[run]["false_link_failures"] / runs[run]["measured_s"]
    return cells


def _same_traces(results: Results, folder: Path) -> RowVerdict:
    """B-18: under a load and a trace, all contenders have the same nodes, moves and flows."""
    told: dict[tuple[int, int], set[str]] = {}
    contenders: dict[tuple[int, int], set[str]] = {}
    for row in results.runs:
        config = json.loads((folder / "runs" / row["run"] / "run.json").read_text())
        key = (row["flows"], row["sweep.topology.seed"])
        ends = [(flow["src"], flow["dst"], flow["start_s"]) for flow in config["flows"]]
        told.setdefault(key, set()).add(json.dumps([config["nodes"], config["events"], ends, config["seed"]]))
        contenders.setdefault(key, set()).add(row["policy"])
    wrong = []
    if different := sum(len(scenes) > 1 for scenes in told.values()):
        wrong.append(f"in {different} of {len(told)} the contenders have different traces")
    if absent := sum(not {LARGE, HOP, DELAY} <= names for names in contenders.values()):
        wrong.append(f"in {absent} of {len(told)} a contender is missing")
    measured = f"256, hop-based and delay-based on the same moves and pairs in {len(told)} pairs of load and trace"
    return RowVerdict("fail" if wrong else "pass", "; ".join([*wrong, measured]))


def _gains(cells: Cells, loads: list[int]) -> RowVerdict:
    """B-19: both gains in bounds in the mean over the traces at every load, hop-based above in four of five loads."""
    gains = {policy: {load: _gain(cells, load, policy) for load in loads} for policy in (HOP, DELAY)}
    wrong = []
    for policy, bounds in ((HOP, HOP_GAIN), (DELAY, DELAY_GAIN)):
        outside = [load for load in loads if not bounds[0] <= gains[policy][load].value <= bounds[1]]
        if outside:
            wrong.append(f"{NAMES[policy]} outside {bounds[0]:.0%} to {bounds[1]:.0%} with {_list(outside)} flows")
    above = [load for load in loads if gains[HOP][load].value >= gains[DELAY][load].value]
    if len(above) < HOP_ABOVE_SHARE * len(loads):
        wrong.append(f"hop-based at least delay-based at {len(above)} of {len(loads)} loads only")
    count = min(gain.count for of in gains.values() for gain in of.values())
    if count < TRACES_LEAST:
        wrong.append(f"{count} traces a load, less than {TRACES_LEAST}")
    clauses = [
        f"{load} flows: hop-based {_percent(gains[HOP][load])}, delay-based {_percent(gains[DELAY][load])}, false link "
        f"failures a second {_failures(cells, load)}"
        for load in loads
    ]
    interval = f"95 % over {count} traces, of the differences within a trace, after ±"
    known = count >= TRACES_LEAST and all(
        _within(gains[policy][load], bounds)
        for policy, bounds in ((HOP, KNOWN_HOP_GAIN), (DELAY, KNOWN_DELAY_GAIN))
        for load in loads
    )
    return _verdict(wrong, "; ".join([*wrong, *clauses]), interval, known, GAIN_EVIDENCE)


def _delay_and_drops(cells: Cells, loads: list[int]) -> RowVerdict:
    """B-20: round trip and drops for a packet that arrives are below those of 256 at each load."""
    wrong = []
    clauses = []
    for load in loads:
        large = cells[load, LARGE]
        for policy in (HOP, DELAY):
            of = cells[load, policy]
            for name, ours, theirs in (("delay", of.rtt_ms, large.rtt_ms), ("drops", of.drops, large.drops)):
                if not _mean(ours).value < _mean(theirs).value:
                    wrong.append(f"{NAMES[policy]} has no less {name} with {load} flows")
        clauses.append(
            f"{load} flows: "
            + ", ".join(
                f"{NAMES[policy]} {_mean(cells[load, policy].rtt_ms).value:.0f} ms and "
                f"{_mean(cells[load, policy].drops).value:.3f}"
                for policy in NAMES
            )
        )
    measured = "; ".join([*wrong, "round trip and drops for a packet that arrived", *clauses])
    return RowVerdict("fail" if wrong else "pass", measured)


def _pacing(cells: Cells, loads: list[int]) -> RowVerdict:
    """B-21: paced over unpaced within 5 % in the mean over the traces, at every load and under both limits."""
    ratios = {(load, policy): _gain(cells, load, PACED[policy], policy) for load in loads for policy in PACED}
    outside = [case for case, value in ratios.items() if not abs(value.value) < PACED_MOST]
    told = "mobile set, paced over unpaced: " + ", ".join(
        f"{NAMES[policy]} with {load} flows {_percent(value)}" for (load, policy), value in ratios.items()
    )
    if outside:
        cases = ", ".join(f"{NAMES[policy]} with {load} flows" for load, policy in outside)
        told = f"not within {PACED_MOST:.0%}: {cases}; {told}"
    known = all(_within(value, KNOWN_PACED[policy]) for (_, policy), value in ratios.items())
    return _verdict(outside, told, "95 % over traces, after ±", known, PACED_EVIDENCE)


def _related(results: Results, folder: Path) -> RowVerdict:
    """B-26 is optional and has no number. The paper takes of these schemes that timeouts do not grow for long."""
    bounds = set()
    for row in results.runs:
        config = json.loads((folder / "runs" / row["run"] / "run.json").read_text())
        bounds |= {flow.get("max_rto_ms") for flow in config["flows"]}
    measured = (
        "optional, and the paper gives no number: TCP-ELFN, TCP-F, fixed RTO and TCP-Probing are not built; as in the "
        f"paper, a largest timeout of {', '.join(map(str, bounds))} ms stands in for them in every flow"
    )
    return RowVerdict("pass" if bounds == {LARGEST_RTO_MS} else "fail", measured)


def _verdict(wrong: Sequence[object], measured: str, interval: str, known: bool, evidence: str) -> RowVerdict:
    """A row that is wrong in the way that its evidence speaks of is a finding."""
    if not wrong:
        return RowVerdict("pass", measured, interval)
    return RowVerdict("finding", measured, interval, evidence) if known else RowVerdict("fail", measured, interval)


def _within(value: Mean, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= value.value <= bounds[1]


def _gain(cells: Cells, load: int, policy: str, base: str = LARGE) -> Mean:
    return gain(cells[load, policy].goodput_bps, cells[load, base].goodput_bps)


def _mean(of: dict[int, float]) -> Mean:
    found = mean(of.values())
    assert found is not None
    return found


def _percent(value: Mean) -> str:
    return f"{value.value:+.1%} ± {value.half:.1%}" if value.count > 1 else f"{value.value:+.1%}"


def _list(loads: list[int]) -> str:
    return ", ".join(map(str, loads))


def _failures(cells: Cells, load: int) -> str:
    return " / ".join(f"{_mean(cells[load, policy].false_failures).value:.2f}" for policy in NAMES)


def _lines(cells: Cells) -> list[str]:
    return [
        f"{load:>2} flows, {policy:<13}: {_mean(cell.goodput_bps).value / 1e3:.0f} ± "
        f"{_mean(cell.goodput_bps).half / 1e3:.0f} kb/s in all, {_mean(cell.rtt_ms).value:.0f} ms, "
        f"{_mean(cell.drops).value:.3f} drops a packet, {_mean(cell.false_failures).value:.2f} false link failures "
        "a second"
        for (load, policy), cell in sorted(cells.items())
    ]


def _draw_gains(file: Path, cells: Cells, loads: list[int]) -> None:
    with drawing(file, columns=2, height=3.6) as (figure, axes):
        for index, policy in enumerate(NAMES):
            points = [(load, _mean(cells[load, policy].goodput_bps)) for load in loads]
            means_line(axes[0], points, index, NAMES[policy], 1e-3)
        axes[0].set(xlabel="flows", ylabel="kb/s, all flows", xticks=loads)
        axes[0].set_ylim(bottom=0)
        axes[0].set_title("Throughput", loc="left")
        for index, policy in enumerate((HOP, DELAY), start=1):
            means_line(axes[1], [(load, _gain(cells, load, policy)) for load in loads], index, NAMES[policy], 100)
        axes[1].axhline(0, color="#9AA5B1", linewidth=1.2)
        axes[1].set(xlabel="flows", ylabel="% above a window of 256", xticks=loads)
        axes[1].set_title("Gain within a trace", loc="left")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)


def _draw_delay_and_drops(file: Path, cells: Cells, loads: list[int]) -> None:
    with drawing(file, columns=2, height=3.6) as (figure, axes):
        for index, policy in enumerate(NAMES):
            means_line(axes[0], [(n, _mean(cells[n, policy].rtt_ms)) for n in loads], index, NAMES[policy])
            means_line(axes[1], [(n, _mean(cells[n, policy].drops)) for n in loads], index, NAMES[policy])
        for axis, label, title in zip(
            axes, ("ms", "drops a packet that arrived"), ("Round-trip time", "Drops"), strict=True
        ):
            axis.set(xlabel="flows", ylabel=label, xticks=loads)
            axis.set_ylim(bottom=0)
            axis.set_title(title, loc="left")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
