# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows that time warp changes nothing: the same run with and without it, compared byte by byte.

Every case is run three times: with time warp and lazy nodes, with every node evaluated at every event, and with
every node clocked every microsecond. The traces hold every transmission and every completion record.

Then a fault is planted in a copy of the MAC (a random generator that runs freely, which breaks the fourth rule of time
warp in ARCHITECTURE.md), and the comparison has to notice.
"""

import argparse
import json
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from verification import BUILD, ROOT, RtlFault, build_with_fault, first_difference, run_of, simulate

FAULTY_BUILD = ROOT / "out/build-planted-fault"
OUT = ROOT / "out/verify-warp"

MODES = ("on", "all_nodes", "every_tick")
TOPOLOGIES = ("chain", "hidden_pair", "full_mesh", "in_motion")
NODES = (2, 8, 16)
PROFILES = ("dsss_long", "ofdm_20mhz")
LOADS = ("saturated", "poisson")

# The generator then steps with every clock.
FAULT = RtlFault("random numbers run freely", "random_draw.sv", "end else if (step) begin", "end else begin")


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
    return run_of(
        f"{case.name} {mode}",
        directory,
        seed=seed,
        duration_s=duration_s,
        mac={"profile": case.profile, "data_rate_index": 1 if case.profile == "dsss_long" else 4},
        medium={"cs_range_m": 250 if case.topology == "hidden_pair" else 550},
        warp=mode,
        nodes=[{"x_m": x, "y_m": y} for x, y in where],
        **({"events": moves(case, len(where), duration_s)} if case.topology == "in_motion" else {}),
        flows=flows(case, len(where)),
        outputs={"pcapng": False, "completions": False},
    )


def verify(build: Path, case: Case, duration_s: float, seed: int, keep: Path) -> dict:
    """Runs a case in the three modes. `identical` says whether the three traces are the same to the byte."""
    traces = {}
    for mode in MODES:
        directory = keep / f"{case.name}-{mode}"
        result, complaint = simulate(build / "sim/run/perhop-air", run_json(case, mode, duration_s, seed, directory))
        if complaint:
            raise RuntimeError(f"{case.name} {mode}: {complaint}")
        traces[mode] = directory / "trace.txt"
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
            build_with_fault(FAULT, ROOT / "gateware/rtl/mac", "PERHOP_MAC_RTL_DIR", FAULTY_BUILD)
            planted = verify(FAULTY_BUILD, FAULT_CASE, duration_s, options.seed, Path(scratch))
            detected = not planted["identical"]
            progress.console.print(f"planted fault ({FAULT.name}): {'found' if detected else 'NOT FOUND'}")

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
