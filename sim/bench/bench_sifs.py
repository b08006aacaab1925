# SPDX-License-Identifier: GPL-2.0-or-later
"""How exact mac_top's transmissions are, in clocks, under every timing profile.

A Verilated mac_top gets random receptions at random clocks: DATA and RTS frames for it, others' frames, broken ones,
carriers without a frame, with one response in three disturbed during SIFS; then the same while its host always has
packets. Measured at the PHY's side: from phy_rx_end to the response's phy_tx_start, which must be SIFS less the
programmed delays of the PHY; and how far each start after a back-off is from its slot boundary, counted from the
medium's last edge. Every one of them must be right to the clock. Three starts are listed and not judged, for they have
no such boundary: after a response timeout without a slot drawn, and where the medium's last edge came before a NAV of
an earlier frame, or the other queue's response timeout, was over.

Then a fault is planted in a copy of tick_generator (edges of the medium move no tick), and the measurement has to
notice.

A profile is measured in parts, each with a seed of its own, and a part once for each build of the programs: a run that
is interrupted goes on with the part in which it was, and the parts use all cores. Writes
out/bench-sifs: result.json, histogram.txt, histogram.svg; with --document also docs/mac/exact_times.md and its
figure.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from perhop import paths
from perhop.registers.spec_generated import PROFILES
from perhop.report import result_line
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "out/build/sim/bench/mac_top"
OUT = ROOT / "out/bench-sifs"
DOCUMENT = ROOT / "docs/mac/exact_times.md"
SEED = 1
PARTS = 10
# Delays of the PHY in its profile's clocks, transmit and receive: none, less than a microsecond, and several. No frame
# is shorter than both together.
DELAYS = {
    "dsss_long": (100, 233),
    "dsss_short": (0, 0),
    "ofdm_20mhz": (150, 233),
    "erp_short_slot": (37, 250),
    "ofdm_10mhz": (64, 700),
    "host_phy": (700, 2300),
    "glomosim": (1, 1),
}
# Clocked 16 times a microsecond, for its responses take seconds of the air each; its starts once more as hardware is,
# 64 times. Both are judged.
SLOW = {"host_phy"}
CLOCKS_RATIO = 4
NO_BOUNDARY = (
    "response timeout, no slot drawn",
    "response timeout of the other queue, behind an edge",
    "NAV of an earlier frame",
)


@dataclass(frozen=True)
class Run:
    """One program and what it is to do."""

    program: str
    profile: str
    responses: int
    starts: int
    seed: int
    more: tuple[str, ...] = ()
    delay_factor: int = 1

    def measure(self) -> dict:
        """What the program found; raises RuntimeError when it did not run.

        The same program with the same arguments finds the same: what an earlier run kept, interrupted or not, stands.
        """
        program = PROGRAMS / self.program
        counts = [str(self.responses), str(self.starts), str(self.seed)]
        delays = [str(clocks * self.delay_factor) for clocks in DELAYS[self.profile]]
        arguments = [self.profile, *counts, *delays, *self.more]
        digest = hashlib.sha256(b"\0".join([program.read_bytes(), *map(str.encode, arguments)])).hexdigest()
        kept = OUT / "runs" / f"{self.program}-{self.profile}-{digest[:16]}.json"
        if kept.exists():
            return json.loads(kept.read_text())
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{self.program} {self.profile} ended with {done.returncode}: {done.stderr.strip()}")
        found = json.loads(done.stdout)
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(".part")
        unfinished.write_text(done.stdout)
        unfinished.rename(kept)
        return found


def parts_of(run: Run) -> list[Run]:
    """A run as PARTS shorter ones that measure at least as much in all; no two parts, of any seed, have one seed."""
    shares = {each: -(-getattr(run, each) // PARTS) for each in ("responses", "starts")}
    return [replace(run, seed=run.seed * PARTS + part, **shares) for part in range(PARTS)]


def joined(parts: list[dict]) -> dict:
    """What several parts of one run found, as if one program had found it."""
    if len({(each["expected_clocks"], each["clocks_per_us"]) for each in parts}) != 1:
        raise ValueError("parts of different runs are not joined")

    errors = [error for each in parts for error in each["tsf_error_clocks"]]

    def of(kind: str) -> dict:
        names = sorted({name for each in parts for name in each.get(kind, {})})
        return {name: merged(each.get(kind, {}).get(name, {}) for each in parts) for name in names}

    return {
        "responses": of("responses"),
        "starts": of("starts"),
        "expected_clocks": parts[0]["expected_clocks"],
        "clocks_per_us": parts[0]["clocks_per_us"],
        "tsf_error_clocks": [min(errors), max(errors)] if errors else [],
        "problem": "; ".join(each["problem"] for each in parts if each["problem"]),
    }


def summary(found: dict) -> dict:
    """Least, most and number of the delays and deviations of one run, and whether all of them are right."""
    responses = merged(found.get("responses", {}).values())
    starts = {name: merged([counts]) for name, counts in found.get("starts", {}).items()}
    judged = merged(counts for name, counts in starts.items() if name not in NO_BOUNDARY)
    return {
        "n": sum(responses.values()),
        "min_clocks": min(responses, default=None),
        "max_clocks": max(responses, default=None),
        "expected_clocks": found["expected_clocks"],
        "histogram": responses,
        "kinds": {name: sum(counts.values()) for name, counts in found.get("responses", {}).items()},
        "clocks_per_us": found["clocks_per_us"],
        "slots": {
            "n": sum(judged.values()),
            "min_deviation_clocks": min(judged, default=None),
            "max_deviation_clocks": max(judged, default=None),
            "after": {
                name: {"n": sum(counts.values()), "min": min(counts), "max": max(counts)}
                for name, counts in sorted(starts.items())
            },
        },
        "tsf_error_clocks": found["tsf_error_clocks"],
        "problem": found["problem"],
        "exact": set(responses) == {found["expected_clocks"]} and set(judged) == {0} and not found["problem"],
    }


def merged(histograms) -> dict[int, int]:
    """The sum of histograms, in order."""
    total: dict[int, int] = {}
    for histogram in histograms:
        for clocks, count in histogram.items():
            total[int(clocks)] = total.get(int(clocks), 0) + count
    return dict(sorted(total.items()))


def write_text(results: dict[str, dict], path: Path) -> None:
    """The histograms, to read."""
    lines = []
    for name, result in results.items():
        lines.append(f"{name}: {result['clocks_per_us']} clocks a microsecond, expected {result['expected_clocks']}")
        most = max(result["histogram"].values(), default=1)
        for clocks, count in result["histogram"].items():
            lines.append(f"  {clocks:8} clocks {count:8} {'#' * max(1, 60 * count // most)}")
    path.write_text("\n".join(lines) + "\n")


def draw(results: dict[str, dict], faulty: dict, path: Path) -> None:
    """One small histogram a profile, and that of the planted fault."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
    from perhop.report.figures import write_figure

    panels = {**results, "planted fault: no re-phasing": faulty}
    columns = 2
    rows = -(-len(panels) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(9, 2.1 * rows), squeeze=False, layout="constrained")
    for each in axes.flat[len(panels) :]:
        each.set_visible(False)
    for axis, (name, result) in zip(axes.flat, panels.items(), strict=False):
        expected = result["expected_clocks"]
        deviations = {clocks - expected: count for clocks, count in result["histogram"].items()}
        axis.bar(list(deviations), list(deviations.values()), width=1, color="#2f6f9f")
        far = max(5, *(abs(each) for each in deviations)) + 1
        axis.set_xlim(-far, far)
        axis.set_ylim(bottom=0)
        axis.set_title(f"{name}: {result['n']} responses, expected {expected} clocks", fontsize=9)
        axis.tick_params(labelsize=8)
    figure.supxlabel("clocks from the expected delay between phy_rx_end and phy_tx_start", fontsize=9)
    figure.supylabel("responses", fontsize=9)
    write_figure(figure, path)


