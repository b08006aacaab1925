# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of host/core, host/node and host/drivers, and a short run of each fuzzer, under sanitizers.

Of addresses, undefined behaviour and leaks.
"""

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fuzz

# A few seconds each.
SHORT_RUNS = {"path_header": 300_000, "exact_codecs": 150_000, "exact": 15_000, "shim": 25_000}
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
        targets = [f"fuzz_{name}" for name in fuzz.TARGETS]
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


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_a_fuzzer_finds_nothing_in_a_short_run(sanitized, tmp_path, target):
    corpus = tmp_path / "corpus"
    fuzz.fill(corpus, target)
    print(f"seed {SEED}")
    chunk = fuzz.run(
        sanitized / f"fuzz_{target}",
        corpus,
        tmp_path / "crashes",
        runs=SHORT_RUNS[target],
        seed=SEED,
        max_length=fuzz.TARGETS[target][1],
    )
    assert chunk.status == 0, f"{chunk.problem}, seed {SEED}, input {chunk.input_file}\n{chunk.log.read_text()[-6000:]}"
    assert chunk.inputs >= SHORT_RUNS[target]
    assert chunk.coverage > 50


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_seeds_fit_their_target(target):
    seeds = fuzz.seeds(target)
    assert len(seeds) >= 10
    assert all(len(data) <= fuzz.TARGETS[target][1] for data in seeds.values())
    assert len(set(seeds.values())) == len(seeds)


@pytest.mark.parametrize("fault", fuzz.FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_planted_in_the_sources_of_today(fault):
    assert (fuzz.ROOT / fault.file).read_text().count(fault.right) >= 1


@pytest.mark.long
@pytest.mark.parametrize("fault", fuzz.FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(tmp_path, fault):
    assert re.search(fault.said, fuzz.find_fault(fault, tmp_path, jobs=2))


def test_an_interrupted_round_goes_on_and_a_finished_one_starts_again(tmp_path):
    state = tmp_path / "round.json"
    wanted = {"shim": 100, "exact": 50}
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
