# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults planted in a copy of the hop path and the shim: the tests of a gateway's wire must fail for each."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# A minute of compiling.
pytestmark = pytest.mark.long

TEST = "tests/host/hop/test_wired_hop.cc"
COMPILE = ("g++", "-std=c++20", "-O0", "-w", "-c")

# Name: file, what is right, what is wrong.
FAULTS = {
    "a wire's packets wait in the queue of the MAC": (
        "host/core/hop/hop_path.hpp",
        "      if (host_.is_wired(*receiver)) {\n",
        "      if (host_.is_wired(*receiver) && !queue_.full()) {\n",
    ),
    "a wired hop is stamped as one of the air": (
        "host/core/hop/hop_path.hpp",
        "wire{.medium = shim::hop_medium::wired};",
        "wire{.medium = shim::hop_medium::wireless};",
    ),
    "the header does not tell of a wire": (
        "host/core/shim/shim.cpp",
        "    header.wired_hop_seen = true;\n    return;\n",
        "    return;\n",
    ),
    "a packet that the wire lost passes for sent": (
        "host/core/hop/hop_path.hpp",
        "        return host_.send_on_wire(std::move(what), header, *receiver);\n",
        "        host_.send_on_wire(std::move(what), header, *receiver);\n        return true;\n",
    ),
}


@pytest.fixture(scope="module")
def core(tmp_path_factory) -> dict[str, Path]:
    """Object files of host/core that the test needs, as they are."""
    folder = tmp_path_factory.mktemp("core")
    sources = [*(ROOT / "host/core/shim").glob("*.cpp"), *(ROOT / "host/core/wire").rglob("*.cpp")]
    sources += [*(ROOT / "host/core/policy").rglob("*.cpp")]
    made = {}
    for source in sources:
        place = str(source.relative_to(ROOT))
        made[place] = folder / f"{place.replace('/', '_')}.o"
        subprocess.run([*COMPILE, f"-I{ROOT}", source, "-o", made[place]], check=True)
    return made


def failures(folder: Path, core: dict[str, Path], planted: Path | None) -> str:
    """What the tests say that fail, with a file from `folder` in place of the project's; empty: none does."""
    include = [f"-I{folder}", f"-I{ROOT}"]
    objects = dict(core)
    if planted is not None and planted.suffix == ".cpp":
        place = str(planted.relative_to(folder))
        objects[place] = folder / "planted.o"
        subprocess.run([*COMPILE, *include, planted, "-o", objects[place]], check=True)
    subprocess.run([*COMPILE, *include, ROOT / TEST, "-o", folder / "test.o"], check=True)
    subprocess.run(
        ["g++", folder / "test.o", *objects.values(), "-lgtest", "-lgtest_main", "-o", folder / "tests"], check=True
    )
    ran = subprocess.run([folder / "tests"], capture_output=True, text=True, timeout=60)
    return ran.stdout if ran.returncode else ""


def test_without_a_fault_the_tests_pass(core, tmp_path):
    assert not failures(tmp_path, core, None)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(core, tmp_path, name):
    file, right, wrong = FAULTS[name]
    text = (ROOT / file).read_text()
    assert text.count(right) == 1, f"{file} no longer has what the fault changes"
    planted = tmp_path / file
    planted.parent.mkdir(parents=True)
    planted.write_text(text.replace(right, wrong))
    said = failures(tmp_path, core, planted)
    assert "[  FAILED  ] wired_hop." in said, said or "no test failed"
