# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs with Linux kernels in virtual time repeat to the byte, in whatever way they are made (`make verify-kernel`).

One run of a chain is made again and again: in another folder, by messages in place of shared memory, with kernels that
ask for each step, with other warp modes of the air, on any processor, several at a time, as an unprivileged user. Both
its hashes must stay: of what was on the air, and of every byte and nanosecond between kernel and node. Another seed
must change them. Then each thing that this needs is left out, which must be seen. Last come the tests that need a
kernel, and accidents (kernel_accidents.py).
"""

import argparse
import json
import os
import pwd
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kernel_accidents
from perhop import paths
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.kernel import image
from rich.console import Console
from verification import BUILD, ROOT

OUT = ROOT / "out/verify-kernel"
EXPERIMENT = ROOT / "sim/experiments/kernel_chain/experiment.yaml"
AT_ONCE = 8
TIMEOUT_S = 300
# What is left out need not show in each run: of six without a fixed layout one was the same to the byte.
MOST_TRIES = 5
# A chain's airtime bound does not know of TCP: what a run must reach at least, so that it is about something.
LEAST_PACKETS = 200
# Of IP and TCP, time stamps with them: EXACT counts whole packets. A mean over looks is not one over packets, and TCP
# waits for losses.
HEADER_BYTES, LEAST_OF_ALLOWED, MOST_OF_ALLOWED = 52, 0.9, 1.01


@dataclass(frozen=True)
class Case:
    """A way in which the same run is made."""

    name: str
    options: tuple[str, ...] = ()
    change: dict[str, Any] = field(default_factory=dict)
    user: str | None = None
    same: bool = True


CASES = (
    Case("another folder"),
    Case("messages", ("--messages",)),
    Case("step by step", ("--stepwise",)),
    Case("messages, step by step", ("--messages", "--stepwise")),
    Case("any processor", ("--any-core",)),
    Case("every node at every event", change={"warp": "all_nodes"}),
    Case("an unprivileged user", user="nobody"),
    Case("another seed", change={"seed": 2}, same=False),
    Case("without seeded entropy", ("--leave-out", "seed"), same=False),
    Case("without a fixed layout", ("--leave-out", "layout"), same=False),
    Case("without a fixed command line", ("--leave-out", "command_line"), same=False),
    Case("with the host's time of day", ("--leave-out", "time_of_day"), same=False),
)


def config_of(overrides: list[str]) -> dict[str, Any]:
    return resolve(load(EXPERIMENT, overrides, quick=True))[0].config


def make(
    config: dict[str, Any], folder: Path, options: tuple[str, ...] = (), user: str | None = None
) -> dict[str, Any]:
    """A run's result; of one that fails, what it said."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {**config, "outputs": {**config["outputs"], "directory": str(folder), "pcapng": False}}
    (folder / "run.json").write_text(json.dumps(config))
    command = [str(paths.program("perhop-kernel")), "--kernel", str(image.file()), *options, str(folder / "run.json")]
    demote: dict[str, Any] = {}
    if user is not None:
        account = pwd.getpwnam(user)
        os.chown(folder, account.pw_uid, account.pw_gid)
        demote = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, **demote)
    if done.returncode != 0:
        return {"failed": done.stderr.strip() or f"exit status {done.returncode}"}
    return json.loads((folder / "result.json").read_text())


def hashes(result: dict[str, Any]) -> list[str]:
    """Of the air, and of each kernel."""
    if "failed" in result:
        return [result["failed"]]
    return [result["trace_hash"], *(kernel["packet_hash"] for kernel in result["kernels"])]


def compare(folder: Path, jobs: int, say: Any) -> tuple[dict[str, bool], dict[str, Any]]:
    """Whether each case came out as it must, and the run that all are compared with."""
    config = config_of(["topology.hops=4", "flows.0.variant=cubic", "duration_s=12", "warmup_s=2"])
    reference = make(config, folder / "reference")
    if "failed" in reference:
        raise SystemExit(f"the run that all others are compared with fails: {reference['failed']}")
    known, found = hashes(reference), {}
    for number, case in enumerate(CASES):
        if case.user is not None and os.geteuid() != 0:
            say(f"{case.name}: passed over, only root can be another user")
            continue
        # Another seed has no options: it must differ at once.
        for attempt in range(MOST_TRIES if case.options and not case.same else 1):
            result = make({**config, **case.change}, folder / f"case-{number}-{attempt}", case.options, case.user)
            found[case.name] = "failed" not in result and (hashes(result) == known) == case.same
            if found[case.name] or "failed" in result:
                break
        say(f"{case.name}: {'as it must' if found[case.name] else 'WRONG ' + ' '.join(hashes(result))}")
    with ThreadPoolExecutor(max(jobs, AT_ONCE)) as pool:
        together = list(pool.map(lambda number: hashes(make(config, folder / f"together-{number}")), range(AT_ONCE)))
    found[f"{AT_ONCE} at once"] = all(one == known for one in together)
    say(f"{AT_ONCE} at once: {'as it must' if found[f'{AT_ONCE} at once'] else 'WRONG'}")
    flow = reference["flows"][0]
    found["the parts of service time sum"] = reference["sum_mismatches"] == 0 < reference["completions_checked"]
    found["something was sent"] = flow["delivered_packets"] >= LEAST_PACKETS
    return found, reference


