# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts the instructions that perhop-sim takes for a data packet and hop, by Valgrind.

Seconds of CPU say little on a machine that others use, too; instructions are the same whenever they are counted. They
are those of one compiler and of one set of instructions, which stand beside the figures. Of two runs of a chain the
longer one's are counted less the shorter one's, which leaves out the start.

instructions.json holds the figures that tests/sim/test_instructions.py compares. `--record` writes them anew: do so in
the commit that explains why they are others.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from chain_runs import BUILD, run_json

RECORDED = Path(__file__).with_name("instructions.json")
SHORT_S, LONG_S = 1.0, 6.0
# (hops, window in packets) of the chains that are recorded.
CHAINS = ((1, 3), (8, 3), (8, 44))


def compiler(build: Path = BUILD) -> str:
    """What instructions depend on beside the source. Raises RuntimeError where the build does not say."""
    cache = (build / "CMakeCache.txt").read_text()

    def cached(name: str) -> str:
        found = re.search(rf"^{name}:\w+=(.+)$", cache, re.MULTILINE)
        if found is None:
            raise RuntimeError(f"{build}/CMakeCache.txt has no {name}; remedy: remove {build} and run `make build`")
        return found[1]

    version = subprocess.run([cached("CMAKE_CXX_COMPILER"), "--version"], check=True, capture_output=True, text=True)
    # Without its first word, which is how it was called: c++ or g++.
    return f"{version.stdout.splitlines()[0].partition(' ')[2]}, -march={cached('PERHOP_MARCH')}"


def of_process(command: list[str | Path], *options: str) -> tuple[int, str]:
    """Instructions of a whole process, and what it printed. Raises RuntimeError where Valgrind fails."""
    with tempfile.TemporaryDirectory() as directory:
        counting = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={directory}/counts"]
        done = subprocess.run([*counting, *options, *command], capture_output=True, text=True)
    found = re.search(r"I +refs: +([\d,]+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise RuntimeError(f"valgrind of {command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return int(found[1].replace(",", "")), done.stdout


def counted_run(hops: int, window: int, simulated_s: float, build: Path = BUILD) -> tuple[int, int]:
    """Instructions of a whole process, and data packets delivered."""
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory) / "run.json"
        config.write_text(json.dumps(run_json(hops, window, simulated_s, 1, Path(directory))))
        counted, _ = of_process([build / "sim/ns3/perhop-sim", config])
        result = json.loads((Path(directory) / "result.json").read_text())
    return counted, result["flows"][0]["delivered_packets"]


def per_packet_hop(hops: int, counted: Callable[[float], tuple[int, int]]) -> int:
    """Instructions of one data packet and hop, its TCP ACK's way back included: what the longer of two runs has more.

    `counted(simulated seconds)` makes a run, and tells its instructions and the packets that it delivered.
    """
    short, long = (counted(seconds) for seconds in (SHORT_S, LONG_S))
    return round((long[0] - short[0]) / ((long[1] - short[1]) * hops))


def count(hops: int, window: int, build: Path = BUILD) -> int:
    """The same of perhop-sim over a chain."""
    return per_packet_hop(hops, lambda simulated_s: counted_run(hops, window, simulated_s, build))


def name(hops: int, window: int) -> str:
    return f"{hops} hops, window {window}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write what is counted in the place of what was recorded")
    options = parser.parse_args()
    found = {name(*chain): count(*chain) for chain in CHAINS}
    for chain, instructions in found.items():
        print(f"{chain}: {instructions:,} instructions a data packet and hop")
    if options.record:
        RECORDED.write_text(json.dumps({"compiler": compiler(), "instructions": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
