# SPDX-License-Identifier: GPL-2.0-or-later
"""Results for programs: one JSON object a study, and the RESULT line that ends a make target."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from perhop import files, paths
from perhop.study.studies import Finished
from perhop.study.summaries import FlowSummary, Hop, Mean, Summary


def as_json(done: Finished, run_s: float) -> dict[str, Any]:
    """The study as plain values. `setup_s` is null unless PERHOP_SETUP_S says how long `make` took to set up."""
    setup_s = os.environ.get("PERHOP_SETUP_S")
    value: dict[str, Any] = {
        "name": done.plan.name,
        "setup_s": float(setup_s) if setup_s else None,
        "run_s": round(run_s, 2),
        "runs": {
            status: sum(outcome.status == status for outcome in done.study.outcomes)
            for status in ("finished", "interrupted", "failed", "pending")
        },
        "runs_reused": done.study.reused,
        "reception": done.plan.points[0].experiment.medium.reception,
        "rows": [row(summary) for summary in done.summaries],
        "completions_checked": done.study.total("completions_checked"),
        "sum_mismatches": done.study.total("sum_mismatches"),
    }
    for name in ("report", "pcapng", "parquet"):
        value[name] = paths.shown(done.written[name]) if name in done.written else None
    if done.check is not None:
        value |= {"check_passed": done.check.passed, **done.check.numbers}
    return value


def row(summary: Summary) -> dict[str, Any]:
    """One line of the table; per-hop lists are of data packets, in path order. What was not measured is null.

    With several flows, goodput, resends and timeouts are sums over all of them (`goodput_is` says so), RTT and windows
    means over those that have one; `flows` has each by itself, `links` names what a hop is, in both directions.
    """
    hops = summary.forward
    return {
        "hops": summary.hops,
        "policy": summary.policy,
        **{name: value for name, value in summary.swept.items() if name != "topology.hops"},
        "goodput_bps": _value(summary.goodput_bps, 0),
        "goodput_bps_95": _half(summary.goodput_bps, 0),
        "goodput_is": f"sum of {len(summary.flows)} flows" if len(summary.flows) > 1 else "of one flow",
        "jain_index": _value(summary.jain, 4),
        "rtt_ms": _value(summary.rtt_ms, 2),
        "cwl_packets": _value(summary.cwl_packets, 2),
        "cwnd_packets": _value(summary.cwnd_packets, 2),
        "service_time_us": [round(hop.service_time_us, 1) for hop in hops],
        "contention_us": [round(hop.contention_us, 1) for hop in hops],
        "airtime_us": [round(hop.airtime_us, 1) for hop in hops],
        "retries": _rounded(summary.retries),
        "drops": _rounded(summary.drops),
        "retransmissions": _rounded(summary.retransmissions),
        "timeouts": _rounded(summary.timeouts),
        "seeds": summary.seeds,
        "seeds_asked": summary.seeds_asked,
        "interrupted": summary.interrupted,
        "flows": [_flow(flow) for flow in summary.flows],
        "links": [_link(hop) for hop in summary.links],
    }


def _flow(flow: FlowSummary) -> dict[str, Any]:
    return {
        "flow": flow.index,
        "kind": flow.kind,
        "src": flow.src,
        "dst": flow.dst,
        "goodput_bps": _value(flow.goodput_bps, 0),
        "goodput_bps_95": _half(flow.goodput_bps, 0),
        "rtt_ms": _value(flow.rtt_ms, 2),
        "cwl_packets": _value(flow.cwl_packets, 2),
        "cwnd_packets": _value(flow.cwnd_packets, 2),
        "retransmissions": _value(flow.retransmissions, 1),
        "timeouts": _value(flow.timeouts, 1),
    }


def _link(hop: Hop) -> dict[str, Any]:
    return {
        "from": hop.sender,
        "to": hop.receiver,
        "direction": hop.direction,
        "packets": round(hop.packets, 1),
        "service_time_us": round(hop.service_time_us, 1),
        "contention_us": round(hop.contention_us, 1),
        "airtime_us": round(hop.airtime_us, 1),
        "retries": round(hop.retries, 1),
        "drops": round(hop.drops, 1),
    }


def print_result(target: str, value: dict[str, Any], folder: Path | None = None) -> None:
    """Print the RESULT line, which must be the last, and write the same object to result.json.

    That file lies in `folder`, by default out/<target> of the checkout, where the programs behind make targets write.
    """
    files.write_json((folder or paths.repository() / "out" / target) / "result.json", value)
    print("RESULT " + json.dumps(value, allow_nan=False), flush=True)


def _value(mean: Mean | None, digits: int) -> float | None:
    return None if mean is None else round(mean.value, digits)


def _half(mean: Mean | None, digits: int) -> float | None:
    return None if mean is None or mean.count < 2 else round(mean.half, digits)


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 1)