def limits(folder: Path) -> dict[str, bool]:
    """The packet path holds a kernel's TCP to a limit, and without one it has the window of the experiment file."""
    config = config_of(["topology.hops=3", "policies=[fixed 4]", "flows.0.variant=cubic"])
    result = make(config, folder / "limit")
    flow = result.get("flows", [{}])[0]
    free = config_of(["topology.hops=1", "policies=[none]", "flows.0.variant=cubic"])
    unlimited = make(free, folder / "no-limit").get("flows", [{}])[0]
    most_packets = free["flows"][0]["max_window_packets"]
    return {
        f"a window of {most_packets} is filled and never exceeded": unlimited.get("max_packets_in_flight")
        == most_packets,
        "a limit of 4 is never exceeded": flow.get("max_packets_in_flight") == 4 and flow.get("cwl_packets") == 4,
        "the limit carries data": flow.get("delivered_packets", 0) >= LEAST_PACKETS,
    }


def told_rates(folder: Path) -> dict[str, bool]:
    """The rates of EXACT that go into a kernel in the midst of a run: its TCP keeps to them, and the run repeats."""
    config = config_of(["topology.hops=3", "policies=[paced exact]", "flows.0.variant=cubic", "duration_s=20"])
    result = make(config, folder / "told")
    flow = result.get("flows", [{}])[0]
    payload_bytes = config["flows"][0]["segment_bytes"]
    allowed_bps = flow.get("allowed_rate_bps", 0) * payload_bytes / (payload_bytes + HEADER_BYTES)
    sent = flow.get("goodput_bps", 0) / allowed_bps if allowed_bps else 0
    again = make(config, folder / "told-again", ("--messages", "--stepwise"))
    return {
        "a TCP that EXACT paces sends what it is allowed": LEAST_OF_ALLOWED <= sent <= MOST_OF_ALLOWED,
        "a run with rates that are told repeats": "failed" not in result and hashes(again) == hashes(result),
    }


def conserved(folder: Path) -> dict[str, bool]:
    """No packet and no byte is unaccounted for, at any node, over any hop: with full queues, losses and marks."""
    found = {}
    for policy in ("none", "ecn 20", "paced", "paced exact"):
        changes = [f"policies=[{policy}]", "mac.queue_packets=10", "medium.frame_error_rate=0.02"]
        config = config_of(["topology.hops=4", "flows.0.variant=cubic", "duration_s=20", *changes])
        result = make(config, folder / f"conserved-{policy.replace(' ', '-')}")
        found[f"packets and bytes are conserved, {policy}"] = is_conserved(result.get("ledger", []))
        found[f"the ten parts sum, {policy}"] = result.get("sum_mismatches") == 0 < result.get("completions_checked", 0)
    return found


def is_conserved(ledgers: list[dict[str, Any]]) -> bool:
    """What each node was given went out, was lost or waits; what went over a hop arrived. Sums: packets, bytes."""
    arrived = {
        (beside["node"], ledger["node"]): beside["from_air"] for ledger in ledgers for beside in ledger["neighbours"]
    }
    lost = 0
    for ledger in ledgers:
        around = ledger["neighbours"]
        for unit in (0, 1):
            came_in = ledger["from_ip"][unit] + sum(beside["from_air"][unit] for beside in around)
            went = sum(ledger[name][unit] for name in ("to_ip", "queue_drops", "waiting"))
            went += sum(beside[name][unit] for beside in around for name in ("delivered", "mac_drops"))
            if came_in != went:
                return False
        for beside in around:
            got = arrived.get((ledger["node"], beside["node"]), [0, 0])[0]
            # A MAC that gives up may have missed the MAC ACK alone; one packet may be on the air at the end.
            most = beside["delivered"][0] + beside["mac_drops"][0] + min(ledger["waiting"][0], 1)
            if not beside["delivered"][0] <= got <= most:
                return False
        lost += ledger["queue_drops"][0] + sum(beside["mac_drops"][0] for beside in around)
    # A balance that nothing was taken from would not tell much.
    return len(ledgers) > 1 and lost > 0


def accidents(folder: Path) -> dict[str, bool]:
    config = config_of(["topology.hops=2", "duration_s=3000", "flows.0.variant=reno"])
    return kernel_accidents.all_of(config, folder)


def without_files_of_the_host(kernel: bytes) -> bool:
    """Whether a kernel has no file system of its host's (UML's hostfs): when it writes back hangs on what was there."""
    return b"virtio_uml" in kernel and b"hostfs" not in kernel


def unit_tests(say: Any) -> bool:
    """Those that pass over what needs a kernel where there is none."""
    program = BUILD / "sim/kernel/tests/perhop_kernel_tests"
    done = subprocess.run([str(program), "--gtest_brief=1"], capture_output=True, text=True, timeout=TIMEOUT_S)
    passed = done.returncode == 0 and "NOT TESTED" not in done.stdout
    if not passed:
        say(done.stdout[-2000:])
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    console = Console(stderr=True)
    begun = time.monotonic()
    image.check()
    with tempfile.TemporaryDirectory(prefix="verify-kernel-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        say = lambda text: console.print(text, highlight=False, markup=False)  # noqa: E731
        identical, reference = compare(folder, arguments.jobs, say)
        lines = {
            **limits(folder),
            **told_rates(folder),
            **conserved(folder),
            **accidents(folder),
            "no file of the host reaches a kernel": without_files_of_the_host(image.file().read_bytes()),
            "unit tests with a kernel": unit_tests(say),
        }
    for line, ok in lines.items():
        say(f"{line}: {'yes' if ok else 'NO'}")
    result = {
        "target": "verify-kernel",
        "ok": all(identical.values()) and all(lines.values()),
        "identical": identical,
        "lines": lines,
        "trace_hash": reference["trace_hash"],
        "goodput_bps": reference["flows"][0]["goodput_bps"],
        "cpu_s_per_s": round(reference["cpu_s"]["total"] / reference["duration_s"], 4),
        "wall_s": round(time.monotonic() - begun, 1),
    }
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    print("RESULT " + json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
