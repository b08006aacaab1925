# SPDX-License-Identifier: GPL-2.0-or-later
"""Stands in for perhop-sim and perhop-air: made-up numbers in the real formats, plus misbehaviour on request.

Environment: FAKE_CRASH=substring of the labels that crash; FAKE_WALL_S=how long a run takes; FAKE_LOG=file that gets
one line a run made; FAKE_DEAF=1 ignores SIGINT; FAKE_MISMATCHES=records whose parts do not sum; FAKE_KILL=substring of
the labels that are killed by SIGKILL half way, with packets recorded until then; FAKE_DEAD_FLOW=number of a flow that
gets nothing.
"""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import sys
import time
from pathlib import Path

QUEUE_COLUMNS = "node,t_start_s,t_end_s,queue_packets,queue_most_packets"
PARTS = ("queue", "ifs", "backoff", "frozen_cca", "frozen_nav", "control", "data", "response", "timeout", "responder")
SECTION_HEADER = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
INTERFACE = struct.pack("<IIHHII", 1, 20, 127, 0, 65535, 20)


def main() -> int:
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = not os.environ.get("FAKE_DEAF")

    signal.signal(signal.SIGINT, stop)
    run = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(run["outputs"]["directory"])
    if log := os.environ.get("FAKE_LOG"):
        with Path(log).open("a") as lines:
            lines.write(run["label"] + "\n")
    crash = os.environ.get("FAKE_CRASH")
    if crash and crash in run["label"]:
        print("mac_core: assertion failed: parts do not sum", file=sys.stderr)
        return 134
    kill = os.environ.get("FAKE_KILL")
    if kill and kill in run["label"]:
        (folder / "packets.pcapng").write_bytes(SECTION_HEADER)
        os.kill(os.getpid(), signal.SIGKILL)
    wall_s = float(os.environ.get("FAKE_WALL_S", "0"))
    steps = 20
    done = 0
    for done in range(1, steps + 1):
        time.sleep(wall_s / steps)
        print(f"PROGRESS {run['duration_s'] * done / steps} {run['duration_s']}", flush=True)
        if stopped:
            break
    write(run, folder, run["duration_s"] * done / steps, stopped)
    return 130 if stopped else 0


def write(run: dict, folder: Path, simulated_s: float, interrupted: bool) -> None:
    draw = random.Random(run["label"])
    hops = path_links(run)
    flows = []
    for index, flow in enumerate(run["flows"]):
        if str(index) == os.environ.get("FAKE_DEAD_FLOW"):
            ends = {name: flow[name] for name in ("kind", "src", "dst")}
            nothing = {"goodput_bps": 0, "packets_per_s": 0, "delivered_packets": 0, "rtt_ms": None}
            flows.append({**ends, **nothing, "cwl_packets": None, "cwnd_packets": None, "retransmissions": 0})
            continue
        goodput_bps = 1.2e6 / max(1, min(len(hops), 4)) * draw.uniform(0.9, 1.0) / len(run["flows"])
        flows.append(
            {
                "kind": flow["kind"],
                "src": flow["src"],
                "dst": flow["dst"],
                "goodput_bps": goodput_bps,
                "packets_per_s": goodput_bps / 12000,
                "delivered_packets": int(goodput_bps / 12000 * simulated_s),
                "rtt_ms": 22.0 * len(hops),
                "cwl_packets": flow.get("policy", {}).get("cwl_packets") or None,
                "cwnd_packets": 5.0,
                "retransmissions": draw.randrange(30),
                "timeouts": draw.randrange(3),
            }
        )
    result = {
        "label": run["label"],
        "seed": run["seed"],
        "duration_s": run["duration_s"],
        "measured_s": max(0.0, simulated_s - run["warmup_s"]),
        "reception": run["medium"]["reception"],
        "profile": run["mac"]["profile"],
        "compat": run["mac"]["compat"],
        "fidelity": run["mac"].get("fidelity", "core"),
        "transmissions": 1000,
        "trace_hash": "0123456789abcdef",
        "completions_checked": 500,
        "sum_mismatches": int(os.environ.get("FAKE_MISMATCHES", "0")),
        "cpu_s": {"total": 1.0, "rtl": 0.5, "medium": 0.2, "transport": 0.2, "other": 0.1},
        "clocks": 1000,
        "wakes": 500,
        "flows": flows,
        "hops": [hop(draw, *ends) for ends in hops],
        "queue_drops": [0] * len(run["nodes"]),
        "interrupted": interrupted,
    }
    lines = ["flow,t_start_s,t_end_s,goodput_bps,rtt_ms,cwl_packets,cwnd_packets"]
    for second in range(int(simulated_s)):
        for index, flow in enumerate(flows):
            rtt_ms = flow["rtt_ms"] or "" if second else ""
            limit = flow["cwl_packets"] or ""
            lines.append(f"{index},{second},{second + 1},{flow['goodput_bps']},{rtt_ms},{limit},5")
    (folder / "intervals.csv").write_text("\n".join(lines) + "\n")
    waiting = [f"0,{second},{second + 1},2.5,4" for second in range(int(simulated_s))]
    (folder / "queues.csv").write_text("\n".join([QUEUE_COLUMNS, *waiting]) + "\n")
    if run["outputs"]["pcapng"]:
        (folder / "packets.pcapng").write_bytes(SECTION_HEADER + INTERFACE)
    (folder / "result.json").write_text(json.dumps(result))


def path_links(run: dict) -> list[tuple[int, int, str]]:
    """The links of the TCP flows, forward then return, or the links of all MAC-level flows."""
    if run["flows"][0]["kind"] != "tcp":
        return [(flow["src"], flow["dst"], "forward") for flow in run["flows"]]
    next_hop = {(node, destination): following for node, destination, following in run["routes"]}
    links = []
    for flow in run["flows"]:
        for here, there, direction in ((flow["src"], flow["dst"], "forward"), (flow["dst"], flow["src"], "return")):
            while here != there:
                links.append((here, next_hop[here, there], direction))
                here = next_hop[here, there]
    return list(dict.fromkeys(links))


def hop(draw: random.Random, sender: int, receiver: int, direction: str) -> dict:
    data = 6408.0 if direction == "forward" else 352.0
    parts = {
        "queue": draw.uniform(0, 20000),
        "ifs": draw.uniform(50, 300),
        "backoff": draw.uniform(200, 600),
        "frozen_cca": draw.uniform(0, 5000),
        "frozen_nav": draw.uniform(0, 5000),
        "control": 656.0,
        "data": data,
        "response": 334.0,
        "timeout": draw.uniform(0, 400),
        "responder": draw.uniform(0, 900),
    }
    service_us = sum(parts.values()) - parts["queue"]
    airtime_us = parts["control"] + parts["data"] + parts["response"]
    return {
        "from": sender,
        "to": receiver,
        "direction": direction,
        "packets": 1000,
        "service_time_us": service_us,
        "contention_us": service_us - airtime_us,
        "airtime_us": airtime_us,
        "parts_us": {name: parts[name] for name in PARTS},
        "rts_attempts": 1100,
        "data_attempts": 1010,
        "retries": draw.randrange(150),
        "drops": draw.randrange(10),
        "neighbour_table": {
            "mean_service_us": service_us,
            "avg_contention_us": service_us - airtime_us,
            "avg_overhead_us": 990.0,
            "avg_data_attempts": 1.01,
        },
        "path_header_delay_us": service_us,
    }


if __name__ == "__main__":
    sys.exit(main())
