# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs with Linux kernels in virtual time repeat to the byte, in whatever way they are made (`make verify-kernel`).

One run of a chain is made again and again: in another folder, by messages in place of shared memory, with kernels that
ask for each step, with other warp modes of the air, on any processor, several at a time, as an unprivileged user. Both
its hashes must stay: of what was on the air, and of every byte and nanosecond between kernel and node. Another seed
must change them. Then each thing that this needs is left out, which must be seen. Last come the tests that need a
kernel, and accidents: a kernel that is killed, and a run that is interrupted.
"""

import argparse
import json
import os
import pwd
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.kernel import image
from rich.console import Console
from verification import BUILD, ROOT

OUT = ROOT / "out/verify-kernel"
EXPERIMENT = ROOT / "sim/experiments/kernel_chain/experiment.yaml"
AT_ONCE = 4
TIMEOUT_S = 300
# A chain's airtime bound does not know of TCP: what a run must reach at least, so that it is about something.
LEAST_PACKETS = 200


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
        result = make({**config, **case.change}, folder / f"case-{number}", case.options, case.user)
        found[case.name] = "failed" not in result and (hashes(result) == known) == case.same
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
    """The packet path holds a kernel's TCP to a limit, and no packet is unaccounted for."""
    config = config_of(["topology.hops=3", "policies=[fixed 4]", "flows.0.variant=cubic"])
    result = make(config, folder / "limit")
    flow = result.get("flows", [{}])[0]
    return {
        "a limit of 4 is never exceeded": flow.get("max_packets_in_flight") == 4 and flow.get("cwl_packets") == 4,
        "the limit carries data": flow.get("delivered_packets", 0) >= LEAST_PACKETS,
    }


def accidents(folder: Path) -> dict[str, bool]:
    """A kernel that is killed and a run that is interrupted: one message, results so far, no process left."""
    config = config_of(["topology.hops=2", "duration_s=3000", "flows.0.variant=reno"])
    found = {}
    for name, what in (("a killed kernel", signal.SIGKILL), ("an interrupt", signal.SIGINT)):
        place = folder / name.replace(" ", "-")
        place.mkdir(parents=True)
        told = {**config, "outputs": {**config["outputs"], "directory": str(place), "pcapng": False}}
        (place / "run.json").write_text(json.dumps(told))
        command = [str(paths.program("perhop-kernel")), "--kernel", str(image.file()), str(place / "run.json")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(3)
        kernels = [process for process in members(place) if is_kernel(process)]
        if what == signal.SIGKILL and kernels:
            os.kill(kernels[0], signal.SIGKILL)
        elif kernels:
            process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            errors = "it goes on"
        result = json.loads((place / "result.json").read_text()) if (place / "result.json").exists() else {}
        right_end = (
            (process.returncode == 1 and errors.count("the kernel of node") == 1 and "remedy:" in errors)
            if what == signal.SIGKILL
            else process.returncode == 130
        )
        measured = result.get("interrupted") and result["flows"][0].get("delivered_packets", 0) > 0
        found[name] = bool(kernels and right_end and measured and not members(place))
    return found


def is_kernel(process: int) -> bool:
    """Not a process that a kernel has started: it leads its session."""
    words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    return words[0] == b"./linux" and os.getsid(process) == process


def members(folder: Path) -> list[int]:
    """Processes that work in a run's folder: perhop-kernel, its watchdog, kernels and theirs."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder / "kernels"):
                found.append(int(entry.name))
        except OSError:
            continue
    return sorted(found)


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
        lines = {**limits(folder), **accidents(folder), "unit tests with a kernel": unit_tests(say)}
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
