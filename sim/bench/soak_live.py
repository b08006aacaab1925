# SPDX-License-Identifier: GPL-2.0-or-later
"""`make soak`: a live network under load while things go wrong at random, for half an hour. Needs root.

Four nodes, iperf3 over three hops, one transfer after the other, and from one seed: processes killed with SIGKILL or
stopped, links cut, nodes dead, half of all frames lost, queues flooded, another policy. Bounds: traffic resumes after
each fault within 20 s by itself; every transfer ends well; no process ends by any other signal than ours; those that
nobody kills (the daemon of node 2, the supervisor, in the second half the medium) have as many descriptors at the end
as before and no more than 1 MiB more of memory; the namespaces are those of the network; after `down` nothing is left.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.errors import PerhopError
from perhop.live import events, namespaces, network
from perhop.live.plan import make_plan
from perhop.report.result_line import print_result

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = ROOT / "sim/experiments/live_chain"
NAME = "soak"
LAST = "10.0.0.4"
MOST_RECOVERY_S = 20.0
MOST_GROWTH_KB = 1024
TRANSFER_S = 15
# A process that has come up has not all of its memory yet.
WARM_UP_S = 20.0
POLICIES = ("none", "delay", "delay + dca", "fixed 4 + paced", "fixed 6 + dca 3")
FLOOD = """
import socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 3
while time.monotonic() < end:
    sender.sendto(bytes(1400), ("10.0.0.4", 9))
    time.sleep(0.003)
"""


def happen(kind: str, **fields: Any) -> None:
    events.play(network.state_folder() / NAME, {"kind": kind, "at_s": 0.0, **fields})


def pid_of(process: str) -> int | None:
    found: int | None = network.status(NAME)["processes"].get(process, {}).get("pid")
    return found


def send_signal(process: str, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, TypeError):
        os.kill(pid_of(process), number)  # type: ignore[arg-type]


def inside(node: int, *command: str) -> list[str]:
    return network.command_in(NAME, str(node), list(command))


class Faults:
    """Each method is one, done and undone when it returns."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.medium_may_be_killed = True
        self.done: Counter[str] = Counter()

    def one(self) -> str:
        kinds: list[Callable[[], None]] = [
            self.daemon_killed,
            self.daemon_killed,
            self.link_cut,
            self.node_dead,
            self.half_of_the_frames_lost,
            self.stopped,
            self.queues_flooded,
            self.another_policy,
        ]
        if self.medium_may_be_killed:
            kinds += [self.medium_killed, self.everything_killed]
        fault = self.random.choice(kinds)
        fault()
        self.done[fault.__name__] += 1
        return fault.__name__

    def daemon_killed(self) -> None:
        send_signal(f"node-{self.random.choice((0, 1, 3))}", signal.SIGKILL)

    def medium_killed(self) -> None:
        send_signal("air", signal.SIGKILL)

    def everything_killed(self) -> None:
        for process in ("air", "node-0", "node-1", "node-3"):
            send_signal(process, signal.SIGKILL)

    def link_cut(self) -> None:
        one = self.random.randrange(3)
        happen("link_down", a=one, b=one + 1)
        time.sleep(self.random.uniform(0.2, 3))
        happen("link_up", a=one, b=one + 1)

    def node_dead(self) -> None:
        node = self.random.choice((0, 1, 3))
        happen("node_down", node=node)
        time.sleep(self.random.uniform(0.2, 3))
        happen("node_up", node=node)

    def half_of_the_frames_lost(self) -> None:
        happen("loss", frame_error_rate=0.5)
        time.sleep(3)
        happen("loss", frame_error_rate=0)

    def stopped(self) -> None:
        process = self.random.choice(("air", "node-0", "node-1", "node-2", "node-3", "supervisor"))
        pid = network.status(NAME)["supervisor"] if process == "supervisor" else pid_of(process)
        with contextlib.suppress(ProcessLookupError, TypeError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self.random.uniform(0.2, 2))
            os.kill(pid, signal.SIGCONT)

    def queues_flooded(self) -> None:
        subprocess.run(inside(0, sys.executable, "-c", FLOOD), check=False)

    def another_policy(self) -> None:
        with contextlib.suppress(PerhopError):  # a daemon may be coming up
            network.set_policy(NAME, self.random.choice(POLICIES))


