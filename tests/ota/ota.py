# SPDX-License-Identifier: GPL-2.0-or-later
"""`make ota`: the over-the-air runner end to end, on OpenSSH servers in namespaces with the emulated medium for an air.

One experiment is made three times, simulated, live and on hosts; then every thing that can go wrong with a host is
planted (the tests of this folder). Bounds: goodput and the service time of every hop on hosts differ from those of live
by at most 3 % and the 95 % interval of the difference, the round trip by 5 % and that; with the limit `delay` they are
within BOUNDS; every planted failure is found, and named as it must be.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(folder) for folder in Path(__file__).resolve().parents[:2]]

from hosts import PROGRAM, Hosts, missing  # noqa: E402
from perhop import paths  # noqa: E402
from perhop.report import beside  # noqa: E402
from perhop.report.result_line import print_result  # noqa: E402
from perhop.study import results  # noqa: E402
from perhop.study.summaries import Mean, Summary, mean, student_t  # noqa: E402

EXPERIMENT = ROOT / "sim/experiments/live_chain"
OUT = ROOT / "out/ota"
SETTINGS = ["policies=[none, delay, fixed 2 + dca]"]
# Of one packet in flight over three hops, whatever live does: hosts that are slower are too slow (make live: 399 kb/s,
# 29.1 ms; 7.4 ms of air a hop, and contention).
BOUNDS = {"goodput_bps": (0.36e6, 0.43e6), "rtt_ms": (26, 36), "service_ms": (7.5, 9.5)}
SHARES = {"goodput_bps": 0.03, "rtt_ms": 0.05, "service_ms": 0.03}


def make(seeds: int, seconds: int, fresh: bool) -> list[beside.Place]:
    """The experiment in all three places; finished runs are kept.

    live and radio take turns, a seed at a time: an hour in which this machine is slow is in both.
    """
    settings = [*SETTINGS, f"duration_s={seconds}", "warmup_s=5"]

    def words(backend: str, until_seed: int, *more: object) -> list[str]:
        some = [*settings, f"seeds={list(range(1, until_seed + 1))}"]
        call = ["run", EXPERIMENT, *(word for setting in some for word in ("--set", setting))]
        return [str(word) for word in (*call, "--backend", backend, "--out", OUT / backend, *more)]

    def make_here(backend: str, until_seed: int, *more: object) -> None:
        print(f"--- {backend}, seeds to {until_seed}", flush=True)
        subprocess.run([sys.executable, "-c", PROGRAM, *words(backend, until_seed, *more)], check=True)

    make_here("sim", seeds, *(["--fresh"] if fresh else []))
    with Hosts(EXPERIMENT, *settings) as hosts:
        besides = ["--inventory", hosts.inventory(), "--beside", OUT / "sim", "--beside", OUT / "live"]
        for seed in range(1, seeds + 1):
            anew = ["--fresh"] if fresh and seed == 1 else []
            make_here("live", seed, *anew)
            print(f"--- radio, seeds to {seed}", flush=True)
            subprocess.run(hosts.command(*words("radio", seed, *besides, *anew)), check=True)
    places = [beside.read(backend, OUT / backend) for backend in ("sim", "live", "radio")]
    return [place for place in places if place is not None]


def quantities(summary: Summary, folder: Path) -> dict[str, Mean]:
    """What is compared, over seeds; the service time of each hop by itself."""
    found = {"goodput_bps": summary.goodput_bps}
    if summary.rtt_ms is not None:
        found["rtt_ms"] = summary.rtt_ms
    for hop in summary.forward:
        link = {"from": hop.sender, "to": hop.receiver, "policy": summary.policy}
        of_link = [row for row in results.read(folder).hops if all(row[name] == link[name] for name in link)]
        over_seeds = mean(row["service_time_us"] / 1e3 for row in of_link)
        assert over_seeds is not None
        found[f"service_ms {hop.sender}-{hop.receiver}"] = over_seeds
    return found


def interval_of_difference(one: Mean, other: Mean) -> float:
    """Half the 95 % interval of the difference of two means over as many seeds each (Student's t, equal variances)."""
    freedom = one.count - 1
    if freedom < 1:
        return 0.0
    error = math.hypot(one.half, other.half) / student_t(freedom)
    return student_t(2 * freedom) * error


def compare(places: list[beside.Place]) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows for RESULT, and what does not hold."""
    rows, wrong = [], []
    for first, each in beside.rows(places):
        row: dict[str, Any] = {"policy": first.policy}
        for name, summary in each.items():
            row[name] = {
                quantity: {"value": round(measured.value, 3), "half_95": round(measured.half, 3)}
                for quantity, measured in quantities(summary, OUT / name).items()
            }
        live, radio = (quantities(each[name], OUT / name) for name in ("live", "radio"))
        row["radio_less_live"] = {}
        for quantity, there in live.items():
            share = SHARES[quantity.split()[0]]
            apart = radio[quantity].value - there.value
            half = interval_of_difference(there, radio[quantity])
            row["radio_less_live"][quantity] = round(apart / there.value, 4)
            if abs(apart) > share * there.value + half:
                wrong.append(f"{first.policy}: {quantity} on hosts is {apart / there.value:+.1%} from live")
        if first.policy == "delay":
            for quantity, there in radio.items():
                low, high = BOUNDS[quantity.split()[0]]
                if not low < there.value < high:
                    wrong.append(f"delay: {quantity} on hosts is {there.value:g}, not within {low:g} and {high:g}")
        rows.append(row)
    if not rows:
        wrong.append("no policy has results in all three places")
    return rows, wrong


def plant() -> tuple[dict[str, str], str]:
    """Name of each test: pass, fail or skipped; and what pytest said at the end."""
    junit = OUT / "tests.xml"
    junit.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", str(Path(__file__).parent), f"--junitxml={junit}"]
    done = subprocess.run([*command, "-p", "no:cacheprovider"], cwd=ROOT, capture_output=True, text=True, check=False)
    found = {}
    for case in ET.parse(junit).getroot().iter("testcase") if junit.is_file() else []:
        failed = case.find("failure") is not None or case.find("error") is not None
        found[case.get("name", "")] = "fail" if failed else "skipped" if case.find("skipped") is not None else "pass"
    return found, done.stdout[-6000:] if done.returncode else done.stdout.strip().splitlines()[-1]


def main() -> int:
    """Returns 0 when every bound holds, 1 otherwise, 2 where there can be no hosts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=35, help="of each run")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=("compare", "plant"), help="one half; the RESULT line has only that")
    parser.add_argument("--fresh", action="store_true", help="make all runs again")
    arguments = parser.parse_args()
    if why := missing():
        print(f"error: {why}", file=sys.stderr)
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {}
    wrong: list[str] = []
    if arguments.only != "plant":
        places = make(arguments.seeds, arguments.seconds, arguments.fresh)
        result["rows"], wrong = compare(places)
        result["report"] = paths.shown(OUT / "radio/report.html")
        for row in result["rows"]:
            apart = ", ".join(f"{name} {value:+.1%}" for name, value in row["radio_less_live"].items())
            print(f"{row['policy']}: hosts less live: {apart}")
    if arguments.only != "compare":
        print("--- planted failures", flush=True)
        result["planted"], said = plant()
        for name, verdict in result["planted"].items():
            print(f"{verdict:8} {name}")
        bad = [name for name, verdict in result["planted"].items() if verdict != "pass"]
        wrong += [f"{name}: {result['planted'][name]}" for name in bad]
        if bad or not result["planted"]:
            print(said)
            wrong += [] if result["planted"] else ["the tests did not run"]
    for line in wrong:
        print(f"does not hold: {line}")
    print_result("ota", {**result, "does_not_hold": wrong, "version": paths.version()})
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
