# SPDX-License-Identifier: GPL-2.0-or-later
"""Collects what the runs measured into tables, and writes them beside the exact configuration.

results.parquet  one row a flow and interval
runs.parquet     one row a run, those without results too: what became of it, the sum over its flows, Jain's index
flows.parquet    one row a run and flow: means over the measured time
hops.parquet     one row a run, link and direction: where the service time went
queues.parquet   one row a run, node and interval at which packets waited in front of the MAC
packets.pcapng   the packets of one run
records          what outputs.completions asks for, in parts by run and nodes (perhop.study.records)
provenance.json  configuration, version, seeds, command, reception rule
"""

from __future__ import annotations

import csv
import datetime
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from perhop import files, paths
from perhop.experiment import motion
from perhop.experiment.load import Point
from perhop.study import records
from perhop.study.outcomes import Outcome, Study

# The ten parts of a completion record; they sum to t_done - t_enqueue.
PARTS = (
    "queue",
    "ifs",
    "backoff",
    "frozen_cca",
    "frozen_nav",
    "control",
    "data",
    "response",
    "timeout",
    "responder",
)

FLOW_NUMBERS = (
    "goodput_bps",
    "packets_per_s",
    "delivered_packets",
    "rtt_ms",
    "cwl_packets",
    "cwnd_packets",
    "retransmissions",
    "timeouts",
    "rtt_p95_ms",
    "tcp_acks_sent",
    "tcp_acks_per_packet",
    "tcp_acks_held",
    "tcp_acks_window_share",
    "tcp_acks_timer_share",
    "tcp_acks_disorder_share",
    "tcp_acks_repeated",
    "mac_drops_data_packets",
    "mac_drops_tcp_ack_packets",
    "queue_drops_data_packets",
    "queue_drops_tcp_ack_packets",
    "link_failure_drops_packets",
    "link_failure_drops_data_packets",
    "max_packets_in_flight",
    "completion_s",
    "sent_packets",
    "loss_share",
    "delay_ms",
    "delay_p95_ms",
    "rate_signal_bps",
    "allowed_rate_bps",
    "app_rate_bps",
    "rate_changes",
    "signal_changes",
    "loss_event_rate",
    "loss_intervals",
    "loss_prediction_error",
    "no_feedback_halvings",
)
INTERVAL_NUMBERS = (
    "t_start_s",
    "t_end_s",
    "goodput_bps",
    "rtt_ms",
    "cwl_packets",
    "cwnd_packets",
    "sent_packets",
    "delivered_packets",
    "delay_ms",
    "rate_signal_bps",
    "allowed_rate_bps",
    "app_rate_bps",
    "loss_event_rate",
)
HOP_NUMBERS = (
    "packets",
    "service_time_us",
    "contention_us",
    "airtime_us",
    "rts_attempts",
    "data_attempts",
    "retries",
    "drops",
    "path_header_delay_us",
)
QUEUE_NUMBERS = ("t_start_s", "t_end_s", "queue_packets", "queue_most_packets")
TABLE_NUMBERS = ("mean_service_us", "avg_contention_us", "avg_overhead_us", "avg_data_attempts")

Row = dict[str, Any]


@dataclass(frozen=True)
class Results:
    """Rows of the runs that have results; `interrupted` marks those of runs that were cut short.

    `runs` has a row for each run that was asked for. `queues` are those of runs of perhop-sim; a node and interval
    without a row had nothing waiting.
    """

    flows: list[Row]
    hops: list[Row]
    intervals: list[Row]
    runs: list[Row] = field(default_factory=list)
    queues: list[Row] = field(default_factory=list)


def collect(study: Study) -> Results:
    """Read the results of every finished and interrupted run, in the order of the runs."""
    results = Results([], [], [])
    for outcome in study.outcomes:
        about = _about(outcome)
        flows = []
        if outcome.result is not None:
            for index, flow in enumerate(outcome.result["flows"]):
                ends = {"flow": index, "kind": flow["kind"], "src": flow["src"], "dst": flow["dst"]}
                flows.append({**about, **ends, **{name: _number(flow.get(name)) for name in FLOW_NUMBERS}})
            results.flows.extend(flows)
            results.hops.extend({**about, **_hop(hop)} for hop in outcome.result["hops"])
            results.intervals.extend({**about, **row} for row in _intervals(outcome))
            results.queues.extend({**about, **row} for row in _queues(outcome))
        results.runs.append({**about, **_run(outcome, flows)})
    return results


