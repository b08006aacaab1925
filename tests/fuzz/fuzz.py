# SPDX-License-Identifier: GPL-2.0-or-later
"""Fuzzes what takes bytes from outside: C++ under address, undefined behaviour and leak sanitizers, and DLEP's Python.

`make fuzz` runs a round, two targets at a time: 13 million inputs to the codecs and state machines of host/core, and
ten minutes each of the targets of host/node, host/drivers and DLEP. A round that is interrupted goes on where it was;
what the fuzzers learnt (out/fuzz/corpus) stays from round to round. Then faults are planted in a copy of the sources,
and the fuzzers have to find each one. An input that breaks something is kept in out/fuzz/crashes, and the command that
repeats it is printed.

It is one file: the table of targets and planted faults is half of it.
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

from perhop.report.result_line import print_result

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests/fuzz"
BUILD = ROOT / "out/sanitized"
OUT = ROOT / "out/fuzz"
COMPILER = "clang++-14"

# Of Python, which must not come into the environment of everything else (tests/fuzz/requirements.txt).
ATHERIS = ROOT / ".venv-fuzz/bin/python"


@dataclass(frozen=True)
class Share:
    """A target's part of a round: so many inputs, or so many seconds."""

    inputs: int = 0
    seconds: float = 0

    def scaled(self, factor: float) -> "Share":
        """A part of this, of the same kind, and never nothing."""
        return Share(inputs=max(int(self.inputs * factor), 1)) if self.inputs else Share(seconds=self.seconds * factor)

    def left(self, done: "Progress") -> float:
        """Inputs or seconds that are still to be done."""
        return max(self.inputs - done.inputs if self.inputs else self.seconds - done.seconds, 0)

    def part_done(self, done: "Progress") -> float:
        """From 0 to 1."""
        return done.inputs / self.inputs if self.inputs else done.seconds / self.seconds

    def __str__(self) -> str:
        return f"{self.inputs:,} inputs" if self.inputs else f"{self.seconds:,.0f} s"


@dataclass(frozen=True)
class Target:
    """What a whole round asks of a fuzzer, and how long an input may be at most."""

    share: Share
    max_length: int
    python: bool = False


MINUTES_10 = Share(seconds=600)
TARGETS = {
    "path_header": Target(Share(inputs=4_000_000), 64),
    "exact_codecs": Target(Share(inputs=2_500_000), 1500),
    "exact": Target(Share(inputs=1_500_000), 1024),
    "tfrc": Target(Share(inputs=1_500_000), 1024),
    "shim": Target(Share(inputs=2_000_000), 1024),
    "dsr": Target(Share(inputs=1_000_000), 512),
    "wires": Target(Share(inputs=500_000), 1024),
    "aodv": Target(Share(inputs=1_000_000), 512),
    "gpsr": Target(Share(inputs=1_000_000), 512),
    "packet_path": Target(MINUTES_10, 1024),
    "air_driver": Target(MINUTES_10, 1024),
    "configuration": Target(MINUTES_10, 2048),
    "dlep": Target(MINUTES_10, 1024, python=True),
}
COMPILED = [name for name, target in TARGETS.items() if not target.python]
# A round is kept after each of these.
CHUNK = Share(inputs=250_000, seconds=60)
# In which a planted fault has to be found.
FAULT_SHARE = Share(seconds=120)
# One input; the slowest take about a millisecond.
INPUT_TIMEOUT_S = 20
MEMORY_LIMIT_MB = 2048


