# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries a wheel away from its checkout: installs it, runs chain with it, and tells in told.json what is wrong.

The standard library only; it is started by the Python that the wheel is for.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

COMPILERS = ("gcc", "g++", "cc", "c++", "clang", "cmake", "ninja", "make", "verilator")
# What a program without arguments says on its way out; all of its symbols are bound before.
PROGRAMS = ("perhop-air", "perhop-sim", "perhop-exact", "perhop-live-air", "perhop-node", "perhop-policy")
LIBPYTHON = Path("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0")
BINDINGS = "import perhop.core, perhop.modem, perhop.station; print(perhop.core.__doc__ is not None)"
DATA = """
import json
import os
from perhop import paths
from perhop.wireshark import dissector
assert paths.checkout() is None
print(json.dumps([str(paths.build()), str(paths.experiments()), str(paths.specification()), str(dissector())]))
"""

# The run of chain over 8 hops in one step and in a thousand: hashes, and the least CPU time of three runs.
STEPPED = """
import json
import perhop

def run(steps):
    with perhop.Simulation("chain", policy="delay", seed=1, settings={"topology.hops": 8}) as simulation:
        for step in range(1, steps + 1):
            simulation.run_until(simulation.end_s * step / steps)
        result = simulation.finish()
    return result["trace_hash"], result["cpu_s"]["total"]

runs = {steps: [run(steps) for _ in range(3)] for steps in (1, 1000)}
print(json.dumps({
    "hashes": len({hash for several in runs.values() for hash, _ in several}),
    "whole_s": min(cpu_s for _, cpu_s in runs[1]),
    "stepped_s": min(cpu_s for _, cpu_s in runs[1000]),
}))
"""
MOST_STEPPED = 2.0  # times the CPU time of a run in one step


class Trial:
    """Runs commands in the empty folder, with nothing but the environment's own on PATH, and notes what is wrong."""

    def __init__(self, place: Path) -> None:
        self.bin = place / "environment" / "bin"
        self.work = place / "work"
        self.environment = {"HOME": str(place / "home"), "PATH": str(self.bin), "LANG": "C.UTF-8"}
        self.problems: list[str] = []
        self.steps: dict[str, float] = {}
        self.stepped: float | None = None  # CPU time of a run in a thousand steps over that of one in one step

    def call(self, what: str, *command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        begun_s = time.monotonic()
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.work,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.steps[what] = round(time.monotonic() - begun_s, 1)
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip().splitlines()
            self.problems.append(f"{what} ends with {done.returncode}: " + " / ".join(said[-4:]))
        return done

    def expect(self, holds: bool, problem: str) -> None:
        if not holds:
            self.problems.append(problem)


def try_here(trial: Trial, packages: Path, jobs: int) -> tuple[float, float]:
    """Seconds from nothing to the report, and of CPU time in them."""
    begun_s = time.monotonic()
    trial.call("venv", sys.executable, "-m", "venv", trial.bin.parent)
    trial.call("install", trial.bin / "pip", "install", "-q", "--no-index", "--find-links", packages, "perhop")
    trial.call("run", trial.bin / "perhop", "run", "chain", "--jobs", str(jobs))
    seconds = round(time.monotonic() - begun_s, 1)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    results = trial.work / "out" / "runs" / "chain"
    for name in ("report.html", "results.parquet", "packets.pcapng", "provenance.json"):
        trial.expect((results / name).is_file(), f"perhop run chain leaves no {name}")
    return seconds, round(used.ru_utime + used.ru_stime, 1)


def try_the_rest(trial: Trial) -> None:
    """What else a wheel brings: every program and binding, the dissector, the papers' claims, what the doctor says."""
    told = trial.call("data", trial.bin / "python", "-c", DATA)
    if told.returncode == 0:
        programs, *places = json.loads(told.stdout)
        for place in places:
            trial.expect(Path(place).exists(), f"there is no {place}")
        for name in PROGRAMS:
            # No arguments, or a file that is not there: whatever a program says to that, the loader says nothing.
            words = [str(Path(programs) / name), "absent.json"]
            done = subprocess.run(
                words,
                env={**trial.environment, "LD_BIND_NOW": "1"},
                cwd=trial.work,
                capture_output=True,
                text=True,
                check=False,
            )
            loaded = done.returncode in (1, 2) and "shared librar" not in done.stderr and "symbol" not in done.stderr
            trial.expect(loaded, f"{name} ends with {done.returncode}: {done.stderr.strip()[:300]}")
    trial.call("bindings", trial.bin / "python", "-c", BINDINGS)
    if told.returncode == 0:
        try_own_policy(trial, Path(json.loads(told.stdout)[1]))
    trial.call("reproduce", trial.bin / "perhop", "reproduce", "cwl_bounds")
    stepped = trial.call("stepped", trial.bin / "python", "-c", STEPPED)
    if stepped.returncode == 0:
        told_runs = json.loads(stepped.stdout)
        trial.expect(told_runs["hashes"] == 1, "a run in a thousand steps has other transmissions")
        trial.stepped = round(told_runs["stepped_s"] / told_runs["whole_s"], 2)
        trial.expect(
            trial.stepped < MOST_STEPPED, f"a run in a thousand steps takes {trial.stepped} times the CPU of one"
        )
    doctor = trial.call("doctor", trial.bin / "perhop", "doctor", "--json")
    if doctor.returncode == 0:
        features = {each["feature"]: each for each in json.loads(doctor.stdout)["features"]}
        trial.expect(features["simulations"]["ok"], f"perhop doctor: {features['simulations']}")
    version = trial.call("version", trial.bin / "perhop", "version", "--json")
    trial.expect(
        bool(json.loads(version.stdout or "{}").get("git")), "perhop version does not know what it was built from"
    )


def try_own_policy(trial: Trial, experiments: Path) -> None:
    """A policy in Python is taken where Debian's library of Python is, and elsewhere told what it lacks."""
    policy = f"{experiments / 'own_policy/limits.py'}:ByHops"
    if LIBPYTHON.exists():
        trial.call("policy", trial.bin / "perhop", "policy", "check", policy)
        return
    command = [str(trial.bin / "perhop"), "policy", "check", policy]
    done = subprocess.run(
        command,
        cwd=trial.work,
        env=trial.environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    trial.expect(done.returncode != 0 and "libpython3.11" in done.stderr, f"policies in Python: {done.stderr[:300]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("place", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    trial = Trial(arguments.place)
    for name in COMPILERS:
        found = shutil.which(name)
        trial.expect(
            found is None or Path(found).stat().st_size == 0, f"{found} is still there: nothing is shown by this"
        )
    seconds, cpu_s = try_here(trial, arguments.place / "packages", arguments.jobs)
    try_the_rest(trial)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    told = {
        "python": version,
        "root": os.geteuid() == 0,
        "seconds": seconds,
        "cpu_s": cpu_s,
        "steps": trial.steps,
        "stepped": trial.stepped,
        "problems": trial.problems,
    }
    (arguments.place / "told.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main()