def in_words(deviation: dict) -> str:
    """Least and most of a deviation, as one number where they are the same."""
    least, most = (
        deviation[key] if key in deviation else deviation[f"{key}_deviation_clocks"] for key in ("min", "max")
    )
    return str(least) if least == most else f"{least} to {most}"


def write_document(results: dict[str, dict], faulty: dict, seed: int) -> None:
    """The page of docs: what was measured, how, and what the planted fault did."""
    draw(results, faulty, DOCUMENT.with_suffix(".svg"))
    responses = [
        "| profile | clocks a us | SIFS (us) | PHY delays (clocks, tx + rx) | CTS | DATA | MAC ACK | least | most "
        "| expected | spread |",
        "|---" * 11 + "|",
    ]
    for name, found in results.items():
        kinds = " | ".join(str(found["kinds"].get(kind, 0)) for kind in ("cts", "data", "mac_ack"))
        tx_clocks, rx_clocks = DELAYS[name]
        least, most = found["min_clocks"], found["max_clocks"]
        responses.append(
            f"| `{name}` | {found['clocks_per_us']} | {PROFILES[name].sifs_us} | {tx_clocks} + {rx_clocks} | {kinds} "
            f"| {least} | {most} | {found['expected_clocks']} | {most - least} |"
        )
    starts = [
        "| counted from | " + " | ".join(f"`{name}`" for name in results) + " |",
        "|---" * (len(results) + 1) + "|",
    ]
    for edge in sorted({edge for found in results.values() for edge in found["slots"]["after"]}):
        cells = [
            f"{in_words(deviation)} ({deviation['n']})" if (deviation := found["slots"]["after"].get(edge)) else ""
            for found in results.values()
        ]
        starts.append(f"| {edge}{' (not judged)' if edge in NO_BOUNDARY else ''} | " + " | ".join(cells) + " |")
    slow_words = [
        f"The starts of `{name}` in the table are those at {found['slots_clocks_per_us']} clocks a microsecond; "
        f"at {found['clocks_per_us']} they are {in_words(slow)} clocks from their boundary ({slow['n']})."
        for name, found in results.items()
        if (slow := found.get("slots_slow"))
    ]
    text = f"""# How exact the MAC's times are

Written by `sim/bench/bench_sifs.py --document`; `make bench-sifs` measures the same. Version {paths.version()["git"]},
seed {seed}, {PARTS} parts a profile.

A Verilated `mac_top` with two queues hears random frames at random clocks: DATA and RTS for it, others' frames, broken
ones, carriers without a frame; three responses in ten are disturbed during SIFS by a carrier, a frame's start, its end.
In the first half its host has nothing to send, in the second both queues always have packets. Times are clocks at the
PHY's ports; `mac_top` is told the PHY's delays.

## From a frame's end to the response

From `phy_rx_end` to `phy_tx_start` of the CTS, DATA or MAC ACK. Expected: SIFS less both delays of the PHY.

{chr(10).join(responses)}

![Histograms of the delays](exact_times.svg)

## From the medium's last edge to a start after contention

How far each `phy_tx_start` is from its slot boundary, in clocks: from the last edge of the medium, the inter-frame
space and a whole number of slots.

{chr(10).join(starts)}

In brackets: starts. Three kinds are listed and not judged, for no edge of the medium gives them a boundary: a start in
the very microsecond of a response timeout, without a slot drawn; and starts after a NAV, or a response timeout of the
other queue, that began before the medium's last edge, for each edge moves the microseconds in which they are counted.
Behind one frame in five the carrier stays, half of the time for less than two microseconds: often it falls before the
MAC knows whether it answers, and is the edge to count from all the same.
{chr(10).join(slow_words)}

## The planted fault

The same with a `tick_generator` whose ticks no edge of the medium moves, under `ofdm_20mhz`: {faulty["min_clocks"]} to
{faulty["max_clocks"]} clocks where {faulty["expected_clocks"]} are expected, over {faulty["n"]} responses. The bench
calls that inexact.
"""
    DOCUMENT.write_text(text, encoding="utf-8")


