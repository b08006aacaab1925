# SPDX-License-Identifier: GPL-2.0-or-later
"""The gateware does what the model does, and answers in time: all that is measured on the model is its."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from perhop.errors import PerhopError

from phy_bench.points import ROOT, Bench
from phy_bench.sections.section import Section

ANTENNA = ROOT / "out/bench-antenna/result.json"
TESTS = "tests/gateware/dsss_receiver"
NAME = "frames_at_the_limit"


class Gateware(Section):
    """RTL and model agree, symbol by symbol, in each frame at the limit.

    Raises PerhopError where bench-antenna has measured nothing: before the long work.
    """

    title = "The gateware"

    def __init__(self, junit: Path) -> None:
        self._junit = junit
        self.sifs_us = sifs_us()
        self.agreed = self.compared = 0

    def measure(self, bench: Bench) -> None:
        self._junit.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", TESTS, "-m", "long", "-k", NAME, f"--junitxml={self._junit}"]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        cases = list(ET.parse(self._junit).getroot().iter("testcase")) if self._junit.exists() else []
        bad = ("failure", "error", "skipped")
        self.compared = len(cases)
        self.agreed = sum(all(case.find(kind) is None for kind in bad) for case in cases)

    def lines(self) -> list[str]:
        return [f"RTL and model agree symbol by symbol in {self.agreed} of {self.compared} frames at the limit"]

    def wrong(self) -> list[str]:
        if self.compared and self.agreed == self.compared:
            return []
        return [f"the RTL does what the model does in {self.agreed} of {self.compared} frames only"]

    def page(self, folder: Path) -> str:
        mean_us, min_us, max_us = (f"{self.sifs_us[key]:.2f}" for key in ("mean", "min", "max"))
        return f"""RTL and model agreed symbol by symbol in {self.agreed} of {self.compared} frames at the limit.
From a frame's end to the begin of its response, SIFS, the samples of two radios at 44 MHz have {mean_us} us ({min_us}
to {max_us}; `make bench-antenna`)."""

    def result(self) -> dict[str, Any]:
        return {"sifs_us": self.sifs_us, "rtl_frames": {"agree": self.agreed, "compared": self.compared}}


def sifs_us() -> dict[str, float]:
    """Mean, least and most of the last bench-antenna at 44 MHz, over both preambles.

    Raises PerhopError when there was none.
    """
    if not ANTENNA.exists():
        raise PerhopError(f"{ANTENNA.relative_to(ROOT)} is missing", "run `make bench-antenna`, or give --no-rtl")
    runs = [run for name, run in json.loads(ANTENNA.read_text())["runs"].items() if name.startswith("44 MHz")]
    return {
        "mean": round(sum(run["mean_us"] * run["n"] for run in runs) / sum(run["n"] for run in runs), 4),
        "min": min(run["min_us"] for run in runs),
        "max": max(run["max_us"] for run in runs),
    }