def goodput_sum_bps(flows: list[Row]) -> float | None:
    """The sum of the goodput of one run's flows; None where none was measured."""
    rates = [row["goodput_bps"] for row in flows if row["goodput_bps"] is not None]
    return sum(rates) if rates else None


def jain(rates: Sequence[float]) -> float | None:
    """Jain's index of fairness: 1 when all are equal, 1/n when one has everything; None when nobody has anything."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else None


def jain_of_flows(flows: list[Row]) -> float | None:
    """Jain's index of the goodput of one run's flows; None with less than two."""
    rates = [row["goodput_bps"] for row in flows if row["goodput_bps"] is not None]
    return jain(rates) if len(rates) > 1 else None


def read(folder: Path, intervals: bool = False) -> Results:
    """What `write` wrote, the rows of intervals only if asked for.

    Raises OSError, ValueError (pyarrow's errors are among these).
    """
    names = ("flows.parquet", "hops.parquet", "runs.parquet", *(["results.parquet"] if intervals else []))
    flows, hops, runs, *of_intervals = (pq.read_table(folder / name).to_pylist() for name in names)
    return Results(flows, hops, of_intervals[0] if intervals else [], runs)


def write(study: Study, results: Results, points: list[Point], command: list[str], source: Path) -> dict[str, Path]:
    """Write every output file but the report; returns name -> path."""
    folder = study.folder
    written = {
        "parquet": folder / "results.parquet",
        "flows": folder / "flows.parquet",
        "hops": folder / "hops.parquet",
        "runs": folder / "runs.parquet",
        "provenance": folder / "provenance.json",
        "experiment": folder / "experiment.yaml",
    }
    _parquet(written["parquet"], results.intervals)
    _parquet(written["flows"], results.flows)
    _parquet(written["hops"], results.hops)
    _parquet(written["runs"], results.runs)
    if results.queues:
        written["queues"] = folder / "queues.parquet"
        _parquet(written["queues"], results.queues)
    else:
        (folder / "queues.parquet").unlink(missing_ok=True)
    files.write_json(written["provenance"], provenance(study, points, command, source))
    files.write_whole(written["experiment"], lambda temporary: shutil.copyfile(source, temporary) and None)
    if (parts := records.write(study, folder)) is not None:
        written["records"] = parts
    recorded = packets(study)
    if recorded is not None and recorded.folder is not None:
        packet_file = recorded.folder / "packets.pcapng"
        written["pcapng"] = folder / "packets.pcapng"
        files.write_whole(written["pcapng"], lambda temporary: shutil.copyfile(packet_file, temporary) and None)
    return written


def packets(study: Study) -> Outcome | None:
    """The run whose packets are shown: with the most hops, the first seed and the last policy of those recorded.

    One that was cut short is shown where none has finished; what a run recorded that died is not.
    """
    recorded = [
        outcome
        for outcome in study.outcomes
        if outcome.folder is not None and outcome.result is not None and (outcome.folder / "packets.pcapng").is_file()
    ]
    first_seed = study.outcomes[0].run.seed
    chosen = [
        (outcome.status == "finished", outcome.run.hops, outcome.run.seed == first_seed, index)
        for index, outcome in enumerate(recorded)
    ]
    return recorded[max(chosen)[-1]] if chosen else None


def provenance(study: Study, points: list[Point], command: list[str], source: Path) -> Row:
    """All it takes to make these results again."""
    experiment = points[0].experiment
    recorded = packets(study)
    return {
        "version": paths.version(),
        "command": command,
        "experiment_file": paths.shown(source),
        "experiment": experiment.model_dump(),
        "points": [point.swept for point in points],
        **_motion(points, source),
        "seeds": experiment.seeds,
        "reception": experiment.medium.reception,
        "fidelity": experiment.mac.fidelity,
        "backend": study.outcomes[0].run.config.get("realtime", {"backend": "sim"})["backend"],
        "programs_sha256": study.program_hashes,
        "packets_of": recorded.title if recorded else None,
        "made_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "host": {"machine": platform.machine(), "cpus": os.cpu_count(), "python": sys.version.split()[0]},
        "wall_s": round(study.wall_s, 3),
        "runs": [
            {
                "id": outcome.run.id,
                "label": outcome.run.label,
                "status": outcome.status,
                "reused": outcome.reused,
                "fidelity": (outcome.result or {}).get("fidelity"),
            }
            for outcome in study.outcomes
        ],
    }


def _motion(points: list[Point], source: Path) -> Row:
    """What the mobile topology of each point is like, if there is any."""
    told = [motion.about(point.experiment, source.parent) for point in points]
    return {"motion": [about.row() if about else None for about in told]} if any(told) else {}


def _about(outcome: Outcome) -> Row:
    run, result = outcome.run, outcome.result or {}
    return {
        "run": run.id,
        "label": run.label,
        "hops": run.hops,
        "policy": run.policy,
        "seed": run.seed,
        **{f"sweep.{name}": value for name, value in run.swept.items()},
        "reception": run.config["medium"]["reception"],
        "profile": run.config["mac"]["profile"],
        "compat": run.config["mac"]["compat"],
        "fidelity": result.get("fidelity", "core"),  # what ran; results of before said nothing
        "backend": result.get("backend", run.config.get("realtime", {}).get("backend", "sim")),
        "routing": run.config.get("routing", "static"),
        "interrupted": outcome.status != "finished",
    }


def _run(outcome: Outcome, flows: list[Row]) -> Row:
    return {
        "status": outcome.status,
        "message": outcome.message,
        "measured_s": _number((outcome.result or {}).get("measured_s")),
        "trace_hash": (outcome.result or {}).get("trace_hash"),  # of all transmissions, to the microsecond
        "flows": len(outcome.run.config["flows"]),
        "link_failures": (outcome.result or {}).get("link_failures"),
        "false_link_failures": (outcome.result or {}).get("false_link_failures"),
        "goodput_sum_bps": goodput_sum_bps(flows),
        "jain_index": jain_of_flows(flows),
    }


def _hop(hop: Row) -> Row:
    table = hop.get("neighbour_table") or {}
    parts = hop.get("parts_us") or {}
    return {
        "from": hop["from"],
        "to": hop["to"],
        "direction": hop.get("direction", ""),
        **{name: _number(hop.get(name)) for name in HOP_NUMBERS},
        **{f"{name}_us": _number(parts.get(name)) for name in PARTS},
        **{f"table_{name}": _number(table.get(name)) for name in TABLE_NUMBERS},
    }


def _intervals(outcome: Outcome) -> Iterator[Row]:
    assert outcome.folder is not None and outcome.result is not None
    file = outcome.folder / "intervals.csv"
    if not file.is_file():
        return
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            flow = int(row["flow"])
            ends = outcome.result["flows"][flow]
            yield {
                "flow": flow,
                "kind": ends["kind"],
                "src": ends["src"],
                "dst": ends["dst"],
                **{name: _number(row.get(name)) for name in INTERVAL_NUMBERS},
            }


def _queues(outcome: Outcome) -> Iterator[Row]:
    assert outcome.folder is not None
    file = outcome.folder / "queues.csv"
    if not file.is_file():
        return
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            yield {"node": int(row["node"]), **{name: _number(row[name]) for name in QUEUE_NUMBERS}}


def _number(value: Any) -> float | None:
    """A float for every number, so that a column has one type; None where there is nothing."""
    return None if value in (None, "") else float(value)


def _parquet(path: Path, rows: list[Row]) -> None:
    table = pa.Table.from_pylist([{key: _cell(value) for key, value in row.items()} for row in rows])
    files.write_whole(path, lambda temporary: pq.write_table(table, temporary))


def _cell(value: Any) -> Any:
    """Swept sections and lists become text: a parquet column has one type."""
    return str(value) if isinstance(value, dict | list) else value
