# SPDX-License-Identifier: GPL-2.0-or-later
"""A million frames and register accesses of any kind, in bursts, at a Verilated mac_top; `make fuzz-gateware` calls it.

First a fault is planted, a host that takes no completion records any more, and the program has to notice that no packet
ends. Then, after every burst, the MAC must hold its settings, come to rest, answer a frame SIFS after its end to the
clock, and get a packet of its host delivered (sim/bench/mac_top/fuzz_gateware.cpp says what a burst is). The assertions
of the RTL stand throughout.

Ends with a line RESULT and JSON, also in out/fuzz-gateware/result.json; exit status 1 when the MAC failed.
"""

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from perhop.report import result_line

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "out/build/sim/bench/mac_top/perhop-fuzz-gateware"
COUNTED = (
    *("frames", "bursts", "exchanges_after_bursts", "register_writes", "register_reads", "writes_judged"),
    *("writes_refused", "packets_given", "starts_in_bursts", "clocks"),
)
NOTICED = "a packet's completion does not come"  # of the planted fault


def fuzz(frames: int, seed: int, *more: str) -> dict:
    """One run of the program; an RTL assertion that failed is a problem like others."""
    done = subprocess.run([PROGRAM, str(frames), str(seed), *more], capture_output=True, text=True)
    if done.returncode in (0, 1) and done.stdout.startswith("{"):
        return json.loads(done.stdout) | {"seed": seed}
    problem = f"ended with {done.returncode}: {(done.stderr + done.stdout).strip()[-600:]}"
    return {"seed": seed, "problem": problem, "profile": "", "longest_rest_ms": 0} | dict.fromkeys(COUNTED, 0)


def main() -> int:
    """Return 0 when the MAC worked after every burst and the planted fault was noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the others count on")
    parser.add_argument("--runs", type=int, default=10, help="among which the frames are divided")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    seeds = range(arguments.seed, arguments.seed + arguments.runs)
    each = -(-arguments.frames // arguments.runs)
    print(f"seeds {seeds.start} to {seeds.stop - 1}, {each} frames each", flush=True)
    began_s = time.monotonic()
    faulty = fuzz(2000, arguments.seed, "fault")
    detected = NOTICED in faulty["problem"]
    print(f"planted fault: {faulty['problem'] or 'not noticed'}", flush=True)
    found = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for run in pool.map(lambda seed: fuzz(each, seed), seeds):
            found.append(run)
            told = f"{run['frames']} frames, {run['profile']}, longest rest {run['longest_rest_ms']:.1f} ms"
            print(f"seed {run['seed']}: {told}: {run['problem'] or 'works'}", flush=True)
    result = {name: sum(run[name] for run in found) for name in COUNTED}
    result |= {
        "seeds": [seeds.start, seeds.stop - 1],
        "profiles": sorted({run["profile"] for run in found}),
        "longest_rest_ms": max(run["longest_rest_ms"] for run in found),
        "problems": {run["seed"]: run["problem"] for run in found if run["problem"]},
        "planted_fault_detected": detected,
        "seconds": round(time.monotonic() - began_s, 1),
    }
    result_line.print_result("fuzz-gateware", result)
    enough = result["frames"] >= arguments.frames
    return 0 if enough and not result["problems"] and detected else 1


if __name__ == "__main__":
    sys.exit(main())
