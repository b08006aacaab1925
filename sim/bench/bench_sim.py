# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the cost of simulating one TCP flow over a chain: perhop, ns-3's own Wi-Fi, ns-2.35.

Figure: CPU microseconds (user and system, whole process, start-up included) for each data packet delivered to the
far end and each hop it took. The three run in turn, several rounds; medians are compared.

The same flow everywhere: TCP NewReno, 1460-byte segments, an ACK for every segment, chain of 250 m hops, 802.11b at
2 Mb/s with 1 Mb/s control frames, RTS/CTS, ns-2's reception rule, interface queue 50. ns-2 routes with DSR (what the
papers ran), the others with static routes. At a window of 3 all deliver nearly the same packets, so that costs compare;
at 44 the chain is overloaded, and each has its own losses: what is delivered stands beside each figure.

perhop runs from a build without assertions; the hash over all its transmissions and completion records has to equal
that of the build with assertions. Its instructions and clocks are counted apart (instructions.py).
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import instructions
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
OUT = ROOT / "out/bench-sim"
BUILD = ROOT / "out/build"
BENCH_BUILD = ROOT / "out/build-bench"
WINDOWS = (44, 3)  # packets
NS3 = ROOT / ".venv/lib/python3.11/site-packages/ns3"
NS3_LIBRARIES = "core network internet applications mobility propagation traffic-control wifi spectrum antenna stats"

# What has to hold at 8 hops, in each window.
NS3_SHARE = 1 / 12
NS2_SHARE = 1.0


def run_json(hops: int, window: int, seconds: float, seed: int, directory: Path) -> dict:
    return {
        "schema": 1,
        "label": f"bench h={hops}",
        "seed": seed,
        "duration_s": seconds,
        "warmup_s": 0.0,
        "mac": {
            "profile": "dsss_long",
            "compat": "ns2",
            "data_rate_index": 1,
            "rts_threshold_bytes": 0,
            "short_retry_limit": 7,
            "long_retry_limit": 4,
            "queue_packets": 50,
            "average_shift": 4,
        },
        "medium": {
            "reception": "ns2",
            "loss": "two_ray",
            "tx_range_m": 250,
            "cs_range_m": 550,
            "capture_ratio_db": 10,
            "propagation_us": "auto",
            "frame_error_rate": 0.0,
        },
        "warp": "on",
        "nodes": [{"x_m": 250.0 * i, "y_m": 0.0} for i in range(hops + 1)],
        "routes": [[i, j, i + 1 if j > i else i - 1] for i in range(hops + 1) for j in range(hops + 1) if i != j],
        "flows": [
            {
                "kind": "tcp",
                "src": 0,
                "dst": hops,
                "variant": "newreno",
                "sack": False,
                "segment_bytes": 1460,
                "start_s": 0.1,
                "stop_s": None,
                "tcp_ack_every": 1,
                "max_window_packets": window,
                "policy": {"cwl": "none"},
            }
        ],
        "outputs": {
            "directory": str(directory),
            "pcapng": False,
            "trace": False,
            "completions": False,
            "interval_s": 10.0,
        },
    }


def cpu_of(command: list[str | Path]) -> tuple[float, str]:
    """Runs a command to its end. Returns its CPU seconds (user and system) and what it printed."""
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=printed, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}: {errors.read()[-600:]}")
        return usage.ru_utime + usage.ru_stime, printed.read()


def run_ours(build: Path, hops: int, window: int, seconds: float, seed: int) -> tuple[float, int, dict]:
    """Returns CPU seconds, delivered packets and the run's result."""
    with tempfile.TemporaryDirectory(dir=OUT) as directory:
        config = Path(directory) / "run.json"
        config.write_text(json.dumps(run_json(hops, window, seconds, seed, Path(directory))))
        cpu_s, _ = cpu_of([build / "sim/ns3/perhop-sim", config])
        result = json.loads((Path(directory) / "result.json").read_text())
    return cpu_s, result["flows"][0]["delivered_packets"], result


def run_peer(command: list[str | Path]) -> tuple[float, int]:
    """Returns CPU seconds and delivered packets."""
    cpu_s, printed = cpu_of(command)
    # ns-2 prints notes of its own around the result.
    line = next(line for line in printed.splitlines() if line.startswith("{"))
    return cpu_s, json.loads(line)["delivered_packets"]


def build_ours() -> None:
    """Builds perhop-sim without assertions."""
    configure = ["cmake", "-S", ROOT, "-B", BENCH_BUILD, "-G", "Ninja", "-DPERHOP_ASSERT=OFF", "--log-level=ERROR"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    build = ["cmake", "--build", BENCH_BUILD, "--target", "perhop-sim", "-j", "2"]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)


def build_ns3_peer() -> Path:
    """Builds the ns-3 peer, unless that is done."""
    program, source = OUT / "ns3_wifi_chain", HERE / "ns3_wifi_chain.cc"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    flags = ["-std=c++23", "-O2", "-DNS3_LOG_ENABLE", "-DNS3_ASSERT_ENABLE", f"-I{NS3}/include"]
    links = [f"-L{NS3}/lib64", f"-Wl,-rpath,{NS3}/lib64", *(f"-lns3.44-{name}" for name in NS3_LIBRARIES.split())]
    subprocess.run(["g++", *flags, source, "-o", program, *links], check=True)
    return program


