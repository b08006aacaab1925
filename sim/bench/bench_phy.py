# SPDX-License-Identifier: GPL-2.0-or-later
"""How good the DSSS modem is: frame errors beside theory, carrier sense, echoes, levels, the transmitter's spectrum.

Measured on the model in C++ (perhop.modem), which equals perhop.phy and the gateware number by number; to show that it
does so here, too, RTL and model get the same frames of 1024 octets at the limit, and are compared symbol by symbol.
Gain control is measured on the gateware. (--no-rtl leaves both out.) SIFS at the antenna is what bench-antenna has
measured, which `make bench-phy` does first.

Each question, its bound and its part of docs/phy is a file of phy_bench/sections. The exit status is 1 where a bound
does not hold. Every point is kept in out/bench-phy/points under the modem's sources that it was measured with, so that
a run that is interrupted goes on where it was. --document also writes docs/phy.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from perhop.errors import PerhopError
from perhop.report.result_line import print_result
from phy_bench import document
from phy_bench.points import Bench
from phy_bench.sections.channel import DcAndImbalance, Echoes, Levels
from phy_bench.sections.dynamic_range import GainControl, OneGain
from phy_bench.sections.errors import FrameErrors
from phy_bench.sections.gateware import Gateware
from phy_bench.sections.mask import TransmittedSpectrum
from phy_bench.sections.next_channel import NextChannel
from phy_bench.sections.section import Section
from phy_bench.sections.sensing import CarrierSense, FreeAgain

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out/bench-phy"
DOCUMENT = ROOT / "docs/phy"


def sections(frames: int, noise_s: float, rtl: bool) -> list[Section]:
    """What is asked, in the page's order; slow frames are fewer. Raises PerhopError where a question lacks a file."""
    fewer = max(frames // 3, 1)
    gateware = [Gateware(OUT / "rtl.xml")] if rtl else []
    return [
        FrameErrors(frames),
        CarrierSense(frames, noise_s),
        FreeAgain(frames),
        Echoes(fewer),
        Levels(frames),
        OneGain(fewer),
        *([GainControl()] if rtl else []),
        DcAndImbalance(frames),
        NextChannel(max(frames // 10, 1)),
        TransmittedSpectrum(),
        *gateware,
    ]


def show(line: str) -> None:
    """In the terminal, at once."""
    print(line, flush=True)


def main() -> int:
    """Return 0 when every bound holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=300, help="a point of the curves")
    parser.add_argument("--noise-s", type=float, default=2.0, help="seconds of noise without a signal")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--no-rtl", action="store_true", help="do not compare with the gateware")
    parser.add_argument("--document", action="store_true", help="also write docs/phy")
    options = parser.parse_args()
    start_s = time.monotonic()
    bench = Bench(OUT / "points", options.jobs, show)
    asked = sections(options.frames, options.noise_s, not options.no_rtl)
    for section in asked:
        show(section.title)
        section.measure(bench)
    for section in asked:
        for line in section.lines():
            show(line)
    wrong = [line for section in asked for line in section.wrong()]
    for line in wrong:
        show(f"bench-phy: {line}")
    if options.document:
        document.write(asked, DOCUMENT)
    results = {key: value for section in asked for key, value in section.result().items()}
    seconds = round(time.monotonic() - start_s, 1)
    print_result("bench-phy", {"frames": options.frames, **results, "ok": not wrong, "seconds": seconds})
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PerhopError as error:
        sys.exit(f"bench-phy: {error}")
