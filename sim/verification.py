# SPDX-License-Identifier: GPL-2.0-or-later
"""What verify_warp, verify_bytes and verify_samples share: a run's file, the simulator, traces, planted faults."""

import itertools
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "out/build"


def run_of(
    label: str,
    directory: Path,
    *,
    mac: dict[str, Any],
    medium: dict[str, Any],
    outputs: dict[str, Any],
    **rest: Any,
) -> dict[str, Any]:
    """A run.json that leaves its trace in `directory`."""
    return {
        "schema": 1,
        "label": label,
        "warmup_s": 0.0,
        "mac": {
            "compat": "standard",
            "rts_threshold_bytes": 0,
            "short_retry_limit": 7,
            "long_retry_limit": 4,
            "queue_packets": 50,
            "average_shift": 4,
            **mac,
        },
        "medium": {
            "reception": "ns2",
            "loss": "range",
            "tx_range_m": 250,
            "capture_ratio_db": 10,
            "propagation_us": "auto",
            "frame_error_rate": 0.02,
            **medium,
        },
        "warp": "on",
        "routes": [],
        "outputs": {"directory": str(directory), "trace": True, "interval_s": 1.0, **outputs},
        **rest,
    }


def simulate(program: Path, config: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Runs a simulator in the run's empty folder. Returns its result, or nothing and what it complained of."""
    directory = Path(config["outputs"]["directory"])
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    file = directory / "run.json"
    file.write_text(json.dumps(config))
    done = subprocess.run([program, file], capture_output=True, text=True)
    if done.returncode != 0:
        return {}, done.stderr.strip()[-600:]
    return json.loads((directory / "result.json").read_text()), ""


def first_difference(a: Path, b: Path) -> str | None:
    """The first line in which two traces differ, or None if they are the same to the byte."""
    with a.open("rb") as file_a, b.open("rb") as file_b:
        for number, (line_a, line_b) in enumerate(itertools.zip_longest(file_a, file_b, fillvalue=b"(end)\n"), 1):
            if line_a != line_b:
                return f"line {number}: {line_a.decode().strip()!r} against {line_b.decode().strip()!r}"
    return None


@dataclass(frozen=True)
class RtlFault:
    """A change to one line of the gateware."""

    name: str
    file: str
    before: str
    after: str


def build_with_fault(fault: RtlFault, rtl: Path, option: str, build: Path) -> None:
    """Builds perhop-air in `build` around a copy of the folder `rtl` with one line changed.

    `option` is the CMake option that names the folder. Raises RuntimeError when the line is not there.
    """
    copy = build / "rtl"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(rtl, copy)
    text = (copy / fault.file).read_text()
    if text.count(fault.before) != 1:
        raise RuntimeError(f"{fault.file}: the line to plant the fault in is not there: {fault.before!r}")
    (copy / fault.file).write_text(text.replace(fault.before, fault.after))
    configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", f"-D{option}={copy}", "--log-level=ERROR"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    make = ["cmake", "--build", build, "--target", "perhop-air", "-j", "2"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