def measure(hops: int, window: int, options: argparse.Namespace, ns3: Path, step) -> dict:
    """Runs the three in turn, `rounds` times. Returns medians of CPU us per delivered packet and hop."""
    samples: dict[str, list[float]] = {"ours": [], "ns3": [], "ns2": []}
    rates: dict[str, list[float]] = {"ours": [], "ns3": [], "ns2": []}
    shares, clocks = [], 0.0
    for number in range(options.rounds):
        seed = options.seed + number
        cpu_s, packets, result = run_ours(BENCH_BUILD, hops, window, options.seconds, seed)
        shares.append(result["cpu_s"])
        clocks = result["clocks"] / (packets * hops)
        runs = {"ours": (cpu_s, packets)}
        step()
        arguments = [f"--hops={hops}", f"--window={window}", f"--seconds={options.seconds}", f"--seed={seed}"]
        runs["ns3"] = run_peer([ns3, *arguments])
        step()
        script = HERE / "ns2_chain.tcl"
        runs["ns2"] = run_peer(["ns", script, str(hops), str(window), str(options.seconds), str(seed)])
        step()
        for name, (cpu_s, packets) in runs.items():
            samples[name].append(cpu_s * 1e6 / (packets * hops))
            rates[name].append(packets / options.seconds)
    row: dict = {f"{name}_us": round(statistics.median(values), 2) for name, values in samples.items()}
    row |= {f"{name}_range_us": [round(min(v), 2), round(max(v), 2)] for name, v in samples.items()}
    row |= {f"{name}_pps": round(statistics.median(values), 2) for name, values in rates.items()}
    row["clocks_per_packet_hop"] = round(clocks, 1)
    total = sum(s["total"] for s in shares)
    row["shares"] = {k: round(sum(s[k] for s in shares) / total, 3) for k in ("rtl", "medium", "transport", "other")}
    return row


def same_hash(options: argparse.Namespace) -> dict:
    """The trace hash of the build with assertions and of the one without, for the same run."""
    hashes = {}
    for name, build in (("with_assertions", BUILD), ("without", BENCH_BUILD)):
        hashes[name] = run_ours(build, 8, max(WINDOWS), min(options.seconds, 100.0), options.seed)[2]["trace_hash"]
    return {**hashes, "equal": hashes["with_assertions"] == hashes["without"]}


def table_of(window: int, rows: dict[str, dict]) -> Table:
    title = f"Window {window}: CPU us per delivered data packet and hop (median; packets/s delivered)"
    table = Table(title=title)
    headings = ("hops", "perhop", "ns-3 Wi-Fi", "ns-2.35", "ns-3 / perhop", "ns-2 / perhop", "instructions", "clocks")
    for heading in (*headings, "where perhop's goes"):
        table.add_column(heading, justify="right")
    for hops, row in rows.items():
        cells = [f"{row[f'{name}_us']:.1f} ({row[f'{name}_pps']:.1f}/s)" for name in ("ours", "ns3", "ns2")]
        ratios = [f"{row[f'{name}_us'] / row['ours_us']:.1f}" for name in ("ns3", "ns2")]
        counts = [f"{row['instructions']:,.0f}", f"{row['clocks']:.1f}"] if "instructions" in row else ["", ""]
        where = ", ".join(f"{name} {share:.0%}" for name, share in row["shares"].items())
        table.add_row(hops, *cells, *ratios, *counts, where)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hops", type=int, nargs="+", default=[1, 8, 15])
    parser.add_argument("--windows", type=int, nargs="+", default=list(WINDOWS))
    parser.add_argument("--seconds", type=float, default=100.0, help="simulated seconds a run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not shutil.which("ns"):
        print("bench-sim: the peer ns-2 is not installed; remedy: apt-get install ns2", file=sys.stderr)
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    chains = [(window, hops) for window in options.windows for hops in options.hops]
    windows: dict[str, dict[str, dict]] = {str(window): {} for window in options.windows}
    counting = instructions.build() if shutil.which("valgrind") else None
    if counting is None:
        console.print("bench-sim: instructions are not counted; remedy: apt-get install valgrind")
    with Progress(console=console, transient=True) as progress:
        building = progress.add_task("building", total=None)
        build_ours()
        ns3 = build_ns3_peer()
        progress.remove_task(building)
        task = progress.add_task("measuring", total=len(chains) * (options.rounds * 3 + 1))
        for window, hops in chains:
            row = measure(hops, window, options, ns3, lambda: progress.advance(task))
            if counting is not None:
                row |= asdict(instructions.count(counting, hops, window, options.seed))
            progress.advance(task)
            windows[str(window)][str(hops)] = row
        hashes = same_hash(options)

    for window, rows in windows.items():
        console.print(table_of(int(window), rows))
    console.print(f"hash of all transmissions and records equal with and without assertions: {hashes['equal']}")

    ok = hashes["equal"]
    for rows in windows.values():
        if "8" in rows:
            eight = rows["8"]
            ok &= eight["ours_us"] <= min(eight["ns3_us"] * NS3_SHARE, eight["ns2_us"] * NS2_SHARE)
    first = windows[str(options.windows[0])]
    result = {
        "target": "bench-sim",
        "simulated_s": options.seconds,
        "rounds": options.rounds,
        "seed": options.seed,
        "hops": first,
        "windows": windows,
        "clocks_per_packet_hop": {hops: row["clocks_per_packet_hop"] for hops, row in first.items()},
        "instructions": {hops: row.get("instructions") for hops, row in first.items()},
        "shares": first[str(options.hops[len(options.hops) // 2])]["shares"],
        "hash": hashes,
        "ok": ok,
    }
    (OUT / "result.json").write_text(json.dumps(result))
    print("RESULT " + json.dumps(result))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
