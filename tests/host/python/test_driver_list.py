# SPDX-License-Identifier: GPL-2.0-or-later
"""The entries in host/drivers are the one list of drivers: what follows is current, and a driver takes three files.

The long test plants a driver in a copy of the tree, counts the files that this took, and builds daemon and tests there.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from perhop import paths
from perhop.errors import PerhopError
from perhop.node import drivers
from perhop.node.configuration import NodeFile
from planted_tree import call, changed_by_hand, copy_of_tree

ROOT = Path(__file__).resolve().parents[3]
GENERATOR = "host/drivers/describe.py"
OUTPUTS = ("host/python/perhop/node/drivers.json", "docs/drivers.md")


def the_daemon() -> Path:
    try:
        return paths.program("perhop-node")
    except PerhopError as error:
        pytest.skip(" ".join(str(error).split()))


def test_what_is_generated_is_current(tmp_path):
    for name in OUTPUTS:
        (tmp_path / name).parent.mkdir(parents=True)
    call = [sys.executable, ROOT / GENERATOR, "--root", tmp_path, "--program", the_daemon()]
    subprocess.run(call, check=True)
    stale = [name for name in OUTPUTS if (ROOT / name).read_bytes() != (tmp_path / name).read_bytes()]
    assert not stale, f"run {GENERATOR} and commit: {', '.join(stale)}"
    before = [(tmp_path / name).stat().st_mtime_ns for name in OUTPUTS]
    subprocess.run(call, check=True)
    assert [(tmp_path / name).stat().st_mtime_ns for name in OUTPUTS] == before


def test_a_daemon_that_is_not_built_is_named_with_the_remedy(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / GENERATOR, "--root", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "make build" in done.stderr and "Traceback" not in done.stderr


def test_every_driver_of_the_folder_is_listed():
    files = {path.name.removesuffix("_driver.cpp") for path in (ROOT / "host/drivers").glob("*_driver.cpp")}
    assert set(drivers.ENTRIES) == files


def test_every_field_has_a_row_with_its_values_and_default():
    spec = importlib.util.spec_from_file_location("describe", ROOT / GENERATOR)
    describe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(describe)
    fields = [
        {"name": "a", "is": "word", "words": ["x", "y"], "otherwise": "y", "meaning": "A."},
        {"name": "b", "is": "integer", "from": -3, "to": 4, "meaning": "B.", "optional": True},
        {"name": "c", "is": "quantity", "above": 0.5, "meaning": "C."},
    ]
    page = describe.page([{"kind": "k", "meaning": "M.", "if_away": "look", "fields": fields}])
    assert "## `kind: k`\n\nM.\n" in page
    assert "| `a` | `x`, `y` | `y` | A. |" in page
    assert "| `b` | -3 to 4 | none | B. |" in page
    assert "| `c` | number above 0.5 | required | C. |" in page
    assert "does not come up: look." in page


RFNOC = {
    "kind": "rfnoc",
    "args": "addr=192.168.10.2",
    "mac": "02:00:00:00:00:01",
    "frequency_hz": 2.412e9,
    "tx_delay_clocks": 101,
    "rx_delay_clocks": 66,
}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("frequency_hz", 0.0),
        ("mac", "2:0"),
        ("args", ""),
        ("channel", 8),
        ("energy_threshold_dbm", -129),
        ("energy_threshold_dbm", -62),
        ("profile", "ofdm_20mhz"),
        ("seed", -1),
        ("antenna", "TX/RX"),
        ("tx_delay_clocks", None),
    ],
)
def test_python_and_the_daemon_refuse_the_same(field, value, tmp_path):
    """And both take the section without the fault, where UHD is built in."""
    wrong = {**RFNOC, field: value}
    if value is None:
        del wrong[field]
    for section, good in ((RFNOC, True), (wrong, False)):
        try:
            NodeFile.model_validate({"driver": section})
            assert good
        except ValueError as error:
            assert not good and field in str(error)
    config = tmp_path / "node.json"
    config.write_text(json.dumps({"driver": wrong}))
    done = subprocess.run([the_daemon(), "--check-driver", config], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and (field in done.stderr or "MAC address" in done.stderr), done.stderr


def planted(folder: Path) -> set[str]:
    """A driver of the emulated medium under another name, in the copy of the tree in `folder`; the files of it."""
    files = {
        "host/drivers/air_driver.hpp": "host/drivers/planted_driver.hpp",
        "host/drivers/air_driver.cpp": "host/drivers/planted_driver.cpp",
        "tests/host/node/test_air_driver.cc": "tests/host/node/test_planted_driver.cc",
    }
    for name, copy in files.items():
        text = (folder / name).read_text().replace("air_driver", "planted_driver").replace("air_bench", "planted_bench")
        text = text.replace('"air"', '"planted"').replace("SUITE_P(air,", "SUITE_P(planted,")
        (folder / copy).write_text(text)
    return set(files.values())


@pytest.mark.long
def test_a_new_driver_is_known_and_judged_after_three_files(tmp_path):
    """Built from the copy: daemon and conformance suite; then what Python and the page say of it."""
    files = planted(copy_of_tree(tmp_path))
    build = tmp_path / "out/build"
    venv = Path(sys.executable).parents[1]
    environment = {**os.environ, "CCACHE_BASEDIR": str(tmp_path), "CXX": "g++"}
    for command in (
        ["cmake", "-S", tmp_path, "-B", build, "-G", "Ninja", "--log-level=WARNING", f"-DPERHOP_VENV={venv}"],
        ["cmake", "--build", build, "-j", "2", "--", "perhop-node", "perhop_driver_tests"],
    ):
        done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    (tests,) = build.rglob("perhop_driver_tests")
    told = subprocess.run([tests, "--gtest_filter=planted/*"], capture_output=True, text=True, check=True).stdout
    assert "[  PASSED  ] " in told and "[  PASSED  ] 0 tests" not in told

    shutil.move(tmp_path / "out", tmp_path.with_suffix(".out"))
    program = tmp_path.with_suffix(".out") / "build/host/node/perhop-node"
    assert changed_by_hand(tmp_path, GENERATOR, "--program", program) == files
    assert "## `kind: planted`" in (tmp_path / "docs/drivers.md").read_text()
    section = json.dumps({"driver": {"kind": "planted", "socket": str(tmp_path / "none"), "node": 3}})
    config = tmp_path / "node.json"
    config.write_text(section)
    code = "import sys, perhop.node.configuration as c; print(c.NodeFile.model_validate_json(sys.argv[1]).driver.kind)"
    assert call(tmp_path, code, section).strip() == "planted"
    done = subprocess.run([program, "--check-driver", config], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no MAC answers" in done.stderr
