# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sweep gains from workers, and that it loses nothing with them.

300 short runs of sim/experiments/chain are made on one core and on two, in turns, so that what else the machine does
meanwhile weighs on both; two are to be at least 1.8 times as fast. Then they are made by a Dask scheduler and two
worker processes on the loopback, of which one is killed by SIGKILL in the middle, and by a scheduler that is killed in
the middle and started again. What these write must be the bytes of one core's. Exits with 1 when a bound does not hold.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from loopback import Network, Process, contents
from perhop import paths
from perhop.report.result_line import print_result
from perhop.reproduce.reproduction import cpu_s
from perhop.study import studies
from perhop.study.outcomes import Study
from perhop.study.plan import Plan, make_plan

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out/bench-sweep"
SETTINGS = ("topology.hops=[1, 2, 4, 6, 8]", "outputs.pcapng='off'")
SEEDS = 15
TURNS = 3
LEAST_SPEEDUP = 1.8


def plan(folder: Path, seeds: list[int], duration_s: float) -> Plan:
    settings = [*SETTINGS, f"seeds={seeds}", f"duration_s={duration_s}"]
    return make_plan(ROOT / "sim/experiments/chain", settings, out=folder)


def make(
    planned: Plan, jobs: int | None, scheduler: str | None = None, on_change: Callable[[Study], None] = lambda _: None
) -> studies.Finished:
    """All runs of a plan, made anew."""
    done = studies.run(planned, jobs, fresh=True, on_change=on_change, check=False, scheduler=scheduler)
    if not done.study.complete:
        raise SystemExit("bench-sweep: not all runs finished: " + "; ".join(one.message for one in done.study.failed))
    return done


def once_half_is_made(act: Callable[[], None]) -> Callable[[Study], None]:
    """For `on_change`: acts once, in the middle."""
    acted = False

    def look(study: Study) -> None:
        nonlocal acted
        made = sum(outcome.status == "finished" for outcome in study.outcomes)
        if not acted and made >= len(study.outcomes) // 2:
            acted = True
            act()

    return look


def runs_of(*folders: dict[str, bytes]) -> dict[str, bytes]:
    """What the runs wrote, without the tables of their folders."""
    return {name: told for folder in folders for name, told in folder.items() if name.startswith("runs/")}


def in_turns(out: Path, duration_s: float) -> tuple[dict[int, float], dict[int, float]]:
    """Seconds of all runs on one core and on two, of the clock and of CPU; every other turn the other comes first."""
    took_s, cpu_s = {1: 0.0, 2: 0.0}, {1: 0.0, 2: 0.0}
    for turn in range(TURNS):
        seeds = list(range(1 + turn, SEEDS + 1, TURNS))
        for jobs in (1, 2) if turn % 2 == 0 else (2, 1):
            before_s = sum(os.times()[:4])
            took_s[jobs] += make(plan(out / f"jobs{jobs}-turn{turn}", seeds, duration_s), jobs).study.wall_s
            cpu_s[jobs] += sum(os.times()[:4]) - before_s
    return took_s, cpu_s


def restart(network: Network, scheduler: Process) -> None:
    """Kill the scheduler, whose workers then end, and start both again, as whoever runs them would."""
    port = network.port
    workers = [process for process in network.processes if process is not scheduler]
    scheduler.end(signal.SIGKILL)
    for worker in workers:
        worker.popen.wait()
    network.scheduler(port)
    network.workers(2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=30, help="simulated seconds of a run")
    parser.add_argument("--out", type=Path, default=OUT, help="where runs go")
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    load_before = os.getloadavg()[0]
    begun_s = time.monotonic()

    took_s, all_cpu_s = in_turns(options.out, options.duration)
    speedup = took_s[1] / took_s[2]
    for jobs, name in ((1, "one core"), (2, "two cores")):
        print(f"{name}: {took_s[jobs]:.1f} s, with {all_cpu_s[jobs]:.1f} s of CPU time")
    print(f"two are {speedup:.2f} times as fast", flush=True)
    one, two = ([contents(options.out / f"jobs{jobs}-turn{turn}") for turn in range(TURNS)] for jobs in (1, 2))
    identical = one == two
    wanted = runs_of(*one)
    seeds = list(range(1, SEEDS + 1))

    with Network(options.out / "dask") as network:
        scheduler = network.scheduler()
        network.workers(2)
        whole = make(plan(options.out / "cluster", seeds, options.duration), None, network.address)
        victim = network.processes[-1]
        kill = once_half_is_made(lambda: victim.end(signal.SIGKILL))
        lost = make(plan(options.out / "lost", seeds, options.duration), None, network.address, kill)
        workers_lost = lost.study.workers_lost
        network.workers(1)
        again = once_half_is_made(lambda: restart(network, scheduler))
        restarted = make(plan(options.out / "restarted", seeds, options.duration), None, network.address, again)
    same = {name: runs_of(contents(options.out / name)) == wanted for name in ("cluster", "lost", "restarted")}
    print(
        f"Dask, two workers: {whole.study.wall_s:.1f} s; one of two killed in the middle: {lost.study.wall_s:.1f} s; "
        f"scheduler started again in the middle: {restarted.study.wall_s:.1f} s"
    )
    for name, equal in {"two cores": identical, **same}.items():
        print(f"{name}: {'the bytes of one core' if equal else 'OTHER BYTES than one core'}")
    passed = speedup >= LEAST_SPEEDUP and identical and all(same.values()) and workers_lost == 1
    print_result(
        "bench-sweep",
        {
            "target": "bench-sweep",
            "runs": len(whole.study.outcomes),
            "simulated_s": options.duration,
            "speedup": round(speedup, 3),
            "least_speedup": LEAST_SPEEDUP,
            "one_core_s": round(took_s[1], 2),
            "two_cores_s": round(took_s[2], 2),
            "one_core_cpu_s": round(all_cpu_s[1], 2),
            "two_cores_cpu_s": round(all_cpu_s[2], 2),
            "identical": identical,
            "cluster_speedup": round(took_s[1] / whole.study.wall_s, 3),
            "cluster_s": round(whole.study.wall_s, 2),
            "cluster_identical": all(same.values()),
            "cluster_identical_of": same,
            "workers_lost": workers_lost,
            "simulators_cpu_s": round(cpu_s(whole.study), 1),
            "load_before": round(load_before, 2),
            "cpus": os.cpu_count(),
            "wall_s": round(time.monotonic() - begun_s, 1),
            "passed": passed,
            "version": paths.version(),
        },
        options.out,
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
