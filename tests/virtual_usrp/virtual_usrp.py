# SPDX-License-Identifier: GPL-2.0-or-later
"""`make virtual-usrp`: the real UHD opens virtual devices of each image core of an E3xx, and ours work through it.

Runs the tests of this folder, those that need UHD among them: graph, chains of the AD9361, driver and bench, what was
wrong before. Fails where one fails or is skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "out" / "virtual-usrp"
sys.path[:0] = [str(HERE.parent), str(ROOT / "hw" / "images")]

import later_uhd  # noqa: E402
from image_cores import image_cores  # noqa: E402
from perhop.report.result_line import print_result  # noqa: E402


def uhd_version() -> str:
    """Of the UHD that opens the devices."""
    done = subprocess.run(["uhd_config_info", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[-1]


def counted(junit: Path) -> dict[str, dict[str, int]]:
    """What became of the tests of each file."""
    counts: dict[str, Counter[str]] = {}
    for case in ET.parse(junit).getroot().iter("testcase"):
        kinds = [kind for kind in ("failure", "error", "skipped") if case.find(kind) is not None]
        name = case.get("classname", "").rpartition(".")[2].removeprefix("test_")
        counts.setdefault(name, Counter())[kinds[0] if kinds else "passed"] += 1
    return {name: dict(found) for name, found in sorted(counts.items())}


# The bench guide's steps, and the tests in which they run.
BRINGUP = {
    "probe": "test_uhd_finds_and_probes_the_device_of_each_image_core",
    "delays": "test_the_first_delays_are_those_of_modem_and_shell",
    "selftest": "test_the_selftest_finds_nothing_wrong_with_a_radio_of_an_even_pace",
    "levels": "test_levels_hears_the_receivers_noise",
    "loopback": "test_loopback_records_every_frame_that_is_sent",
    "station, calibrate, turnaround": "test_two_radios_measure_sifs_and_turnaround_as_the_guide_prints_it",
    "daemons": "test_the_kernels_packets_go_over_two_daemons_and_two_radios",
    "doctor, run": "test_tcp_over_virtual_radios_is_as_in_the_simulation",
}
FAULTS = ("faults", "front_end", "radio_faults", "heartbeat")


def verdicts(junit: Path) -> tuple[dict[str, str], dict[str, str], list[dict]]:
    """Of the bench's steps, of faults, and the chains that were run, by the tests: pass, fail, or not run."""
    cases = list(ET.parse(junit).getroot().iter("testcase"))

    def verdict(of: list[ET.Element]) -> str:
        if not of or all(case.find("skipped") is not None for case in of):
            return "not run"
        kinds = ("failure", "error", "skipped")
        return "fail" if any(case.find(kind) is not None for case in of for kind in kinds) else "pass"

    bringup = {
        step: verdict([case for case in cases if case.get("name", "").partition("[")[0] == test])
        for step, test in BRINGUP.items()
    }
    faults = {
        case.get("name", "").removeprefix("test_"): verdict([case])
        for case in cases
        if case.get("classname", "").rpartition(".")[2].removeprefix("test_") in FAULTS
    }
    chains = [
        json.loads(each.get("value", ""))
        for case in cases
        for each in case.iter("property")
        if each.get("name") == "chain"
    ]
    return bringup, faults, chains


def of_later_uhd(tests: dict[str, dict[str, int]]) -> dict[str, str]:
    """What became of its tests, by its version."""
    if why := later_uhd.missing():
        return {f"of Debian 13: {why}": "skipped"}
    return {later_uhd.version(): "pass" if set(tests.get("later_uhd", {})) == {"passed"} else "fail"}


def main() -> int:
    OUT.mkdir(parents=True, exist_ok=True)
    junit, began_s = OUT / "tests.xml", time.monotonic()
    junit.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "long or not long"]
    # Tests say figures of theirs in the file.
    command += ["-o", "junit_family=xunit1"]
    done = subprocess.run([*command, f"--junitxml={junit}", str(HERE)], cwd=ROOT)
    tests = counted(junit) if junit.is_file() else {}
    bringup, faults, chains = verdicts(junit) if junit.is_file() else ({}, {}, [])
    passed = done.returncode == 0 and tests and all(set(found) == {"passed"} for found in tests.values())
    print_result(
        "virtual-usrp",
        {
            "pass": bool(passed),
            "uhd": {uhd_version(): "pass" if passed else "fail", **of_later_uhd(tests)},
            "images": [name for name, core in image_cores().items() if core["device"] in ("e310", "e320")],
            "bringup": bringup,
            "chain": max(chains, key=lambda chain: chain["hops"], default={}),
            "chains": chains,
            "faults": faults,
            "tests": tests,
            "seconds": round(time.monotonic() - began_s, 1),
        },
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
