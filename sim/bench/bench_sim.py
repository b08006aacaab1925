# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the cost of simulating one TCP flow over a chain: perhop, ns-3's own Wi-Fi, ns-2.35.

Figure: CPU microseconds (user and system, whole process, start-up included) for each data packet delivered to the
far end and each hop it took. The three run in turn, several rounds; medians are compared.

The same flow everywhere: TCP NewReno, 1460-byte segments, an ACK for every segment, chain of 250 m hops, 802.11b at
2 Mb/s with 1 Mb/s control frames, RTS/CTS, ns-2's reception rule, interface queue 50. Routes are static; ns-2, which
has no static ones for radios, keeps what DSDV found before the flow began (ns2_chain.tcl), and runs with DSR, as the
papers did, besides. At a window of 3 all deliver nearly the same packets, so that costs compare; at 44 the chain is
overloaded, and each has its own losses: what is delivered stands beside each figure.

perhop runs from a build without assertions; the hash over all its transmissions and completion records has to equal
that of the build with assertions, and so has that of a run whose TCP goes through ns-3's IP. Beside the seconds stand
what no other work of the machine changes: the clocks of MACs and the instructions that a packet and hop took. ns-3 is
the wheel, with its logs and assertions; with --ns3 perhop and ns-3's Wi-Fi run with one that was built for speed, too.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import builds
import instructions
from chain_runs import BENCH_BUILD, BUILD, ROOT, run_json
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

HERE = Path(__file__).resolve().parent
OUT = ROOT / "out/bench-sim"
WINDOWS = (44, 3)  # packets

# perhop and its peers, in the order of a round; then those with an ns-3 that was built for speed.
SIMULATORS = {"ours": "perhop", "ns3": "ns-3 Wi-Fi", "ns2": "ns-2 DSR", "ns2_static": "ns-2 static"}
BUILT = {"ours_built": "perhop, ns-3 built for speed", "ns3_built": "ns-3 Wi-Fi, built for speed"}

# What has to hold, in each window: of ns-2's cost with static routes by hops, and of ns-3's at 8 hops.
NS2_SHARE = {1: 0.6, 8: 1 / 3, 15: 1 / 3}
NS3_SHARE = 1 / 30
# A setting of ns-3's attributes, by which TCP goes through ns-3's IP (sim/ns3/README.md).
BY_IP = {"NS_ATTRIBUTE_DEFAULT": "perhop::AirNetDevice::BulkPath=false"}


def cpu_of(command: list[str | Path], environment: dict[str, str] | None = None) -> tuple[float, str]:
    """Runs a command to its end. Returns its CPU seconds (user and system) and what it printed."""
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=printed, stderr=errors, env=os.environ | (environment or {}))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}: {errors.read()[-600:]}")
        return usage.ru_utime + usage.ru_stime, printed.read()


def run_ours(
    build: Path, hops: int, window: int, seconds: float, seed: int, environment: dict[str, str] | None = None
) -> tuple[float, int, dict]:
    """Returns CPU seconds, delivered packets and the run's result."""
    with tempfile.TemporaryDirectory(dir=OUT) as directory:
        config = Path(directory) / "run.json"
        config.write_text(json.dumps(run_json(hops, window, seconds, seed, Path(directory))))
        cpu_s, _ = cpu_of([build / "sim/ns3/perhop-sim", config], environment)
        result = json.loads((Path(directory) / "result.json").read_text())
    return cpu_s, result["flows"][0]["delivered_packets"], result


def clocks_of(result: dict, hops: int) -> dict[str, float]:
    """Clocks of MACs for each data packet delivered and hop, by what they were for (sim/air/air.hpp, clock_cause)."""
    each = result["flows"][0]["delivered_packets"] * hops
    return {cause: count / each for cause, count in result["clocks_for"].items()}


def run_peer(command: list[str | Path]) -> tuple[float, int]:
    """Returns CPU seconds and delivered packets."""
    cpu_s, printed = cpu_of(command)
    return cpu_s, delivered_of(printed)


def delivered_of(printed: str) -> int:
    """What a peer delivered. ns-2 prints notes of its own around the result."""
    line = next(line for line in printed.splitlines() if line.startswith("{"))
    return json.loads(line)["delivered_packets"]


