# SPDX-License-Identifier: GPL-2.0-or-later
"""`make virtual-usrp`: the real UHD opens virtual devices of each image core of an E3xx, and ours work through it.

Runs the tests of this folder, those that need UHD among them: graph, chains of the AD9361, driver and bench, what was
wrong before. Fails where one fails or is skipped.
"""

from __future__ import annotations

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


def main() -> int:
    OUT.mkdir(parents=True, exist_ok=True)
    junit, began_s = OUT / "tests.xml", time.monotonic()
    junit.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "long or not long"]
    done = subprocess.run([*command, f"--junitxml={junit}", str(HERE)], cwd=ROOT)
    tests = counted(junit) if junit.is_file() else {}
    passed = done.returncode == 0 and tests and all(set(found) == {"passed"} for found in tests.values())
    print_result(
        "virtual-usrp",
        {
            "pass": bool(passed),
            "uhd": {uhd_version(): "pass" if passed else "fail"},
            "images": [name for name, core in image_cores().items() if core["device"] in ("e310", "e320")],
            "tests": tests,
            "seconds": round(time.monotonic() - began_s, 1),
        },
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