def main() -> int:
    """Return 0 when every response and every start is exact and the planted fault is noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--responses", type=int, default=10_000, help="at least, in each profile")
    parser.add_argument("--starts", type=int, default=2_000, help="at least, in each profile; a tenth for the host PHY")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--document", action="store_true", help="also write docs/mac/exact_times.md")
    parser.add_argument("profile", nargs="*", help="only these profiles")
    arguments = parser.parse_args()
    unknown = set(arguments.profile) - set(PROFILES)
    if unknown:
        parser.error(f"no such profile: {' '.join(sorted(unknown))}; there are {' '.join(PROFILES)}")
    names = [name for name in PROFILES if not arguments.profile or name in arguments.profile]
    runs = {
        name: Run(
            "perhop-bench-sifs-slow" if name in SLOW else "perhop-bench-sifs",
            name,
            arguments.responses,
            arguments.starts // 10 if name in SLOW else arguments.starts,
            arguments.seed,
        )
        for name in names
    }
    slow_starts = {
        name: Run("perhop-bench-sifs", name, 10, arguments.starts // 10, arguments.seed, (), CLOCKS_RATIO)
        for name in names
        if name in SLOW
    }
    fault = Run("perhop-bench-sifs-faulty", "ofdm_20mhz", min(arguments.responses, 500), 100, arguments.seed)
    OUT.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True, width=140)
    console.print(f"seed {arguments.seed}")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        # What takes longest first.
        ordered = sorted([*runs.items(), ("", fault)], key=lambda named: named[0] not in SLOW)
        pending = {name: [pool.submit(part.measure) for part in parts_of(run)] for name, run in ordered}
        pending_starts = {
            name: [pool.submit(part.measure) for part in parts_of(run)] for name, run in slow_starts.items()
        }

        def found(parts: list[Future]) -> dict:
            return summary(joined([part.result() for part in parts]))

        results = {}
        for name in names:
            results[name] = found(pending[name])
            if name in pending_starts:
                starts = found(pending_starts[name])
                results[name]["slots_slow"] = results[name]["slots"]
                results[name]["slots"] = starts["slots"]
                results[name]["slots_clocks_per_us"] = starts["clocks_per_us"]
                results[name]["exact"] &= starts["exact"]
            console.print(f"{name}: {results[name]['n']} responses, {results[name]['slots']['n']} starts")
        faulty = found(pending[""])

    table = Table(title="Clocks from phy_rx_end to the response's phy_tx_start, and of starts from their slot boundary")
    for heading in ("profile", "clocks/us", "responses", "least", "most", "expected", "starts", "least", "most"):
        table.add_column(heading, justify="right")
    for name, result in results.items():
        slots = result["slots"]
        cells = [result[key] for key in ("clocks_per_us", "n", "min_clocks", "max_clocks", "expected_clocks")]
        cells += [slots[key] for key in ("n", "min_deviation_clocks", "max_deviation_clocks")]
        table.add_row(name, *map(str, cells))
        if result["problem"]:
            console.print(f"{name}: {result['problem']}", style="bold red")
    console.print(table)
    write_text(results, OUT / "histogram.txt")
    draw(results, faulty, OUT / "histogram.svg")
    if arguments.document:
        write_document(results, faulty, arguments.seed)

    detected = not faulty["exact"]
    enough = all(
        result["n"] >= arguments.responses and result["slots"]["n"] >= runs[name].starts // 2
        for name, result in results.items()
    )
    result_line.print_result(
        "bench-sifs",
        {
            "seed": arguments.seed,
            "profiles": {
                name: {
                    "n": result["n"],
                    "min_clocks": result["min_clocks"],
                    "max_clocks": result["max_clocks"],
                    "expected_clocks": result["expected_clocks"],
                    "clocks_per_us": result["clocks_per_us"],
                    "slots": result["slots"],
                    **({"slots_slow": result["slots_slow"]} if "slots_slow" in result else {}),
                    "tsf_error_clocks": result["tsf_error_clocks"],
                }
                for name, result in results.items()
            },
            "exact": {name: result["exact"] for name, result in results.items()},
            "planted_fault_detected": detected,
            "planted_fault": {key: faulty[key] for key in ("n", "min_clocks", "max_clocks", "expected_clocks")},
            "histogram": "out/bench-sifs/histogram.svg",
        },
    )
    return 0 if enough and detected and all(result["exact"] for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