def peer_command(
    name: str, ns3: dict[str, Path], hops: int, window: int, seconds: float, seed: int
) -> list[str | Path]:
    """`ns3` holds the programs of those that are ns-3's."""
    if name in ns3:
        return [ns3[name], f"--hops={hops}", f"--window={window}", f"--seconds={seconds}", f"--seed={seed}"]
    routing = {"ns2": "DSR", "ns2_static": "STATIC"}[name]
    return ["ns", HERE / "ns2_chain.tcl", str(hops), str(window), str(seconds), str(seed), routing]


def measure(
    hops: int, window: int, options: argparse.Namespace, ns3: dict[str, Path], step: Callable[[], None]
) -> dict[str, Any]:
    """Runs all in turn, `rounds` times. Returns medians of CPU us per delivered packet and hop."""
    samples: dict[str, list[float]] = {name: [] for name in simulators(options)}
    rates: dict[str, list[float]] = {name: [] for name in simulators(options)}
    shares: list[dict] = []
    clocks: dict[str, float] = {}
    for number in range(options.rounds):
        seed = options.seed + number
        for name in simulators(options):
            if name == "ours":
                cpu_s, packets, result = run_ours(BENCH_BUILD, hops, window, options.seconds, seed)
                shares.append(result["cpu_s"])
                clocks = clocks_of(result, hops)
            elif name == "ours_built":
                cpu_s, packets, _ = run_ours(options.ns3.build, hops, window, options.seconds, seed)
            else:
                cpu_s, packets = run_peer(peer_command(name, ns3, hops, window, options.seconds, seed))
            samples[name].append(cpu_s * 1e6 / (packets * hops))
            rates[name].append(packets / options.seconds)
            step()
    row: dict = {f"{name}_us": round(statistics.median(values), 2) for name, values in samples.items()}
    row |= {f"{name}_range_us": [round(min(v), 2), round(max(v), 2)] for name, v in samples.items()}
    row |= {f"{name}_pps": round(statistics.median(values), 2) for name, values in rates.items()}
    row["clocks_per_packet_hop"] = round(sum(clocks.values()), 1)
    row["clocks_for"] = {cause: round(count, 1) for cause, count in clocks.items()}
    total = sum(s["total"] for s in shares)
    row["shares"] = {k: round(sum(s[k] for s in shares) / total, 3) for k in ("rtl", "medium", "transport", "other")}
    # Valgrind does not know all instructions of this machine, for which the others may have been built.
    counted = [name for name in simulators(options) if name in SIMULATORS]
    row["instructions"] = {name: count_instructions(name, hops, window, ns3) for name in counted}
    step()
    return row


def simulators(options: argparse.Namespace) -> dict[str, str]:
    """Those that run, by their names."""
    every = SIMULATORS | (BUILT if options.ns3 else {})
    return {name: words for name, words in every.items() if not (options.no_wifi and words.startswith("ns-3 Wi-Fi"))}


def count_instructions(name: str, hops: int, window: int, ns3: dict[str, Path]) -> int:
    """Of one data packet and hop, without the start."""
    if name == "ours":
        return instructions.count(hops, window, BENCH_BUILD)

    def counted(seconds: float) -> tuple[int, int]:
        taken, printed = instructions.of_process(peer_command(name, ns3, hops, window, seconds, 1))
        return taken, delivered_of(printed)

    return instructions.per_packet_hop(hops, counted)


def same_hash(options: argparse.Namespace) -> dict:
    """The trace hash of the same run by the build with assertions, by the one without, and through ns-3's IP.

    And by the build with another ns-3, if there is one.
    """
    ways = {"with_assertions": (BUILD, None), "without": (BENCH_BUILD, None), "by_ip": (BENCH_BUILD, BY_IP)}
    if options.ns3:
        ways["with_ns3_built"] = (options.ns3.build, None)
    hashes = {
        name: run_ours(build, 8, max(WINDOWS), min(options.seconds, 100.0), options.seed, environment)[2]["trace_hash"]
        for name, (build, environment) in ways.items()
    }
    return {**hashes, "equal": len(set(hashes.values())) == 1}


