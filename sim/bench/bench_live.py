# SPDX-License-Identifier: GPL-2.0-or-later
"""`make live`: the kernel's TCP over the gateware in real time beside ns-3's in simulated time, for the same file.

Then a chain of 8 nodes under load: how late the medium's events were. Needs root. Bounds: goodput within 10 % of the
simulator's, and within 5 % under `combined`; round trip with a limit of 1 or 2 packets at least 10 times shorter than
without; at no loss of goodput for `fixed 2 + dca`, and for the delay-based limit, which is 1 on this chain, at a loss
of at most 5 %, which the simulator has as well; TCP ACKs for each data packet as the delay window says (20 %); 99.9 %
of the events less than 1 ms late; up in less than 15 s. Times of a loaded machine are not the project's: --quick is
for trying the bench out.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.errors import PerhopError
from perhop.live import network, state_files
from perhop.live.plan import make_plan
from perhop.report.result_line import print_result

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = ROOT / "sim/experiments/live_chain"
# Policy as the file says it, and TCP ACKs for each data packet that its delay window means: 1 / w. At a window limit of
# 1 only one packet is in flight, and w is at most that, as it is at most 2 at a limit of 2. Under `combined` the sender
# chooses w while it runs, so that no constant can be expected.
POLICIES: dict[str, float | None] = {
    "none": 1.0,
    "delay": 1.0,
    "delay + dca": 1.0,
    "fixed 2 + dca": 1 / 2,
    "fixed 6 + dca 3": 1 / 3,
    "paced": 1.0,
    "combined": None,
}
# How far live may be from simulated; of the policy that a second copy of the hop path once made differ, less.
MOST_GAP, MOST_GAP_OF = 0.10, {"combined": 0.05}
# Of the policies whose round trip must be shorter: the goodput of that without a limit that they must have.
NO_LOSS = {"delay": 0.95, "delay + dca": 0.95, "fixed 2 + dca": 1.0}
LONG_HOPS = 7
WATCH_PRIORITY = 30  # the medium has 20
NAME = "bench"


def simulate(quick: bool) -> dict[str, dict[str, Any]]:
    """Rows of `perhop run` by the policy's label."""
    command = [sys.executable, "-c", "from perhop.cli import main; main()", "run", str(EXPERIMENT), "--json"]
    command += ["--out", str(ROOT / "out/live/sim"), *(["--quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PerhopError(f"perhop run fails: {done.stdout[-500:]}{done.stderr[-500:]}", "run it by hand")
    return {row["policy"]: row for row in json.loads(done.stdout)["rows"]}


def in_node(name: str, word: str, *command: str) -> list[str]:
    return network.command_in(name, word, list(command))


def transfer(name: str, destination: str, seconds: int, omit_s: int) -> dict[str, Any]:
    """One bulk transfer with the kernel's Reno. What iperf3 says of it."""
    with subprocess.Popen(in_node(name, "last", "iperf3", "-s", "-1"), stdout=subprocess.DEVNULL) as server:
        while "5201" not in subprocess.run(in_node(name, "last", "ss", "-Hltn"), capture_output=True, text=True).stdout:
            time.sleep(0.05)
        command = ["iperf3", "-c", destination, "-C", "reno", "-t", str(seconds), "-O", str(omit_s), "-J"]
        done = subprocess.run(in_node(name, "first", *command), capture_output=True, text=True, check=False)
        server.wait(30)
    said: dict[str, Any] = json.loads(done.stdout)
    if "error" in said:
        raise PerhopError(f"iperf3: {said['error']}", "see `perhop live status`")
    return said


def counts(name: str) -> dict[str, float]:
    nodes = network.status(name)["nodes"]
    packets = [node["daemon"]["packets"] for node in nodes]
    return {
        "data": packets[0]["data_segments"],
        "tcp_acks": packets[-1]["bare_tcp_acks"],
        "carried": sum(packet["from_ip"] + packet["forwarded"] for packet in packets),
        "cpu_s": sum(node["daemon"]["cpu_s"] for node in nodes),
    }


def measure(policy: str, seconds: int, omit_s: int, repeats: int) -> dict[str, Any]:
    """The same in real time: means over `repeats` networks brought up anew."""
    goodputs_bps, rtts_ms, per_data, setups_s, costs_us, shares = [], [], [], [], [], []
    for _ in range(repeats):
        planned = make_plan(EXPERIMENT, policy=policy, name=NAME)
        setups_s.append(network.up(planned)["setup_s"])
        try:
            before, start_s = counts(NAME), time.monotonic()
            said = transfer(NAME, planned.nodes[-1].ipv4, seconds, omit_s)
            after, took_s = counts(NAME), time.monotonic() - start_s
        finally:
            network.down(NAME)
        goodputs_bps.append(said["end"]["sum_received"]["bits_per_second"])
        rtts_ms.append(said["end"]["streams"][0]["sender"]["mean_rtt"] / 1000)
        passed = {key: after[key] - before[key] for key in after}
        per_data.append(passed["tcp_acks"] / passed["data"])
        costs_us.append(passed["cpu_s"] / passed["carried"] * 1e6)
        shares.append(passed["cpu_s"] / took_s)
    return {
        "policy": planned.policy,
        "words": policy,
        "goodput_bps": round(statistics.mean(goodputs_bps)),
        "rtt_ms": round(statistics.mean(rtts_ms), 1),
        "tcp_acks_per_data": round(statistics.mean(per_data), 3),
        "setup_s": max(setups_s),
        "daemon_us_per_packet": round(statistics.mean(costs_us), 1),
        "daemons_cpu_share": round(statistics.mean(shares), 4),
    }


def watch_machine(until: Any, told: Any) -> None:
    """A timer of 1 ms at a real-time priority above the medium's, as a process: what this machine alone makes late."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(WATCH_PRIORITY))
    wakes, late, worst_s, due_s = 0, 0, 0.0, time.monotonic()
    while not until.is_set():
        due_s += 0.001
        time.sleep(max(0.0, due_s - time.monotonic()))
        late_s = time.monotonic() - due_s
        wakes, late, worst_s = wakes + 1, late + (late_s >= 0.001), max(worst_s, late_s)
    told.put({"wakes": wakes, "late_share": round(late / wakes, 5), "max_us": round(worst_s * 1e6)})


def lateness(seconds: int) -> dict[str, Any]:
    """Eight nodes, one bulk transfer over seven hops, without a limit: all queues are full."""
    over, machine = multiprocessing.Event(), multiprocessing.Queue()
    watcher = multiprocessing.Process(target=watch_machine, args=(over, machine), daemon=True)
    planned = make_plan(EXPERIMENT, [f"topology.hops={LONG_HOPS}"], "none", NAME)
    network.up(planned)
    try:
        from perhop.live import messages

        socket = state_files.medium_socket(network.state_folder() / NAME)
        cpu_before_s = air_cpu_s(NAME)
        messages.ask_medium(socket, {"command": "reset_lateness"})
        watcher.start()
        start_s = time.monotonic()
        transfer(NAME, planned.nodes[-1].ipv4, seconds, 0)
        status = network.status(NAME)
        took_s = time.monotonic() - start_s
        share = (air_cpu_s(NAME) - cpu_before_s) / took_s
    finally:
        over.set()
        network.down(NAME)
    return {
        "machine": machine.get(timeout=10),
        **status["medium"]["late"],
        "slips": status["medium"]["slips"],
        "air_cpu_share": round(share, 4),
    }


def air_cpu_s(name: str) -> float:
    """CPU time of the medium's process."""
    pid = network.status(name)["processes"]["air"]["pid"]
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def judge(rows: list[dict[str, Any]], late: dict[str, Any]) -> list[str]:
    """What does not hold."""
    wrong = []
    for row in rows:
        gap = row["goodput_bps"] / row["sim_goodput_bps"] - 1
        if abs(gap) > MOST_GAP_OF.get(row["words"], MOST_GAP):
            wrong.append(f"{row['policy']}: goodput {gap:+.1%} from the simulator's")
        expected = row["expected_tcp_acks_per_data"]
        if expected is not None and abs(row["tcp_acks_per_data"] / expected - 1) > 0.2:
            wrong.append(f"{row['policy']}: {row['tcp_acks_per_data']} TCP ACKs for each data packet")
        if row["setup_s"] >= 15:
            wrong.append(f"{row['policy']}: up after {row['setup_s']} s")
    for row in rows:
        none, least = rows[0], NO_LOSS.get(row["words"])
        if least is None:
            continue
        if row["rtt_ms"] * 10 > none["rtt_ms"]:
            wrong.append(f"{row['policy']}: round trip {none['rtt_ms'] / row['rtt_ms']:.1f} times shorter than without")
        if row["goodput_bps"] < least * none["goodput_bps"]:
            wrong.append(
                f"{row['policy']}: goodput {row['goodput_bps'] / none['goodput_bps'] - 1:+.1%} from that without"
            )
    if late and late["late_1ms"] > 0.001 * late["events"]:
        wrong.append(f"{late['late_1ms'] / late['events']:.3%} of the events are 1 ms late or later")
    return wrong


def print_transfers(rows: list[dict[str, Any]]) -> None:
    print(f"{'':18}  {'goodput kb/s':>14}  {'RTT ms':>14}  {'TCP ACKs':>14}")
    print(f"{'policy':18}  {'live':>6}  {'sim':>6}  {'live':>6}  {'sim':>6}  {'a data packet':>14}")
    for row in rows:
        print(
            f"{row['policy']:18}  {row['goodput_bps'] / 1000:6.0f}  {row['sim_goodput_bps'] / 1000:6.0f}  "
            f"{row['rtt_ms']:6.0f}  {row['sim_rtt_ms']:6.0f}  {row['tcp_acks_per_data']:14.2f}"
        )
    cost_us, share = rows[0]["daemon_us_per_packet"], rows[0]["daemons_cpu_share"]
    print(f"daemons: {cost_us} us of CPU a packet; all four {share:.1%} of a core")


def print_lateness(late: dict[str, Any]) -> None:
    print(
        f"8 nodes: {late['events']} events, 50 % at most {late['p50_us']} us late, 99 % {late['p99_us']} us, "
        f"99.9 % {late['p999_us']} us, worst {late['max_us']} us; medium {late['air_cpu_share']:.1%} of a core"
    )
    print(f"1 ms late or later: {late['late_1ms'] / late['events']:.3%} of them")
    machine = late["machine"]
    print(
        f"this machine by itself: a timer beside it was 1 ms late or later in {machine['late_share']:.3%} of "
        f"{machine['wakes']} wake-ups, worst {machine['max_us']} us"
    )
    for bin_index, count in enumerate(late["log2_counts"]):
        if count:
            print(f"  up to {2**bin_index - 1:>8} us  {count:>9}")


def main() -> int:
    """Returns 0 when every bound holds, 1 otherwise, 2 where a live network is impossible."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="of each transfer")
    parser.add_argument("--repeats", type=int, default=3, help="transfers a policy")
    parser.add_argument("--only", choices=("transfers", "lateness"), help="one half; the RESULT line has only that")
    parser.add_argument("--quick", action="store_true", help="12 s once, and one seed of the simulator")
    arguments = parser.parse_args()
    seconds, repeats = (12, 1) if arguments.quick else (arguments.seconds, arguments.repeats)
    try:
        rows: list[dict[str, Any]] = []
        simulated = {} if arguments.only == "lateness" else simulate(arguments.quick)
        for policy, expected in POLICIES.items() if simulated else ():
            row = measure(policy, seconds, 3, repeats)
            sim = simulated[row["policy"]]
            row |= {"sim_goodput_bps": sim["goodput_bps"], "sim_rtt_ms": sim["rtt_ms"]}
            row["expected_tcp_acks_per_data"] = expected and round(expected, 3)
            rows.append(row)
            print(f"{row['policy']}: {row['goodput_bps']} b/s, simulator {row['sim_goodput_bps']:.0f} b/s", flush=True)
        late = {} if arguments.only == "transfers" else lateness(seconds)
    except PerhopError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if rows:
        print_transfers(rows)
    if late:
        print_lateness(late)
    wrong = judge(rows, late)
    for line in wrong:
        print(f"does not hold: {line}")
    print_result(
        "live",
        {
            **({"rows": rows, "setup_s": max(row["setup_s"] for row in rows)} if rows else {}),
            **({"late_p999_us": late["p999_us"], "late": late} if late else {}),
            "load_average": os.getloadavg()[0],
            "does_not_hold": wrong,
            "version": paths.version(),
        },
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
