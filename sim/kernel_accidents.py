# SPDX-License-Identifier: GPL-2.0-or-later
"""Accidents of a run with Linux kernels: each ends it with one message, the results so far and no process left.

A kernel that is killed, one that panics (its only program ends), a guest that spins (its program never lets time pass),
an interrupt, and a disk that fills up. The programs that end and spin are compiled here and take the place of the flow
end in a copy of perhop-kernel's folder.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.kernel import image

TIMEOUT_S = 60
PATIENCE_S = 3
DISK_BYTES = 400_000
MEASURED_S = 5

# What takes the place of a kernel's program: it says that it is there, waits for two seconds of the kernel's time, of
# which one is the run's, and then goes wrong.
PLANTED = """
#include <stdio.h>
#include <time.h>
int main(void) {
  struct timespec now, wait = {2, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("{\\"ready_ns\\": %lld}\\n", now.tv_sec * 1000000000LL + now.tv_nsec);
  fflush(stdout);
  nanosleep(&wait, 0);
  GOES_WRONG
}
"""
GOES_WRONG = {"a panic": "return 3;", "a spinning guest": 'for (;;) __asm__ volatile("");'}


def all_of(config: dict[str, Any], folder: Path) -> dict[str, bool]:
    """By accident whether it ends as it must. @param config of a run that would go on for long"""
    found = {
        "a killed kernel": killed(config, folder / "killed"),
        "an interrupt": interrupted(config, folder / "interrupted"),
    }
    for name, code in GOES_WRONG.items():
        found[name] = goes_wrong(config, folder / name.replace(" ", "-"), code)
    if os.geteuid() == 0:
        found["a full disk"] = full_disk(config, folder / "full")
    return found


def start(config: dict[str, Any], place: Path, program: Path | None = None, **outputs: bool) -> subprocess.Popen[str]:
    told = {**config, "outputs": {**config["outputs"], "directory": str(place), "pcapng": False, **outputs}}
    place.mkdir(parents=True, exist_ok=True)
    (place / "run.json").write_text(json.dumps(told))
    command = [str(program or paths.program("perhop-kernel")), "--kernel", str(image.file())]
    command += ["--patience", str(PATIENCE_S), str(place / "run.json")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process: subprocess.Popen[str]) -> str:
    """What it said."""
    try:
        return process.communicate(timeout=TIMEOUT_S)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "it goes on"


def one_message(errors: str, about: str) -> bool:
    return errors.count("perhop-kernel:") == 1 and about in errors and "remedy:" in errors


def results(place: Path) -> dict[str, Any]:
    try:
        return json.loads((place / "result.json").read_text())
    except (OSError, ValueError):
        return {}


def after_a_while(place: Path, act: Callable[[subprocess.Popen[str], list[int]], None], config: dict[str, Any]) -> Any:
    """A run to which something happens when data has flown. Returns (the process, what it said, its result)."""
    process = start(config, place)
    wait_for_data(process, config["warmup_s"])
    kernels = [member for member in members(place) if is_kernel(member)]
    if kernels:
        act(process, kernels)
    errors = end(process)
    result = results(place)
    measured = result.get("interrupted") and result["flows"][0].get("delivered_packets", 0) > 0
    return process.returncode, errors, bool(kernels and measured and not members(place))


def wait_for_data(process: subprocess.Popen[str], warmup_s: float) -> None:
    """Until some seconds of the run have been measured, or it is over."""
    assert process.stdout is not None
    for line in process.stdout:
        words = line.split()
        if words[:1] == ["PROGRESS"] and float(words[1]) > warmup_s + MEASURED_S:
            return


def killed(config: dict[str, Any], place: Path) -> bool:
    status, errors, left_well = after_a_while(place, lambda _, kernels: os.kill(kernels[0], signal.SIGKILL), config)
    return left_well and status == 1 and one_message(errors, "the kernel of node")


def interrupted(config: dict[str, Any], place: Path) -> bool:
    status, _, left_well = after_a_while(place, lambda process, _: process.send_signal(signal.SIGINT), config)
    return left_well and status == 130


def goes_wrong(config: dict[str, Any], place: Path, code: str) -> bool:
    """The kernels' program is a planted one."""
    programs = place / "programs"
    programs.mkdir(parents=True)
    ours = paths.program("perhop-kernel")
    for name in ("perhop-kernel", "libperhop_seeded_random.so"):
        shutil.copy2(ours.parent / name, programs / name)
    source = programs / "planted.c"
    source.write_text(PLANTED.replace("GOES_WRONG", code))
    subprocess.run(["cc", "-O1", "-static", "-o", str(programs / "planted"), str(source)], check=True)
    packed = subprocess.run(
        [ours.with_name("perhop-pack-flow-end"), programs / "planted"], check=True, capture_output=True
    )
    (programs / "perhop-flow-end.cpio.gz").write_bytes(gzip.compress(packed.stdout))
    process = start(config, place, programs / "perhop-kernel")
    errors = end(process)
    about = "Attempted to kill init" if "return" in code else f"has let no time pass for {PATIENCE_S} s"
    told = results(place).get("interrupted") is True
    return process.returncode == 1 and one_message(errors, about) and told and not members(place)


def full_disk(config: dict[str, Any], place: Path) -> bool:
    """A trace that has no room; the run itself is a short one."""
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", str(place)], check=True)
    try:
        process = start({**config, "duration_s": 30}, place, trace=True)
        errors = end(process)
        left = members(place)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)
    return process.returncode == 1 and errors.count("perhop-kernel:") == 1 and "disk full" in errors and not left


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
