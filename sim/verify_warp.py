# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows that time warp changes nothing: the same run with and without it, compared byte by byte.

Every case is run three times: with time warp and lazy nodes, with every node evaluated at every event, and with
every node clocked every microsecond. The traces hold every transmission and every completion record.

Then a fault is planted in a copy of the MAC (a random generator that runs freely, which breaks the fourth rule of time
warp in ARCHITECTURE.md), and the comparison has to notice.
"""

import argparse
import itertools
import json
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "out/build"
FAULTY_BUILD = ROOT / "out/build-planted-fault"
OUT = ROOT / "out/verify-warp"

MODES = ("on", "all_nodes", "every_tick")
TOPOLOGIES = ("chain", "hidden_pair", "full_mesh", "in_motion")
NODES = (2, 8, 16)
PROFILES = ("dsss_long", "ofdm_20mhz")
LOADS = ("saturated", "poisson")

# The line of random_draw.sv that the planted fault rewrites: the generator then steps with every clock.
FAULT_FILE = "random_draw.sv"
FAULT_FROM = "end else if (step) begin"
FAULT_TO = "end else begin"


@dataclass(frozen=True)
class Case:
    """One run: who is where, and what they send."""

    topology: str
    nodes: int
    profile: str
    load: str

    @property
    def name(self) -> str:
        return f"{self.topology}-{self.nodes}-{self.profile}-{self.load}"


FAULT_CASE = Case("chain", 8, "dsss_long", "saturated")


def positions(case: Case) -> list[tuple[float, float]]:
    """Metres. Ranges are 250 m to receive and, in a hidden pair, 250 m to sense."""
    if case.topology in ("chain", "in_motion"):
        return [(200.0 * i, 0.0) for i in range(case.nodes)]
    if case.topology == "full_mesh":
        return [(10.0 * i, 5.0 * (i % 3)) for i in range(case.nodes)]
    # Hidden pair: two groups of senders that do not hear each other, and a receiver between them that hears both.
    # With two nodes there is no third to be the receiver between: a third is added.
    senders = max(case.nodes - 1, 2)
    left = [(-200.0, 10.0 * i) for i in range((senders + 1) // 2)]
    right = [(200.0, 10.0 * i) for i in range(senders // 2)]
    return [(0.0, 0.0), *left, *right]


def flows(case: Case, count: int) -> list[dict]:
    if case.topology == "hidden_pair":
        pairs = [(i, 0) for i in range(1, count)]
    else:
        pairs = [(i, i + 1) for i in range(count - 1)] + ([(count - 1, count - 2)] if count > 2 else [(1, 0)])
    common = {"ip_bytes": 1000, "path_header": True}
    if case.load == "saturated":
        return [{"kind": "mac_saturated", "src": a, "dst": b, **common} for a, b in pairs]
    # Together about half of what one DSSS medium carries, more on OFDM.
    rate = (100.0 if case.profile == "dsss_long" else 900.0) / len(pairs)
    return [{"kind": "mac_poisson", "src": a, "dst": b, "rate_packets_per_s": rate, **common} for a, b in pairs]


def moves(case: Case, count: int, duration_s: float) -> list[dict]:
    """Nodes that go back and forth, so fast that links come and go while frames are on the air; some turn under way."""
    draws = random.Random(case.name)
    found, at_s = [], 0.0
    while at_s < duration_s:
        place = {"x_m": draws.uniform(0, 200.0 * count), "y_m": draws.uniform(0, 200.0)}
        speed = {} if draws.random() < 0.1 else {"speed_mps": draws.uniform(100, 4000)}
        found.append({"at_s": at_s, "kind": "move", "node": draws.randrange(count), **place, **speed})
        at_s = round(at_s + draws.uniform(0, 0.2 / count), 6)
    return found


def run_json(case: Case, mode: str, duration_s: float, seed: int, directory: Path) -> dict:
    where = positions(case)
    hidden = case.topology == "hidden_pair"
    return {
        "schema": 1,
        "label": f"{case.name} {mode}",
        "seed": seed,
        "duration_s": duration_s,
        "warmup_s": 0.0,
        "mac": {
            "profile": case.profile,
            "compat": "standard",
            "data_rate_index": 1 if case.profile == "dsss_long" else 4,
            "rts_threshold_bytes": 0,
            "short_retry_limit": 7,
            "long_retry_limit": 4,
            "queue_packets": 50,
            "average_shift": 4,
        },
        "medium": {
            "reception": "ns2",
            "loss": "range",
            "tx_range_m": 250,
            "cs_range_m": 250 if hidden else 550,
            "capture_ratio_db": 10,
            "propagation_us": "auto",
            "frame_error_rate": 0.02,
        },
        "warp": mode,
        "nodes": [{"x_m": x, "y_m": y} for x, y in where],
        "routes": [],
        **({"events": moves(case, len(where), duration_s)} if case.topology == "in_motion" else {}),
        "flows": flows(case, len(where)),
        "outputs": {
            "directory": str(directory),
            "pcapng": False,
            "trace": True,
            "completions": False,
            "interval_s": 1.0,
        },
    }


def simulate(build: Path, case: Case, mode: str, duration_s: float, seed: int, keep: Path) -> tuple[Path, dict]:
    """Runs perhop-air. Returns its trace file and its result."""
    directory = keep / f"{case.name}-{mode}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    config = directory / "run.json"
    config.write_text(json.dumps(run_json(case, mode, duration_s, seed, directory)))
    done = subprocess.run([build / "sim/run/perhop-air", config], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{case.name} {mode}: perhop-air ended with {done.returncode}: {done.stderr[-600:]}")
    return directory / "trace.txt", json.loads((directory / "result.json").read_text())


def first_difference(a: Path, b: Path) -> str | None:
    """The first line in which two traces differ, or None if they are the same to the byte."""
    with a.open("rb") as file_a, b.open("rb") as file_b:
        for number, (line_a, line_b) in enumerate(itertools.zip_longest(file_a, file_b, fillvalue=b"(end)\n"), 1):
            if line_a != line_b:
                return f"line {number}: {line_a.decode().strip()!r} against {line_b.decode().strip()!r}"
    return None


def verify(build: Path, case: Case, duration_s: float, seed: int, keep: Path) -> dict:
    """Runs a case in the three modes. `identical` says whether the three traces are the same to the byte."""
    traces = {}
    for mode in MODES:
        traces[mode], result = simulate(build, case, mode, duration_s, seed, keep)
    differences = {m: first_difference(traces["on"], traces[m]) for m in MODES[1:]}
    identical = not any(differences.values())
    if identical:
        for trace in traces.values():
            trace.unlink()
    return {
        "case": case.name,
        "trace_hashes": [result["trace_hash"]],
        "topology": case.topology,
        "nodes": case.nodes,
        "profile": case.profile,
        "load": case.load,
        "transmissions": result["transmissions"],
        "completions": result["completions_checked"],
        "identical": identical,
        **({} if identical else {"differences": differences}),
    }


def build_with_planted_fault() -> None:
    """Builds perhop-air around a copy of the MAC in which one rule of time warp is broken."""
    rtl = FAULTY_BUILD / "rtl"
    shutil.rmtree(rtl, ignore_errors=True)
    shutil.copytree(ROOT / "gateware/rtl/mac", rtl)
    text = (rtl / FAULT_FILE).read_text()
    if text.count(FAULT_FROM) != 1:
        raise RuntimeError(f"{FAULT_FILE}: the line to plant the fault in is not there: {FAULT_FROM!r}")
    (rtl / FAULT_FILE).write_text(text.replace(FAULT_FROM, FAULT_TO))
    configure = [
        "cmake",
        "-S",
        ROOT,
        "-B",
        FAULTY_BUILD,
        "-G",
        "Ninja",
        f"-DPERHOP_MAC_RTL_DIR={rtl}",
        "--log-level=ERROR",
    ]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["cmake", "--build", FAULTY_BUILD, "--target", "perhop-air", "-j", "2"], check=True, stdout=subprocess.DEVNULL
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=2.0, metavar="S", help="simulated seconds a run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="2 and 8 nodes, half a second, no planted fault")
    options = parser.parse_args()

    nodes = NODES[:2] if options.quick else NODES
    duration_s = 0.5 if options.quick else options.duration
    cases = [Case(t, n, p, w) for n in nodes for t in TOPOLOGIES for p in PROFILES for w in LOADS]
    console = Console(stderr=True)
    rows: list[dict] = []
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as scratch, Progress(console=console, transient=True) as progress:
        task = progress.add_task("cases", total=len(cases))
        with ThreadPoolExecutor(options.jobs) as pool:
            for row in pool.map(lambda case: verify(BUILD, case, duration_s, options.seed, Path(scratch)), cases):
                rows.append(row)
                progress.advance(task)
                mark = "same" if row["identical"] else f"DIFFERENT {row['differences']}"
                label = f"{row['topology']:<12}{row['nodes']:>3} nodes  {row['profile']:<11}{row['load']:<10}"
                progress.console.print(f"{label}{row['transmissions']:>8} transmissions  {mark}", highlight=False)

        detected = None
        if not options.quick:
            progress.add_task("planted fault", total=None)
            build_with_planted_fault()
            planted = verify(FAULTY_BUILD, FAULT_CASE, duration_s, options.seed, Path(scratch))
            detected = not planted["identical"]
            progress.console.print(f"planted fault (random numbers run freely): {'found' if detected else 'NOT FOUND'}")

    ok = all(row["identical"] for row in rows) and detected is not False
    result = {
        "target": "verify-warp",
        "seed": options.seed,
        "simulated_s": duration_s,
        "cases": rows,
        "planted_fault_detected": detected,
        "ok": ok,
    }
    if not options.quick:  # the quick part must not pass for the whole
        (OUT / "result.json").write_text(json.dumps(result))
    print("RESULT " + json.dumps(result))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
