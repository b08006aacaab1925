# SPDX-License-Identifier: GPL-2.0-or-later
"""`make outside-project`: a user's project, in an empty folder, takes mac_top by FuseSoC and tests its own design.

The sources of gateware/examples/telemetry_node are copied into an empty folder, and cocotbext-perhop is built and
installed with pip into an empty environment, which is all that is on PATH besides the system's programs. Then only
`fusesoc` is called: on Verilator and on Icarus every test must pass, at the same times of the simulation to the
picosecond; with each planted fault the named test must fail, and FuseSoC with it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from perhop.report.result_line import print_result

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "gateware/examples/telemetry_node"
CORE = "example:radio:telemetry_node"
PACKAGE = ROOT / "gateware/verification"
TARGETS = {"verilator": "sim", "icarus": "sim_icarus"}
# Number of the fault in telemetry_node.sv, the test that must find it, and where it is tried: Verilator takes minutes
# to build the design anew.
FAULTS = {
    "the last sample is lost": (1, "samples_reach_the_sink_in_one_packet", ("icarus",)),
    "responses come late": (2, "behind_an_rts_all_frames_are_sifs_apart_to_the_clock", ("icarus", "verilator")),
}
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


class OutsideError(Exception):
    """A step did not do what it must."""


@dataclass(frozen=True)
class Outcome:
    """What one run of FuseSoC said."""

    status: int
    times_ns: dict[str, float]  # of each test: how long it lasted in the simulation
    failed: list[str]
    seconds: float
    output: str


class Outside:
    """The user's folder."""

    def __init__(self, folder: Path, environment: Path) -> None:
        self.folder = folder
        self.environment = environment
        # Nothing of the checkout's environment: pip's and the system's programs alone.
        kept = {name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "HOME", "XDG_", "SSL_"))}
        self._env = kept | {"PATH": f"{environment}/bin:{SYSTEM_PATH}", "LANG": "C.UTF-8"}
        if shutil.which("ccache", path=SYSTEM_PATH):
            self._env["OBJCACHE"] = "ccache"

    def call(self, *command: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A command in the folder."""
        return subprocess.run(
            list(map(str, command)),
            cwd=self.folder,
            env=self._env | (env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def must(self, *command: str | Path) -> None:
        """A command that may not fail."""
        done = self.call(*command)
        if done.returncode != 0:
            raise OutsideError(f"{' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}")

    def fusesoc(self, target: str, *more: str, only: str | None = None) -> Outcome:
        """`fusesoc run` of a target; with `only` of one test."""
        results = self.folder / "build" / f"{CORE.replace(':', '_')}_1.0.0" / target / "results.xml"
        results.unlink(missing_ok=True)
        start_s = time.monotonic()
        env = {"COCOTB_TEST_FILTER": rf"\.{re.escape(only)}$"} if only else None
        done = self.call("fusesoc", "--cores-root", ".", "run", "--target", target, CORE, *more, env=env)
        times_ns, failed = {}, []
        for case in ET.parse(results).getroot().iter("testcase") if results.is_file() else ():
            if case.find("skipped") is not None:
                continue
            name = str(case.get("name"))
            properties = {each.get("name"): str(each.get("value")) for each in case.iter("property")}
            times_ns[name] = float(properties["sim_time_duration"])
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(name)
        return Outcome(done.returncode, times_ns, failed, time.monotonic() - start_s, done.stdout)


def set_up(outside: Outside) -> None:
    """What the project's README tells a user to do."""
    shutil.copytree(PROJECT, outside.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    python = outside.environment / "bin/python"
    outside.must(sys.executable, "-m", "venv", outside.environment)
    outside.must(python, "-m", "pip", "install", "-q", f"{PACKAGE}[fusesoc]")
    if outside.call(python, "-c", "import perhop").returncode == 0:
        raise OutsideError("the new environment has a perhop, which the package must do without")
    outside.must("fusesoc", "library", "add", "perhop", ROOT / "gateware")


def main() -> int:
    """0 if both simulators agree and every planted fault is found, 1 if not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work there, and leave it; it must be new")
    arguments = parser.parse_args()
    if shutil.which("iverilog", path=SYSTEM_PATH) is None:
        print("outside-project: there is no iverilog; Debian's package iverilog brings it", file=sys.stderr)
        return 1
    wrong: list[str] = []
    simulators: dict[str, dict[str, object]] = {}
    found: dict[str, dict[str, str | None]] = {}
    with tempfile.TemporaryDirectory(prefix="outside-") as scratch:
        folder = arguments.keep or Path(scratch) / "project"
        folder.mkdir(parents=True)
        outside = Outside(folder, Path(scratch) / "environment")
        start_s = time.monotonic()
        try:
            set_up(outside)
        except OutsideError as error:
            print(f"outside-project: {error}", file=sys.stderr)
            return 1
        setup_s = round(time.monotonic() - start_s, 1)
        print(f"pip install and fusesoc library add: {setup_s} s", flush=True)
        times: dict[str, dict[str, float]] = {}
        for simulator, target in TARGETS.items():
            outcome = outside.fusesoc(target)
            times[simulator] = outcome.times_ns
            passed = len(outcome.times_ns) - len(outcome.failed)
            simulators[simulator] = {"passed": passed, "failed": outcome.failed, "seconds": round(outcome.seconds, 1)}
            print(
                f"{simulator}: {passed} tests passed, {len(outcome.failed)} failed, {outcome.seconds:.0f} s", flush=True
            )
            if outcome.status != 0 or outcome.failed or not passed:
                wrong.append(f"{simulator}: fusesoc ended with {outcome.status}\n{outcome.output[-3000:]}")
        if len(set(map(str, times.values()))) != 1:
            wrong.append(f"the simulators took different times: {times}")
        for name, (number, test, where) in FAULTS.items():
            found[name] = {}
            for simulator in where:
                outcome = outside.fusesoc(TARGETS[simulator], "--FAULT", str(number), only=test)
                seen = outcome.status != 0 and outcome.failed == [test]
                found[name][simulator] = test if seen else None
                print(f"planted fault, {name}, {simulator}: {'found by ' + test if seen else 'NOT FOUND'}", flush=True)
                if not seen:
                    wrong.append(f"planted fault, {name}, {simulator}: not found\n{outcome.output[-2000:]}")
    for line in wrong:
        print(line, file=sys.stderr)
    print_result(
        "outside-project",
        {
            "setup_s": setup_s,
            "simulators": simulators,
            "same_times": not any("different times" in line for line in wrong),
            "planted_faults": found,
        },
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
