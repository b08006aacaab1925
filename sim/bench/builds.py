# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that benches measure, built with the ns-3 that is to be measured: perhop-sim without assertions, and peers.

The wheel's ns-3 has logs and assertions compiled in. One that was built for speed is given by its folder `build`
(sim/ns3/README.md says how it is made).
"""

from __future__ import annotations

import argparse
import subprocess
from dataclasses import dataclass
from pathlib import Path

from chain_runs import BENCH_BUILD, ROOT

HERE = Path(__file__).resolve().parent
VERSION = "3.44"
MODULES = "core network internet applications mobility propagation traffic-control wifi spectrum antenna stats"


@dataclass(frozen=True)
class Ns3:
    """An ns-3 of VERSION, and the folder of what is built with it."""

    words: str  # for tables and results
    name: str  # in names of files
    include: Path
    libraries: Path
    suffix: str  # of its libraries' names
    flags: tuple[str, ...]  # as it was compiled
    build: Path  # of perhop-sim
    definitions: tuple[str, ...] = ()  # of CMake, for that

    @property
    def missing(self) -> Path | None:
        """The first file that is wanted of it and not there."""
        files = [self.include / "ns3/core-module.h", *(self._library(module) for module in MODULES.split())]
        return next((file for file in files if not file.exists()), None)

    def _library(self, module: str) -> Path:
        return self.libraries / f"libns{VERSION}-{module}{self.suffix}.so"

    def perhop_sim(self) -> Path:
        """Builds perhop-sim without assertions."""
        options = ["-DPERHOP_ASSERT=OFF", "--log-level=ERROR", *self.definitions]
        subprocess.run(
            ["cmake", "-S", ROOT, "-B", self.build, "-G", "Ninja", *options], check=True, stdout=subprocess.DEVNULL
        )
        subprocess.run(["cmake", "--build", self.build, "--target", "perhop-sim", "-j", "2"], check=True, stdout=2)
        return self.build / "sim/ns3/perhop-sim"

    def peer(self, name: str, folder: Path) -> Path:
        """Builds a program of ns-3's own Wi-Fi, HERE/name.cc, in this folder, unless that is done."""
        program, source = folder / f"{name}{self.name}", HERE / f"{name}.cc"
        newest = max(path.stat().st_mtime for path in (source, HERE / "ns3_wifi.hpp"))
        if program.exists() and program.stat().st_mtime > newest:
            return program
        links = [f"-Wl,-rpath,{self.libraries}", *(self._library(module) for module in MODULES.split())]
        command = ["g++", "-std=c++23", "-O2", *self.flags, f"-I{self.include}", source, "-o", program, *links]
        subprocess.run(command, check=True)
        return program


_wheel = ROOT / ".venv/lib/python3.11/site-packages/ns3"
WHEEL = Ns3(
    words=f"wheel {VERSION}, with logs and assertions",
    name="",
    include=_wheel / "include",
    libraries=_wheel / "lib64",
    suffix="",
    flags=("-DNS3_LOG_ENABLE", "-DNS3_ASSERT_ENABLE"),
    build=BENCH_BUILD,
)


def built_for_speed(name: str) -> Ns3:
    """ns-3 in its own folder `build`, after --build-profile=optimized. Raises ArgumentTypeError where it is none."""
    folder = Path(name).resolve()
    found = Ns3(
        words=f"{VERSION} built for speed, without logs and assertions",
        name="_built",
        include=folder / "include",
        libraries=folder / "lib",
        suffix="-optimized",
        flags=(),
        build=ROOT / "out/build-bench-ns3",
        definitions=(f"-DPERHOP_NS3={folder}",),
    )
    if found.missing is not None:
        raise argparse.ArgumentTypeError(
            f"{found.missing} is not there; remedy: the folder `build` of ns-3 {VERSION} after "
            f"`./ns3 configure --build-profile=optimized` and `./ns3 build` (sim/ns3/README.md)"
        )
    return found


def add_ns3_option(parser: argparse.ArgumentParser, help: str) -> None:
    """--ns3 FOLDER; None where it is not given."""
    parser.add_argument("--ns3", type=built_for_speed, metavar="FOLDER", help=f"{help}: its folder `build`")