def judge(windows: dict[str, dict[str, dict]]) -> list[str]:
    """What does not hold, a sentence each."""
    failed = []
    for window, rows in windows.items():
        for hops, row in rows.items():
            bounds = {"ns2_static": NS2_SHARE.get(int(hops)), "ns3": NS3_SHARE if hops == "8" else None}
            for peer, most in bounds.items():
                if most is None or f"{peer}_us" not in row:
                    continue
                share = row["ours_us"] / row[f"{peer}_us"]
                if share > most:
                    name = SIMULATORS[peer]
                    failed.append(f"{hops} hops, window {window}: {share:.2f} of what {name} takes, not {most:.2f}")
    return failed


def table_of(window: int, rows: dict[str, dict], names: dict[str, str]) -> Table:
    title = f"Window {window}: CPU us per delivered data packet and hop (median; packets/s delivered)"
    table = Table(title=title)
    for heading in ("hops", *names.values(), "clocks", "where perhop's goes"):
        table.add_column(heading, justify="right")
    for hops, row in rows.items():
        cells = [
            f"{row[f'{name}_us']:.1f} ({row[f'{name}_pps']:.1f}/s)"
            + ("" if name == "ours" else f" = {row[f'{name}_us'] / row['ours_us']:.1f}x")
            for name in names
        ]
        where = ", ".join(f"{name} {share:.0%}" for name, share in row["shares"].items())
        table.add_row(hops, *cells, f"{row['clocks_per_packet_hop']:.1f}", where)
        counted = [f"{count / 1e3:.0f}k instructions" for count in row["instructions"].values()]
        table.add_row("", *counted, *[""] * (len(names) - len(counted)), "", "")
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hops", type=int, nargs="+", default=[1, 8, 15])
    parser.add_argument("--windows", type=int, nargs="+", default=list(WINDOWS))
    parser.add_argument("--seconds", type=float, default=100.0, help="simulated seconds a run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--no-wifi", action="store_true", help="leave ns-3's own Wi-Fi out, which takes most of the time"
    )
    builds.add_ns3_option(parser, "beside the wheel an ns-3 that was built for speed")
    options = parser.parse_args()
    if not shutil.which("ns"):
        print("bench-sim: the peer ns-2 is not installed; remedy: apt-get install ns2", file=sys.stderr)
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True, width=190 if options.ns3 else 150)
    chains = [(window, hops) for window in options.windows for hops in options.hops]
    windows: dict[str, dict[str, dict]] = {str(window): {} for window in options.windows}
    with Progress(console=console, transient=True) as progress:
        building = progress.add_task("building", total=None)
        builds.WHEEL.perhop_sim()
        ns3 = {"ns3": builds.WHEEL.peer("ns3_wifi_chain", OUT)}
        if options.ns3:
            options.ns3.perhop_sim()
            ns3["ns3_built"] = options.ns3.peer("ns3_wifi_chain", OUT)
        progress.remove_task(building)
        task = progress.add_task("measuring", total=len(chains) * (options.rounds * len(simulators(options)) + 1))
        for window, hops in chains:
            row = measure(hops, window, options, ns3, lambda: progress.advance(task))
            windows[str(window)][str(hops)] = row
        hashes = same_hash(options)

    for window, rows in windows.items():
        console.print(table_of(int(window), rows, simulators(options)))
    built = ", with the ns-3 that was built for speed" if options.ns3 else ""
    console.print(f"hashes equal with and without assertions, through ns-3's IP{built}: {hashes['equal']}")

    failed = judge(windows)
    for sentence in failed:
        print(f"DOES NOT HOLD: {sentence}")
    ok = hashes["equal"] and not failed
    first = windows[str(options.windows[0])]
    result = {
        "target": "bench-sim",
        "simulated_s": options.seconds,
        "rounds": options.rounds,
        "seed": options.seed,
        "hops": first,
        "windows": windows,
        "ns3_build": builds.WHEEL.words,
        "ns3_built": options.ns3.words if options.ns3 else None,
        "clocks_per_packet_hop": {hops: row["clocks_per_packet_hop"] for hops, row in first.items()},
        "instructions": {hops: row["instructions"] for hops, row in first.items()},
        "shares": first[str(options.hops[len(options.hops) // 2])]["shares"],
        "hash": hashes,
        "failed": failed,
        "ok": ok,
    }
    (OUT / "result.json").write_text(json.dumps(result))
    print("RESULT " + json.dumps(result))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
