# SPDX-License-Identifier: GPL-2.0-or-later
"""Fuzzes the codecs and the state machines of host/core under address, undefined behaviour and leak sanitizers.

`make fuzz` runs a round of 10 million inputs, two targets at a time. A round that is interrupted goes on where it was;
what the fuzzers learnt (out/fuzz/corpus) stays from round to round. Then faults are planted in copies of the sources,
and the fuzzers have to find each one. An input that breaks something is kept in out/fuzz/crashes, and the command that
repeats it is printed.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from pathlib import Path

from perhop.result_line import print_result

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests/fuzz"
BUILD = ROOT / "out/sanitized"
OUT = ROOT / "out/fuzz"
COMPILER = "clang++-14"

# Inputs of a whole round, and how long an input may be at most.
TARGETS = {
    "path_header": (4_000_000, 64),
    "exact_codecs": (2_500_000, 1500),
    "exact": (1_500_000, 1024),
    "shim": (2_000_000, 1024),
}
CHUNK = 250_000
# One input; the slowest take about a millisecond.
INPUT_TIMEOUT_S = 20
MEMORY_LIMIT_MB = 2048


@dataclass(frozen=True)
class Fault:
    """A line of host/core made wrong, and the target that has to notice."""

    name: str
    target: str
    file: str
    right: str
    wrong: str
    said: str  # pattern of what finds it


FAULTS = (
    Fault(
        "codec reads one byte too far",
        "path_header",
        "host/core/wire/generated/frames.hpp",
        "if (bytes.size() < size_bytes) return std::nullopt;",
        "if (bytes.size() + 1 < size_bytes) return std::nullopt;",
        "AddressSanitizer: heap-buffer-overflow",
    ),
    Fault(
        "shim raises a window",
        "shim",
        "host/core/shim/shim.cpp",
        "if (limit_bytes < packet.tcp.window_bytes) {",
        "if (limit_bytes != packet.tcp.window_bytes) {",
        "INVARIANT BROKEN: a window is never raised",
    ),
    Fault(
        "codec forgets memory",
        "path_header",
        "host/core/wire/path_header.cpp",
        "  path_header header;\n",
        "  path_header header;\n  static void* volatile kept;\n  kept = ::operator new(1);\n",
        "LeakSanitizer: detected memory leaks",
    ),
    Fault(
        "router gives more than it has",
        "exact",
        "host/core/policy/exact_router.cpp",
        "filling_.fill(shares_, costs_, std::max(config_.eta - other_share_, least_budget_share * config_.eta));",
        "filling_.fill(shares_, costs_, 1.01 * config_.eta);",
        "INVARIANT BROKEN: allocations stay within the budget",
    ),
)


@dataclass
class Progress:
    """What a target has done in this round."""

    inputs: int = 0
    crashes: int = 0
    coverage: int = 0  # edges
    features: int = 0
    seconds: float = 0.0


@dataclass
class Chunk:
    """The end of one run of a fuzzer."""

    inputs: int
    coverage: int
    features: int
    seconds: float
    status: int
    log: Path
    problem: str = ""
    input_file: str = field(default="")


def build(folder: Path, source: Path, names: list[str], jobs: int) -> None:
    """Configures and builds targets with the sanitizers; raises RuntimeError with what the tools said."""
    if shutil.which(COMPILER) is None:
        raise RuntimeError(
            f"there is no {COMPILER}: `make setup` installs it, and libclang-rt-14-dev (apt-packages.txt)"
        )
    environment = {**os.environ, "CXX": COMPILER}
    commands = (
        ["cmake", "-S", source / "tests/fuzz", "-B", folder, "-G", "Ninja"],
        ["cmake", "--build", folder, "-j", str(jobs), "--target", *names],
    )
    for command in commands:
        ran = subprocess.run(command, capture_output=True, text=True, env=environment)
        if ran.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{ran.stdout[-4000:]}{ran.stderr[-4000:]}")


def seeds(target: str) -> dict[str, bytes]:
    """The committed seeds of a target: lines `name hex`."""
    lines = (SOURCES / "seeds" / f"{target}.txt").read_text().splitlines()
    words = [line.split() for line in lines if line and not line.startswith("#")]
    return {name: bytes.fromhex("".join(digits)) for name, *digits in words}


def fill(corpus: Path, target: str) -> None:
    """Puts the seeds into the corpus."""
    corpus.mkdir(parents=True, exist_ok=True)
    for name, data in seeds(target).items():
        (corpus / f"seed-{name}").write_bytes(data)


def run(binary: Path, corpus: Path, crashes: Path, *, runs: int, seed: int, max_length: int) -> Chunk:
    """One run of a fuzzer over so many inputs, or until one breaks something."""
    crashes.mkdir(parents=True, exist_ok=True)
    log = crashes.parent / f"{binary.name}.log"
    command = [
        binary,
        corpus,
        f"-runs={runs}",
        f"-seed={seed}",
        f"-max_len={max_length}",
        f"-timeout={INPUT_TIMEOUT_S}",
        f"-rss_limit_mb={MEMORY_LIMIT_MB}",
        f"-artifact_prefix={crashes}/{binary.name}-",
        "-print_final_stats=1",
        "-reload=0",
        # Weighing inputs by the rarity of what they reach costs more time than the inputs do.
        "-entropic=0",
    ]
    start_s = time.monotonic()
    environment = {
        **os.environ,
        "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=0:malloc_context_size=8:quarantine_size_mb=16",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    with log.open("wb") as sink:
        status = subprocess.run(command, stdout=sink, stderr=subprocess.STDOUT, env=environment).returncode
    text = log.read_text(errors="replace")
    executed = re.search(r"number_of_executed_units:\s*(\d+)", text)
    covered = re.findall(r"cov: (\d+) ft: (\d+)", text)
    problem = re.search(r"INVARIANT BROKEN: .*|runtime error: .*|ERROR: \w+Sanitizer: .*|ERROR: libFuzzer: .*", text)
    kept = re.search(r"Test unit written to (\S+)", text)
    return Chunk(
        inputs=int(executed.group(1)) if executed else 0,
        coverage=int(covered[-1][0]) if covered else 0,
        features=int(covered[-1][1]) if covered else 0,
        seconds=time.monotonic() - start_s,
        status=status,
        log=log,
        problem=problem.group() if problem and status else f"exit status {status}" if status else "",
        input_file=kept.group(1) if kept else "",
    )


class Round:
    """A round of inputs for all targets: kept in a file after every chunk, so that it can go on later."""

    def __init__(self, state_file: Path, wanted: dict[str, int], identities: dict[str, str]) -> None:
        self.file = state_file
        self.wanted = wanted
        self.identities = identities
        self.progress = {name: Progress() for name in wanted}
        if state_file.exists():
            saved = json.loads(state_file.read_text())
            same = {
                name: saved[name]["progress"]
                for name in wanted
                if name in saved and saved[name]["identity"] == identities[name]
            }
            if not all(same.get(name, {"inputs": 0})["inputs"] >= count for name, count in wanted.items()):
                self.progress |= {name: Progress(**progress) for name, progress in same.items()}

    def add(self, name: str, chunk: Chunk) -> None:
        """Counts a chunk."""
        done = self.progress[name]
        done.inputs += chunk.inputs
        done.seconds += chunk.seconds
        done.coverage = max(done.coverage, chunk.coverage)
        done.features = max(done.features, chunk.features)
        done.crashes += chunk.status != 0
        whole = {
            target: {"identity": self.identities[target], "progress": asdict(progress)}
            for target, progress in self.progress.items()
        }
        waiting = self.file.with_suffix(".new")
        waiting.write_text(json.dumps(whole, indent=1))
        waiting.replace(self.file)

    def left(self, name: str) -> int:
        """Inputs that this target still has to run."""
        done = self.progress[name]
        return 0 if done.crashes else max(self.wanted[name] - done.inputs, 0)


def identity_of(binary: Path) -> str:
    """What a target has done counts for the program that did it."""
    return hashlib.sha256(binary.read_bytes()).hexdigest()


def run_round(wanted: dict[str, int], jobs: int, seed: int) -> Round:
    """Runs what is left of the round, some targets at a time; ends early only when interrupted."""
    current = Round(OUT / "round.json", wanted, {name: identity_of(BUILD / f"fuzz_{name}") for name in wanted})

    def chunk(name: str) -> Chunk:
        corpus = OUT / "corpus" / name
        fill(corpus, name)
        # A corpus counts as inputs when it is loaded; a chunk is always more than that.
        loaded = sum(1 for _ in corpus.iterdir())
        runs = loaded + min(current.left(name), CHUNK)
        part = seed + current.progress[name].inputs % 1_000_000_007
        return run(BUILD / f"fuzz_{name}", corpus, OUT / "crashes", runs=runs, seed=part, max_length=TARGETS[name][1])

    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[Chunk], str] = {}
        while True:
            # The target with the largest part before it goes first, so that all end at about the same time.
            free = [name for name in wanted if name not in running.values() and current.left(name)]
            free.sort(key=lambda name: current.progress[name].inputs / wanted[name])
            for name in free[: jobs - len(running)]:
                running[pool.submit(chunk, name)] = name
            if not running:
                return current
            for ended in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(ended)
                result = ended.result()
                current.add(name, result)
                done = current.progress[name]
                print(
                    f"{name:13} {done.inputs:>10,} of {wanted[name]:,} inputs, "
                    f"{result.inputs / result.seconds:,.0f}/s, {done.coverage} edges, {done.features} features",
                    flush=True,
                )
                if result.status:
                    print(f"  {result.problem}\n  log: {result.log}", flush=True)
                    print(f"  repeat: {BUILD / f'fuzz_{name}'} {result.input_file}", flush=True)


def find_fault(fault: Fault, folder: Path, jobs: int, runs: int = 300_000) -> str:
    """Plants a fault in a copy of the sources and fuzzes it. Returns what the fuzzer said; empty: it found nothing."""
    copy = folder / re.sub(r"\W+", "-", fault.name)
    shutil.rmtree(copy, ignore_errors=True)
    for part in ("host/core", "tests/fuzz", "tests/host"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    faulty = copy / fault.file
    text = faulty.read_text()
    if fault.right not in text:
        raise RuntimeError(f"the fault '{fault.name}' cannot be planted: {fault.file} no longer has: {fault.right}")
    faulty.write_text(text.replace(fault.right, fault.wrong, 1))
    build(copy / "build", copy, [f"fuzz_{fault.target}"], jobs)
    corpus = copy / "corpus"
    fill(corpus, fault.target)
    chunk = run(
        copy / "build" / f"fuzz_{fault.target}",
        corpus,
        copy / "crashes",
        runs=runs,
        seed=1,
        max_length=TARGETS[fault.target][1],
    )
    return chunk.problem


def main() -> int:
    """Returns 0 when nothing broke and every planted fault was found, 1 otherwise, 130 when interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=sum(count for count, _ in TARGETS.values()), help="in all")
    parser.add_argument("--jobs", type=int, default=2, help="targets at a time")
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="printed; a round with it is not repeatable, as it learns"
    )
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    share = arguments.inputs / sum(count for count, _ in TARGETS.values())
    wanted = {name: max(int(count * share), 1) for name, (count, _) in TARGETS.items()}
    start_s = time.monotonic()
    try:
        build(BUILD, ROOT, [f"fuzz_{name}" for name in TARGETS], arguments.jobs)
        print(f"fuzz: seed {arguments.seed}", flush=True)
        done = run_round(wanted, arguments.jobs, arguments.seed)
        faults = {}
        for fault in FAULTS:
            faults[fault.name] = find_fault(fault, OUT / "faults", arguments.jobs) or None
            print(f"planted: {fault.name}: {faults[fault.name] or 'NOT FOUND'}", flush=True)
            if not re.search(fault.said, faults[fault.name] or ""):
                faults[fault.name] = None
    except KeyboardInterrupt:
        print("\nfuzz: interrupted; the same command goes on")
        return 130
    except RuntimeError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2
    value = {
        "target": "fuzz",
        "inputs": sum(progress.inputs for progress in done.progress.values()),
        "crashes": sum(progress.crashes for progress in done.progress.values()),
        "coverage": sum(progress.coverage for progress in done.progress.values()),
        "sanitizers": ["address", "undefined", "leak"],
        "seconds": round(time.monotonic() - start_s, 1),
        "targets": {
            name: asdict(progress) | {"seconds": round(progress.seconds, 1)} for name, progress in done.progress.items()
        },
        "planted_faults": faults,
    }
    print_result("fuzz", value)
    return 0 if value["crashes"] == 0 and all(faults.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
