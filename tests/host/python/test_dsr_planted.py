# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults planted in a copy of DSR's sources: the tests over hand-made topologies must fail for each."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = "host/core/routing"
FILES = ("dsr_route_cache.cpp", "dsr_router.cpp", "dsr_router_requests.cpp")
COMPILE = ("g++", "-std=c++20", "-O0", "-w", "-c")

# Name: file, what is right, what is wrong, a test that says so.
FAULTS = {
    "a neighbour that does not answer stays in the routes": (
        "dsr_router.cpp",
        "  cache_.remove_link(self_, next_hop);\n",
        "",
        "DsrBreak.",
    ),
    "a saved packet's list does not begin at the node that saved it": (
        "dsr_router.cpp",
        "route.begin() + (is_own(packet) ? 1 : 0)",
        "route.begin() + 1",
        "DsrSalvage.",
    ),
    "nobody is told of a failed link": ("dsr_router.cpp", "  send_error(next_hop, failed);\n", "", "DsrStale."),
    "a route twice over a node is followed": (
        "dsr_router.cpp",
        " == self_ && is_simple(route_of(packet));",
        " == self_;",
        "DsrLoops.",
    ),
    "an answer from a cache may lead back": (
        "dsr_router_requests.cpp",
        "route.size() > config_.most_nodes || !is_simple(route)) return false;",
        "route.size() > config_.most_nodes) return false;",
        "DsrLoops.",
    ),
}


def compiled(folder: Path, source: Path, *include: Path) -> Path:
    """The object file of a C++ source, made in `folder`; headers are looked for in `include` first."""
    made = folder / f"{source.stem}.o"
    where = [f"-I{path}" for path in (*include, ROOT)]
    subprocess.run([*COMPILE, *where, source, "-o", made], check=True)
    return made


def failures(folder: Path, objects: list[Path]) -> str:
    """What the tests say that fail; empty: none does."""
    subprocess.run(["g++", *objects, "-lgtest", "-lgtest_main", "-o", folder / "tests"], check=True)
    ran = subprocess.run(
        [folder / "tests", "--gtest_filter=-DsrProperties.*"], capture_output=True, text=True, timeout=60
    )
    return ran.stdout if ran.returncode else ""


@pytest.fixture(scope="module")
def right(tmp_path_factory) -> dict[str, Path]:
    """Object files of the tests and of the sources as they are."""
    folder = tmp_path_factory.mktemp("right")
    sources = [*(ROOT / SOURCES / name for name in FILES), ROOT / "host/core/wire/dsr_header.cpp"]
    sources.append(ROOT / "tests/host/routing/test_dsr_router.cc")
    return {source.name: compiled(folder, source) for source in sources}


def test_without_a_fault_the_tests_pass(right, tmp_path):
    assert not failures(tmp_path, list(right.values()))


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(right, tmp_path, name):
    file, as_is, wrong, seen_by = FAULTS[name]
    text = (ROOT / SOURCES / file).read_text()
    assert text.count(as_is) == 1, f"{file} no longer has what the fault changes"
    shutil.copy(ROOT / SOURCES / file, tmp_path / file)
    (tmp_path / file).write_text(text.replace(as_is, wrong))
    said = failures(tmp_path, list({**right, file: compiled(tmp_path, tmp_path / file)}.values()))
    assert f"[  FAILED  ] {seen_by}" in said, said or "no test failed"
