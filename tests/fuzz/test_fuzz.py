# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of host/core, host/node and host/drivers, and a short run of each fuzzer, under sanitizers.

Of addresses, undefined behaviour and leaks. DLEP, which is Python, gets its seeds and mutations of them.
"""

import fcntl
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz
import fuzz_dlep
from fuzz import Share

# Five seconds or less, each.
SHORT_RUNS = {
    "path_header": 300_000,
    "exact_codecs": 150_000,
    "exact": 15_000,
    "tfrc": 15_000,
    "shim": 25_000,
    "dsr": 20_000,
    "wires": 10_000,
    "aodv": 20_000,
    "gpsr": 20_000,
    "packet_path": 700,
    "air_driver": 2_000,
    "configuration": 4_000,
}
DLEP_MUTATIONS = 8_000
# Where they are, and how many tests there are at least.
UNIT_TESTS = {
    "perhop_host_tests": ("host_core/tests/perhop_host_tests", 51),
    "perhop_node_tests": ("host_node/tests/perhop_node_tests", 51),
    "perhop_sockets_tests": ("host_sockets/tests/perhop_sockets_tests", 14),
}
SEED = int(os.environ.get("PERHOP_SEED", "1"))


@pytest.fixture(scope="session")
def sanitized() -> Path:
    """The build with sanitizers, made once for all processes that run tests."""
    fuzz.BUILD.mkdir(parents=True, exist_ok=True)
    with (fuzz.BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        targets = [f"fuzz_{name}" for name in fuzz.COMPILED]
        fuzz.build(fuzz.BUILD, fuzz.ROOT, [*targets, *UNIT_TESTS], jobs=2)
    return fuzz.BUILD


@pytest.mark.parametrize("program", UNIT_TESTS)
def test_unit_tests_pass_under_the_sanitizers(sanitized, program):
    path, least = UNIT_TESTS[program]
    ran = subprocess.run(
        [sanitized / path, "--gtest_brief=1"],
        capture_output=True,
        text=True,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"},
    )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-8000:]
    passed = re.search(r"\[  PASSED  \] (\d+) tests", ran.stdout)
    assert passed and int(passed.group(1)) >= least


@pytest.mark.parametrize("target", fuzz.COMPILED)
def test_a_fuzzer_finds_nothing_in_a_short_run(sanitized, tmp_path, target):
    corpus = tmp_path / "corpus"
    fuzz.fill(corpus, target)
    print(f"seed {SEED}")
    share = Share(inputs=SHORT_RUNS[target])
    chunk = fuzz.run(target, corpus, tmp_path / "crashes", share=share, seed=SEED, built=sanitized)
    assert chunk.status == 0, f"{chunk.problem}, seed {SEED}, input {chunk.input_file}\n{chunk.log.read_text()[-6000:]}"
    assert chunk.inputs >= SHORT_RUNS[target]
    assert chunk.coverage > 50


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_seeds_fit_their_target(target):
    seeds = fuzz.seeds(target)
    assert len(seeds) >= 10
    assert all(len(data) <= fuzz.TARGETS[target].max_length for data in seeds.values())
    assert len(set(seeds.values())) == len(seeds)


@pytest.mark.parametrize("fault", fuzz.FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted_in_the_sources_of_today(fault):
    assert (fuzz.ROOT / fault.file).read_text().count(fault.right) >= 1


def test_the_copy_that_gets_the_faults_has_all_that_is_built(tmp_path):
    """Faults are planted in it by the long tests and `make fuzz` alone; what it lacks would be noticed late."""
    fuzz.copy_sources(tmp_path / "sources")
    fuzz.configure(tmp_path / "build", tmp_path / "sources")
    wanted = [fault.file for fault in fuzz.FAULTS] + [
        str(file.relative_to(fuzz.ROOT)) for file in fuzz.SOURCES.glob("*.cc")
    ]
    for name in wanted:
        copied = tmp_path / "sources" / name
        assert copied.is_file(), f"{name} is not copied"
        # What is named from the root, and what that names; the rest stands beside its file.
        named = re.findall(r'^#include "((?:host|sim|tests)/.*)"', copied.read_text(), re.MULTILINE)
        wanted += [each for each in named if each not in wanted]


@pytest.fixture(scope="session")
def planting(tmp_path_factory) -> Path:
    """Where faults are planted, one after the other: what they have in common is built once."""
    return tmp_path_factory.mktemp("planted")


@pytest.mark.long
@pytest.mark.parametrize("fault", fuzz.FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(planting, fault):
    assert not fuzz.TARGETS[fault.target].python or not (problem := fuzz.atheris_problem()), problem
    assert re.search(fault.said, fuzz.find_fault(fault, planting, jobs=2))


def test_dlep_takes_its_seeds_and_mutations_of_them():
    """Without atheris, which only `make fuzz` brings: nothing guides these inputs, so the seeds have to reach far."""
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    seeds = list(fuzz.seeds("dlep").values())
    for data in seeds:
        fuzz_dlep.one_input(data)
    reached = set()
    for _ in range(DLEP_MUTATIONS):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(data) + 1)
            other = chance.choice(seeds)
            data[at : at + chance.randrange(8)] = chance.choice(
                (chance.randbytes(chance.randrange(8)), other[chance.randrange(len(other)) :], b"")
            )
        reached |= fuzz_dlep.one_input(bytes(data[: fuzz.TARGETS["dlep"].max_length]))
    assert {"signal", "session", "in session", "terminated", "destination answered"} <= reached


def test_without_atheris_it_is_said_what_is_not_fuzzed(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "ATHERIS", fuzz.ROOT / ".venv-of-nobody/bin/python")
    assert "make fuzz" in fuzz.atheris_problem()


def test_an_interrupted_round_goes_on_and_a_finished_one_starts_again(tmp_path):
    state = tmp_path / "round.json"
    wanted = {"shim": Share(inputs=100), "exact": Share(inputs=50)}
    built = {"shim": "a program", "exact": "another"}
    chunk = fuzz.Chunk(inputs=60, coverage=7, features=9, seconds=1, status=0, log=tmp_path)
    first = fuzz.Round(state, wanted, built)
    first.add("shim", chunk)
    again = fuzz.Round(state, wanted, built)
    assert again.left("shim") == 40 and again.left("exact") == 50
    changed = fuzz.Round(state, wanted, built | {"shim": "a changed program"})
    assert changed.left("shim") == 100, "another program begins again"
    changed = fuzz.Round(state, wanted, built | {"exact": "a changed program"})
    assert changed.left("shim") == 40, "which says nothing of the others"
    again.add("shim", chunk)
    again.add("exact", chunk)
    assert again.left("shim") == again.left("exact") == 0
    assert fuzz.Round(state, wanted, built).left("shim") == 100, "all was done: a new round"
    broken = fuzz.Chunk(inputs=1, coverage=7, features=9, seconds=1, status=77, log=tmp_path, problem="a leak")
    last = fuzz.Round(state, wanted, built)
    last.add("shim", broken)
    assert last.left("shim") == 0 and last.progress["shim"].crashes == 1, "a target that broke ends"


def test_a_share_of_seconds_goes_on_where_it_was(tmp_path):
    state = tmp_path / "round.json"
    wanted = {"dlep": Share(seconds=600)}
    chunk = fuzz.Chunk(inputs=60, coverage=7, features=9, seconds=61, status=0, log=tmp_path)
    fuzz.Round(state, wanted, {"dlep": "a program"}).add("dlep", chunk)
    again = fuzz.Round(state, wanted, {"dlep": "a program"})
    assert again.left("dlep") == 539
    for _ in range(9):
        again.add("dlep", chunk)
    assert again.left("dlep") == 0
