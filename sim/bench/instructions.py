# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts what our simulator takes for a data packet and hop: instructions, by Valgrind, and clocks of MACs.

Seconds of CPU say little on a machine that others use, too; instructions are the same whenever they are counted. They
are those of one compiler and one set of instructions, so that a build of its own is counted: MARCH, without assertions.
Of two runs of a chain the longer one's are counted less the shorter one's, which leaves out the start.

instructions.json holds the figures that `make test` compares (tests/sim/test_instructions.py); `--record` writes them
anew. Clocks depend on nothing but the source.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "out/build-instructions"
RECORDED = Path(__file__).with_name("instructions.json")

# Valgrind 3.19 of Debian 12 knows no AVX-512, which -march=native may mean.
MARCH = "x86-64-v3"
SHORT_S, LONG_S = 1.0, 11.0
# Of the recorded instructions.
MOST_GROWTH = 0.05
# (hops, window) of the chains that are recorded.
RECORDED_CHAINS = ((1, 3), (8, 3), (8, 44))


@dataclass(frozen=True)
class Count:
    """Of one data packet and hop, its TCP ACK's way back included."""

    instructions: float
    clocks: float
    clocks_for: dict[str, float]  # by cause, see clock_cause in sim/air/air.hpp


def compiler() -> str:
    """What instructions depend on beside the source."""
    cache = (BUILD / "CMakeCache.txt").read_text()
    program = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.M)
    if program is None:
        raise RuntimeError(f"{BUILD}/CMakeCache.txt names no compiler; remedy: remove {BUILD}")
    version = subprocess.run([program[1], "--version"], check=True, capture_output=True, text=True).stdout
    return f"{version.splitlines()[0]}, -march={MARCH}"


def build() -> Path:
    """Builds perhop-sim for counting. Returns the program."""
    configure = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", f"-DPERHOP_MARCH={MARCH}", "-DPERHOP_ASSERT=OFF"]
    make = ["cmake", "--build", BUILD, "--target", "perhop-sim", "-j", "2"]
    for command in ([*configure, "--log-level=ERROR"], make):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stdout[-2000:]}")
    return BUILD / "sim/ns3/perhop-sim"


def counted_run(program: Path, config: dict) -> tuple[int, dict]:
    """Instructions of a whole process, and the run's result."""
    with tempfile.TemporaryDirectory() as directory:
        config = config | {"outputs": config["outputs"] | {"directory": directory}}
        file = Path(directory) / "run.json"
        file.write_text(json.dumps(config))
        counting = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={directory}/counts"]
        done = subprocess.run([*counting, program, file], capture_output=True, text=True)
        found = re.search(r"I +refs: +([\d,]+)", done.stderr)
        if done.returncode != 0 or found is None:
            raise RuntimeError(f"valgrind {program} ended with {done.returncode}: {done.stderr[-2000:]}")
        return int(found[1].replace(",", "")), json.loads((Path(directory) / "result.json").read_text())


def count(program: Path, hops: int, window: int, seed: int = 1) -> Count:
    from bench_sim import run_json

    runs = [counted_run(program, run_json(hops, window, seconds, seed, Path())) for seconds in (SHORT_S, LONG_S)]
    (short, short_result), (long, long_result) = runs
    packets = [result["flows"][0]["delivered_packets"] for result in (short_result, long_result)]
    each = (packets[1] - packets[0]) * hops
    causes = {
        cause: round((clocks - short_result["clocks_for"][cause]) / each, 2)
        for cause, clocks in long_result["clocks_for"].items()
    }
    clocks = round((long_result["clocks"] - short_result["clocks"]) / each, 2)
    return Count(round((long - short) / each), clocks, causes)


def name(hops: int, window: int) -> str:
    return f"{hops} hops, window {window}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write what is counted in the place of what was recorded")
    options = parser.parse_args()
    program = build()
    found = {name(*chain): asdict(count(program, *chain)) for chain in RECORDED_CHAINS}
    for chain, counted in found.items():
        print(f"{chain}: {json.dumps(counted)}")
    if options.record:
        RECORDED.write_text(json.dumps({"compiler": compiler(), "chains": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