class Transfers:
    """iperf3 from the first to the last node, one transfer after the other."""

    def __init__(self) -> None:
        self.server = subprocess.Popen(inside(3, "iperf3", "-s"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.client: subprocess.Popen[str] | None = None
        self.ended = 0
        self.delivered_bytes = 0
        self.failures: list[str] = []

    def go_on(self) -> None:
        """Starts the next transfer when there is none."""
        if self.client is not None:
            if self.client.poll() is None:
                return
            self._judge(*self.client.communicate())
        command = inside(0, "iperf3", "-c", LAST, "-C", "reno", "-t", str(TRANSFER_S), "-f", "k")
        self.client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def _judge(self, said: str, _: str | None) -> None:
        self.ended += 1
        received = re.search(r"([\d.]+) ([KM])Bytes .* receiver", said)
        if self.client is None or self.client.returncode != 0 or received is None:
            self.failures.append(said.strip().splitlines()[-1] if said.strip() else "no word")
            return
        self.delivered_bytes += int(float(received[1]) * {"K": 1024, "M": 1024**2}[received[2]])

    def end(self) -> None:
        if self.client is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._judge(*self.client.communicate(timeout=TRANSFER_S + 60))
        self.server.kill()
        self.server.wait()


def recovery_s() -> float | None:
    """How long it takes until a packet goes all the way and back; None: too long."""
    start_s = time.monotonic()
    while time.monotonic() - start_s < MOST_RECOVERY_S:
        if subprocess.run(inside(0, "ping", "-c", "1", "-W", "2", LAST), stdout=subprocess.DEVNULL).returncode == 0:
            return time.monotonic() - start_s
    return None


def holdings(process: str) -> dict[str, int]:
    pid = network.status(NAME)["supervisor"] if process == "supervisor" else pid_of(process)
    memory = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return {
        "pid": int(pid or 0),
        "memory_kb": int(memory[1]) if memory else 0,
        "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
    }


def bad_ends(seen: dict[str, list[int]]) -> Iterator[str]:
    """Ends of processes that were not ours: all but SIGKILL."""
    for process, record in network.status(NAME)["processes"].items():
        for code in record["ends"]:
            if code != -signal.SIGKILL and code not in seen.setdefault(process, []):
                seen[process].append(code)
                yield f"{process} ended with {code}"


def soak(seconds: float, seed: int) -> dict[str, Any]:
    planned = make_plan(EXPERIMENT, policy="delay", name=NAME)
    network.down(NAME)
    network.up(planned)
    wrong: list[str] = []
    worst_s = 0.0
    seen: dict[str, list[int]] = {}
    faults, transfers = Faults(seed), Transfers()
    try:
        start_s = time.monotonic()
        transfers.go_on()
        time.sleep(WARM_UP_S)
        before = {process: holdings(process) for process in ("node-2", "supervisor")}
        said_s = 0.0
        while (passed_s := time.monotonic() - start_s) < seconds:
            if faults.medium_may_be_killed and passed_s > seconds / 2:
                faults.medium_may_be_killed = False
                time.sleep(WARM_UP_S / 2)
                before["air"] = holdings("air")
            transfers.go_on()
            kind = faults.one()
            took_s = recovery_s()
            if took_s is None:
                wrong.append(f"{passed_s:.0f} s: no traffic {MOST_RECOVERY_S:.0f} s after {kind}")
            worst_s = max(worst_s, took_s or MOST_RECOVERY_S)
            wrong += bad_ends(seen)
            if passed_s - said_s > 30:
                said_s = passed_s
                print(
                    f"{passed_s:5.0f} s: {faults.done.total()} faults, {transfers.ended} transfers, "
                    f"{transfers.delivered_bytes / 1e6:.1f} MB, slowest recovery {worst_s:.1f} s",
                    flush=True,
                )
            time.sleep(faults.random.uniform(1, 6))
        transfers.end()
        after = {process: holdings(process) for process in before}
        during = len(namespaces.existing(NAME))
        processes = network.processes_naming(network.state_folder() / NAME)
    finally:
        transfers.server.kill()
        network.down(NAME)
    after_down = len(namespaces.existing(NAME))
    left = network.processes_naming(network.state_folder() / NAME)
    for process, then in before.items():
        now = after[process]
        if now["pid"] != then["pid"]:
            wrong.append(f"{process} is another one than at the beginning")
        if now["descriptors"] != then["descriptors"]:
            wrong.append(f"{process}: {then['descriptors']} descriptors became {now['descriptors']}")
        if now["memory_kb"] - then["memory_kb"] > MOST_GROWTH_KB:
            wrong.append(f"{process}: {then['memory_kb']} kB became {now['memory_kb']} kB")
    if during != len(planned.nodes) or after_down:
        wrong.append(f"namespaces: {during} at the end, {after_down} after down")
    if left or (network.state_folder() / NAME).exists():
        wrong.append(f"left behind: processes {left}")
    wrong += [f"a transfer failed: {failure}" for failure in transfers.failures]
    return {
        "minutes": round(seconds / 60, 2),
        "seed": seed,
        "faults": dict(faults.done),
        "transfers": transfers.ended,
        "delivered_bytes": transfers.delivered_bytes,
        "slowest_recovery_s": round(worst_s, 2),
        "before": before,
        "after": after,
        "processes": len(processes),
        "namespaces": {"at_the_end": during, "after_down": after_down},
        "does_not_hold": wrong,
        "version": paths.version(),
    }


def main() -> int:
    """Returns 0 when every bound holds, 1 otherwise, 2 where a live network is impossible."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        result = soak(60 * arguments.minutes, arguments.seed)
    except PerhopError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for process, then in result["before"].items():
        now = result["after"][process]
        print(
            f"{process:10} {then['memory_kb']:6} -> {now['memory_kb']:6} kB, "
            f"{then['descriptors']:3} -> {now['descriptors']:3} descriptors"
        )
    for line in result["does_not_hold"]:
        print(f"does not hold: {line}")
    print_result("soak", result)
    return 1 if result["does_not_hold"] else 0


if __name__ == "__main__":
    sys.exit(main())
