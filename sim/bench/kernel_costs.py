# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs with Linux kernels in virtual time cost: CPU of a chain under load and of kernels that are idle, memory.

CPU is that of all processes of a run, kernels included. The memory of kernels is what they have resident, pages that
several share divided among them (Pss), all processes of all kernels together, at its most while the run goes on. Its
parts: pages of the kernel's image, which kernels share until they write to them; what the kernel has as its memory; and
the rest, which are libraries, stacks and heaps.
"""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.errors import PerhopError
from perhop.experiment.load import load
from perhop.experiment.resolve import resolve
from perhop.kernel import image

PARTS = ("image", "memory", "rest")
# Where User-Mode Linux has the file, without a name any more, that is a kernel's memory.
MEMORY = "/dev/shm/"

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENT = ROOT / "sim/experiments/kernel_chain/experiment.yaml"
LOOK_S = 0.02
IDLE_KERNELS, IDLE_S = (3, 10, 50), 60
CHAIN_HOPS, CHAIN_S = 4, 30
# The same chain at the highest rate that a timing profile has: stated, not judged.
FAST_S, FAST = 10, ("mac.profile=ofdm_20mhz", "mac.data_rate_mbps=54")

MOST_CHAIN_CPU_S, MOST_IDLE_CPU_S, MOST_KERNEL_MB = 3.0, 5.0, 6.0


@dataclass(frozen=True)
class Cost:
    """One run. `start_s` is the wall time up to the run's time 0 or later, as far as that was seen."""

    cpu_s: float
    wall_s: float
    most_mb: dict[str, float]  # of all kernels, by its part
    kernels: int
    result: dict[str, Any]

    @property
    def mb_per_kernel(self) -> float:
        return sum(self.most_mb.values()) / self.kernels

    @property
    def parts_mb(self) -> dict[str, float]:
        """Of a kernel."""
        return {part: megabytes / self.kernels for part, megabytes in self.most_mb.items()}


def config_of(overrides: list[str]) -> dict[str, Any]:
    return resolve(load(EXPERIMENT, overrides, quick=True))[0].config


def chain(hops: int, seconds: float, variant: str, *changes: str) -> dict[str, Any]:
    """One flow for the whole time."""
    told = [f"topology.hops={hops}", f"flows.0.variant={variant}", f"duration_s={seconds}", "warmup_s=0"]
    return config_of([*told, *changes])


def idle(kernels: int, seconds: float) -> dict[str, Any]:
    """A kernel at each node of a chain, with flows that begin when all is over."""
    config = config_of([f"topology.hops={kernels - 1}", f"duration_s={seconds}", "warmup_s=0"])
    flow = config["flows"][0]
    config["flows"] = [{**flow, "src": node, "dst": node + 1, "start_s": seconds + 1} for node in range(kernels - 1)]
    config["routes"] += [
        route
        for node in range(kernels - 1)
        for route in ([node, node + 1, node + 1], [node + 1, node, node])
        if route not in config["routes"]
    ]
    config["routes"].sort()
    return config


def measure(config: dict[str, Any], folder: Path, kernels: int) -> Cost:
    """Raises PerhopError when the run fails."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {**config, "outputs": {**config["outputs"], "directory": str(folder), "pcapng": False}}
    (folder / "run.json").write_text(json.dumps(config))
    command = [str(paths.program(image.PROGRAM)), "--kernel", str(image.check()), str(folder / "run.json")]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    most_mb = dict.fromkeys(PARTS, 0.0)
    while process.poll() is None:
        most_mb = max(most_mb, resident_mb(folder), key=lambda found: sum(found.values()))
        time.sleep(LOOK_S)
    wall_s = time.monotonic() - begun
    if process.returncode != 0:
        assert process.stderr is not None
        raise PerhopError(f"a run with kernels failed: {process.stderr.read().strip()}", "run `make verify-kernel`")
    result = json.loads((folder / "result.json").read_text())
    return Cost(result["cpu_s"]["total"], wall_s, most_mb, kernels, result)


def resident_mb(folder: Path) -> dict[str, float]:
    """Of the kernels of a run, and of the processes in them, by its part."""
    place = str(folder.resolve() / "kernels")
    found = dict.fromkeys(PARTS, 0.0)
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            is_kernel = (entry / "cmdline").read_bytes().startswith(b"./linux\0")
            if not is_kernel or str((entry / "cwd").readlink()) != place:
                continue
            kernel = str((entry / "exe").readlink())
            maps = (entry / "smaps").read_text()
        except OSError:  # it has ended
            continue
        for part, kilobytes in parts_kb(maps, kernel).items():
            found[part] += kilobytes * 1024 / 1e6
    return found


def parts_kb(maps: str, kernel: str) -> dict[str, int]:
    """Of a process, from its /proc/PID/smaps. `kernel` is the image's file."""
    found, part = dict.fromkeys(PARTS, 0), ""
    for line in maps.splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            name = words[5] if len(words) > 5 else ""
            part = "image" if name == kernel else "memory" if name.startswith(MEMORY) else "rest"
        elif words[0] == "Pss:":
            found[part] += int(words[1])
    return found


def judge(chain_cpu_s: float, idle_cpu_s: float, mb_per_kernel: dict[int, float]) -> list[str]:
    """What does not hold."""
    wrong = []
    if chain_cpu_s >= MOST_CHAIN_CPU_S:
        wrong.append(
            f"{CHAIN_S} s of {CHAIN_HOPS} hops took {chain_cpu_s:.2f} s of CPU, below {MOST_CHAIN_CPU_S:g} wanted"
        )
    if idle_cpu_s >= MOST_IDLE_CPU_S:
        wrong.append(
            f"{max(IDLE_KERNELS)} idle kernels took {idle_cpu_s:.2f} s of CPU for {IDLE_S} s, below "
            f"{MOST_IDLE_CPU_S:g} wanted"
        )
    wrong += [
        f"{count} kernels take {megabytes:.2f} MB each, at most {MOST_KERNEL_MB:g} wanted"
        for count, megabytes in mb_per_kernel.items()
        if megabytes > MOST_KERNEL_MB
    ]
    return wrong