@dataclass(frozen=True)
class Fault:
    """A line of the sources made wrong, and the target that has to notice."""

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
        "if (limit < tcp.window_bytes) {",
        "if (limit != tcp.window_bytes) {",
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
    Fault(
        "DSR follows a route twice over a node",
        "dsr",
        "host/core/routing/dsr_router.cpp",
        " == self_ && is_simple(route_of(packet));",
        " == self_;",
        "INVARIANT BROKEN: ",
    ),
    Fault(
        "DSR reads an option that is longer than its packet",
        "dsr",
        "host/core/wire/dsr_header.cpp",
        " || options.size() - uncounted_bytes < options[1]) return std::nullopt;",
        ") return std::nullopt;",
        "AddressSanitizer: heap-buffer-overflow",
    ),
    Fault(
        "AODV keeps a packet of a failed link and drops it as well",
        "aodv",
        "host/core/routing/aodv_router.cpp",
        "    begin_repair(now, route, packet);\n    return;\n",
        "    begin_repair(now, route, packet);\n",
        "INVARIANT BROKEN: a packet ends once",
    ),
    Fault(
        "GPSR reads headers with flags that it does not know",
        "gpsr",
        "host/core/wire/gpsr_header.cpp",
        " || (data->flags & ~gpsr_data::flags_perimeter) != 0",
        "",
        "INVARIANT BROKEN: what was read is written as it was",
    ),
    Fault(
        "GPSR takes itself for a neighbour",
        "gpsr",
        "host/core/routing/gpsr_router.cpp",
        "packet.header.sender != self_ && ",
        "",
        "INVARIANT BROKEN: ",
    ),
    Fault(
        "a report is believed whatever its loss event rate",
        "tfrc",
        "host/core/wire/tfrc_header.cpp",
        " || (raw->loss_interval_256 != 0 && raw->loss_interval_256 < interval_units_per_packet)",
        "",
        "INVARIANT BROKEN: a loss event rate is a share",
    ),
    Fault(
        "packet path completes a packet twice",
        "packet_path",
        "host/node/packet_path.cpp",
        "  given_.erase(found);\n",
        "",
        "INVARIANT BROKEN: (what was not given is not completed|a packet is completed once|what a MAC had)",
    ),
    Fault(
        "packet path takes what no frame holds",
        "packet_path",
        "host/node/packet_path.cpp",
        "if (!llc || !path_.started() || frame.msdu.size() > most_msdu_bytes) {",
        "if (!llc || !path_.started()) {",
        "INVARIANT BROKEN: (nothing longer than the largest MSDU reaches the driver|what IP gets fits a frame)",
    ),
    Fault(
        "air driver gives a credit back twice",
        "air_driver",
        "host/drivers/air_driver.cpp",
        "  outstanding_.erase(done);\n",
        "",
        "INVARIANT BROKEN: a packet is completed once, and only what was given",
    ),
    Fault(
        "air driver reads a record that is cut short",
        "air_driver",
        "host/drivers/air_driver.cpp",
        "if (!completion || message.size() != wire::air_completion::size_bytes + 4 * completion_record_words) {",
        "if (!completion) {",
        "INVARIANT BROKEN: a record that is cut short completes nothing",
    ),
    Fault(
        "configuration has a count without a bound",
        "configuration",
        "host/node/json_fields.hpp",
        " || found->get<std::uint64_t>() > high) {",
        ") {",
        "INVARIANT BROKEN: ",
    ),
    Fault(
        "two nodes may be joined by two wires",
        "wires",
        "sim/run/wire_config.hpp",
        "(a == one && b == other) || (a == other && b == one)",
        "(a == one && b == other)",
        "INVARIANT BROKEN: ",
    ),
    Fault(
        "DLEP takes a data item that is cut short",
        "dlep",
        "host/python/perhop/dlep/wire.py",
        "        if len(value) < length:\n",
        "        if len(value) < length and False:\n",
        "INVARIANT BROKEN: ",
    ),
    Fault(
        "DLEP looks for a destination that it does not have",
        "dlep",
        "host/python/perhop/dlep/session.py",
        '"""The router wants to hear no more of it."""\n        told = self._told.get(mac)\n',
        '"""The router wants to hear no more of it."""\n        told = self._told[mac]\n',
        "KeyError",
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


def configure(folder: Path, source: Path) -> None:
    """Sets up a build with the sanitizers; raises RuntimeError with what the tools said."""
    if shutil.which(COMPILER) is None:
        raise RuntimeError(
            f"there is no {COMPILER}: `make setup` installs it, and libclang-rt-14-dev (apt-packages.txt)"
        )
    call(["cmake", "-S", source / "tests/fuzz", "-B", folder, "-G", "Ninja"])


def build(folder: Path, source: Path, names: list[str], jobs: int) -> None:
    """Configures and builds targets with the sanitizers; raises RuntimeError with what the tools said."""
    configure(folder, source)
    call(["cmake", "--build", folder, "-j", str(jobs), "--target", *names])


def call(command: list[str | Path]) -> None:
    """Runs a tool of the build; raises RuntimeError with what it said."""
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CXX": COMPILER})
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


def atheris_problem() -> str:
    """Why DLEP cannot be fuzzed; empty: it can."""
    remedy = "`make fuzz` installs it (tests/fuzz/requirements.txt)"
    if not ATHERIS.exists():
        return f"there is no {ATHERIS.relative_to(ROOT)}: {remedy}"
    done = subprocess.run([ATHERIS, "-c", "import atheris"], capture_output=True, text=True)
    return f"atheris does not work: {done.stderr.strip().splitlines()[-1:]}: {remedy}" if done.returncode else ""


def command_of(name: str, source: Path, built: Path) -> list[Path]:
    """How a fuzzer is called: one of the build, or a program of Python."""
    if TARGETS[name].python:
        return [ATHERIS, source / f"tests/fuzz/fuzz_{name}.py"]
    return [built / f"fuzz_{name}"]


def run(
    name: str, corpus: Path, crashes: Path, *, share: Share, seed: int, source: Path = ROOT, built: Path = BUILD
) -> Chunk:
    """One run of a fuzzer over so many inputs or seconds, or until an input breaks something."""
    crashes.mkdir(parents=True, exist_ok=True)
    log = crashes.parent / f"fuzz_{name}.log"
    words = SOURCES / "seeds" / f"{name}.dict"
    command = [
        *command_of(name, source, built),
        corpus,
        f"-runs={share.inputs}" if share.inputs else f"-max_total_time={max(round(share.seconds), 1)}",
        *([f"-dict={words}"] if words.exists() else []),
        f"-seed={seed}",
        f"-max_len={TARGETS[name].max_length}",
        f"-timeout={INPUT_TIMEOUT_S}",
        f"-rss_limit_mb={MEMORY_LIMIT_MB}",
        f"-artifact_prefix={crashes}/fuzz_{name}-",
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
    problem = re.search(
        r"INVARIANT BROKEN: .*|runtime error: .*|ERROR: \w+Sanitizer: .*|Uncaught Python exception: ===\n\w+:.*"
        r"|ERROR: libFuzzer: .*",
        text,
    )
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

    def __init__(self, state_file: Path, wanted: dict[str, Share], identities: dict[str, str]) -> None:
        self.file = state_file
        self.wanted = wanted
        self.identities = identities
        self.progress = {name: Progress() for name in wanted}
        if state_file.exists():
            saved = json.loads(state_file.read_text())
            same = {
                name: Progress(**saved[name]["progress"])
                for name in wanted
                if name in saved and saved[name]["identity"] == identities[name]
            }
            if any(share.left(same.get(name, Progress())) for name, share in wanted.items()):
                self.progress |= same

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

    def left(self, name: str) -> float:
        """Inputs or seconds that this target still has to run."""
        done = self.progress[name]
        return 0 if done.crashes else self.wanted[name].left(done)


def identity_of(name: str) -> str:
    """What a target has done counts for the program that did it."""
    if not TARGETS[name].python:
        return hashlib.sha256((BUILD / f"fuzz_{name}").read_bytes()).hexdigest()
    files = [*command_of(name, ROOT, BUILD)[1:], *sorted((ROOT / "host/python/perhop/dlep").glob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def run_round(wanted: dict[str, Share], jobs: int, seed: int) -> Round:
    """Runs what is left of the round, some targets at a time; ends early only when interrupted."""
    current = Round(OUT / "round.json", wanted, {name: identity_of(name) for name in wanted})

    def chunk(name: str) -> Chunk:
        corpus = OUT / "corpus" / name
        fill(corpus, name)
        left = current.left(name)
        if wanted[name].inputs:
            # A corpus counts as inputs when it is loaded; a chunk is always more than that.
            loaded = sum(1 for _ in corpus.iterdir())
            share = Share(inputs=loaded + min(int(left), CHUNK.inputs))
        else:
            share = Share(seconds=min(left, CHUNK.seconds))
        part = seed + current.progress[name].inputs % 1_000_000_007
        return run(name, corpus, OUT / "crashes", share=share, seed=part)

    with ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[Chunk], str] = {}
        while True:
            # The target with the largest part before it goes first, so that all end at about the same time.
            free = [name for name in wanted if name not in running.values() and current.left(name)]
            free.sort(key=lambda name: wanted[name].part_done(current.progress[name]))
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
                    f"{name:13} {done.inputs:>10,} inputs in {done.seconds:,.0f} s of {wanted[name]}, "
                    f"{result.inputs / result.seconds:,.0f}/s, {done.coverage} edges, {done.features} features",
                    flush=True,
                )
                if result.status:
                    print(f"  {result.problem}\n  log: {result.log}", flush=True)
                    print(
                        f"  repeat: {' '.join(map(str, command_of(name, ROOT, BUILD)))} {result.input_file}", flush=True
                    )


def copy_sources(to: Path) -> None:
    """Makes a copy of the sources, or mends one with a fault in it. What is the same is not built again."""
    for part in ("host", "sim/air", "sim/exact", "sim/run", "tests/fuzz", "tests/host", "tests/hw"):
        for file in (ROOT / part).rglob("*"):
            copied = to / file.relative_to(ROOT)
            if file.is_dir() or "__pycache__" in file.parts:
                continue
            if not copied.exists() or copied.read_bytes() != file.read_bytes():
                copied.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, copied)


def find_fault(fault: Fault, folder: Path, jobs: int, share: Share = FAULT_SHARE) -> str:
    """Plants a fault in a copy of the sources and fuzzes it. Returns what the fuzzer said; empty: it found nothing."""
    copy = folder / "sources"
    copy_sources(copy)
    faulty = copy / fault.file
    text = faulty.read_text()
    if fault.right not in text:
        raise RuntimeError(f"the fault '{fault.name}' cannot be planted: {fault.file} no longer has: {fault.right}")
    faulty.write_text(text.replace(fault.right, fault.wrong, 1))
    if not TARGETS[fault.target].python:
        build(folder / "build", copy, [f"fuzz_{fault.target}"], jobs)
    corpus = folder / "corpus" / re.sub(r"\W+", "-", fault.name)
    shutil.rmtree(corpus, ignore_errors=True)
    fill(corpus, fault.target)
    found = run(fault.target, corpus, folder / "crashes", share=share, seed=1, source=copy, built=folder / "build")
    return found.problem


def main() -> int:
    """Returns 0 when nothing broke and every planted fault was found, 1 otherwise, 130 when interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", type=float, default=1, help="of a round, such as 0.1; 1: all of it")
    parser.add_argument("--jobs", type=int, default=2, help="targets at a time")
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="printed; a round with it is not repeatable, as it learns"
    )
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    # Without atheris everything else is fuzzed, and the round has failed all the same.
    problem = atheris_problem()
    possible = [name for name, target in TARGETS.items() if not (target.python and problem)]
    not_run = sorted(set(TARGETS) - set(possible))
    wanted = {name: TARGETS[name].share.scaled(arguments.part) for name in possible}
    start_s = time.monotonic()
    if problem:
        print(f"fuzz: NOT FUZZED: {', '.join(not_run)}: {problem}", file=sys.stderr, flush=True)
    try:
        build(BUILD, ROOT, [f"fuzz_{name}" for name in COMPILED], arguments.jobs)
        print(f"fuzz: seed {arguments.seed}", flush=True)
        done = run_round(wanted, arguments.jobs, arguments.seed)
        faults = {}
        for fault in FAULTS:
            if fault.target in not_run:
                faults[fault.name] = None
                continue
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
        "not_run": not_run,
        "planted_faults": faults,
    }
    print_result("fuzz", value)
    if not_run:
        print(f"fuzz: NOT FUZZED: {', '.join(not_run)}: {problem}", file=sys.stderr)
    return 0 if value["crashes"] == 0 and not not_run and all(faults.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
