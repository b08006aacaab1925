#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""All that can be known of the hardware without a radio and without the vendor's tools; `make hw-check` calls it.

  images       rfnoc_image_builder (UHD 4.3) takes every image core with our block descriptions, without a warning, and
               connects just the ports that our blocks have
  elaborate    Verilator elaborates each image's block with the real radio_top and the image's parameters, between
               models of the NoC shell and the vendor's cells that are made from the block description here
  lint         Verilator -Wall over every module of hw/fpga, each as a top of its own
  crossings    no register hears another clock but through a cdc_* module
  constraints  each crossing of an image has its constraint in perhop.xdc, each constraint its crossing
  rates        rates, clocks, channels and samples a chip: the same in YAML and in each module of each image, and such
               that the device and mac_clk can keep them
  chains       UHD can switch on the AD9361's chains that an E310's or E320's image needs
  host         NoC ids, addresses, heads, delays and rates that the host's programs take for granted
  documents    what the bench guide and examples say of images, rates and delays
  filters      the filters of other sample rates are those of their generator
  area         Yosys' counts of the block for Xilinx 7 fit what UHD, as assumed, leaves of the smallest target; page and
               guide say that count, and the assumption
  control      block controller and rfnoc driver build against libuhd-dev, and pass their tests on UHD's mock block
  planted      faults that are planted in a copy of the tree: the check that is named for each finds it
  bench        cocotb: control port, packet streams and converter of shell_top, and the rest of hw/fpga (tests/hw)

Ends with a line RESULT and JSON, also in out/hw-check/result.json; exit status 1 when a check fails, 2 for wrong
arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from checks import planted
from checks.area import SMALLEST, check_area
from checks.chains import check_chains
from checks.constraints import check_constraints
from checks.crossings import check_crossings
from checks.documents import check_documents
from checks.elaboration import environment, verilator
from checks.host import check_host
from checks.images import check_images
from checks.rates import check_rates
from checks.tree import BIN, CheckError, Tree

ROOT = Path(__file__).resolve().parent.parent
TREE = Tree(ROOT)


def elaborate() -> str:
    cores = TREE.image_cores()
    with ThreadPoolExecutor(JOBS) as pool:
        # list() raises what a thread raised.
        list(pool.map(lambda name: verilator(TREE, name, *TREE.block_of(cores[name])), cores))
    return f"{len(cores)} images with radio_top"


def lint() -> str:
    modules = [name for name in TREE.rtl() if name.startswith("hw/fpga/") and name.count("/") == 2]
    modules = [name for name in modules if not name.endswith("_pkg.sv")]
    packages = [name for name in TREE.rtl() if name.endswith("_pkg.sv")]
    search = [part for folder in sorted({str(Path(name).parent) for name in TREE.rtl()}) for part in ("-y", folder)]
    command = [BIN / "verilator", "--lint-only", "-Wall", "-Wpedantic", "--quiet-stats", "-sv", "--top-module"]
    for name in modules:
        top = Path(name).stem
        sources = [*TREE.waivers(), *packages, name, *search]
        TREE.run([*command, top, *sources], f"lint of {top}", env=environment())
    return f"{len(modules)} modules"


def filters() -> str:
    TREE.run([sys.executable, "hw/fpga/generate_filter.py", "--check"], "hw/fpga/sample_filter_pkg.sv")
    return "current"


def bench() -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "long or not long", "tests/hw"]
    if JOBS > 1:
        command += ["-n", str(JOBS)]
    said = TREE.run(command, "tests/hw", env={**os.environ, "PYTHONPATH": str(ROOT / "host" / "python")})
    return said.strip().splitlines()[-1].strip("= ")


def area() -> str:
    report = TREE.load("hw/reports/area.py")
    try:
        used = report.used(SMALLEST)
    except RuntimeError as error:
        raise CheckError(f"area of {SMALLEST}: {error}") from error
    return check_area(TREE, used, report)


def control() -> str:
    build = ROOT / "out" / "build"
    # A build of before libuhd-dev was there does not look for it again by itself.
    configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "--log-level=WARNING"]
    again = ["-U", "*UHD*", f"-DPERHOP_PACKAGE_DIR={ROOT / 'host/python/perhop'}"]
    TREE.run([*configure, *again], "CMake", env={**os.environ, "CXX": "g++"})
    targets = ["perhop_driver_tests", "perhop_uhd_tests"]
    build_them = ["cmake", "--build", build, "-j", str(JOBS), "--target", *targets]
    TREE.run(build_them, "drivers and block controller do not build")
    told = []
    for program in ("perhop_driver_tests", "uhd/perhop_uhd_tests"):
        said = TREE.run([build / "host" / "node" / "tests" / program], program)
        found = re.search(r"\[  PASSED  \] (\d+) tests", said)
        if not found or int(found.group(1)) == 0:
            raise CheckError(f"{program} ran no test:\n{said[-1000:]}")
        told.append(f"{program.rpartition('/')[2]} {found.group(1)}")
    return ", ".join(told)


PLANTED: dict[str, str | None] = {}


def planted_faults() -> str:
    PLANTED.update(planted.plant_all(TREE))
    return planted.told(PLANTED)


CHECKS: dict[str, Callable[[], str]] = {
    "images": lambda: check_images(TREE),
    "elaborate": elaborate,
    "lint": lint,
    "crossings": lambda: check_crossings(TREE),
    "constraints": lambda: check_constraints(TREE),
    "rates": lambda: check_rates(TREE),
    "chains": lambda: check_chains(TREE),
    "host": lambda: check_host(TREE),
    "documents": lambda: check_documents(TREE),
    "filters": filters,
    "area": area,
    "control": control,
    "planted": planted_faults,
    "bench": bench,
}
JOBS = 1


def main() -> int:
    global JOBS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", nargs="*", choices=[[], *CHECKS], default=[], help="only these")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    JOBS = arguments.jobs
    verdicts, seconds = {}, {}
    for name in arguments.check or CHECKS:
        started = time.monotonic()
        try:
            told = CHECKS[name]()
            verdicts[name] = "pass"
        except CheckError as error:
            told = str(error)
            verdicts[name] = "fail"
        seconds[name] = round(time.monotonic() - started, 1)
        print(f"  {name:12} {verdicts[name]:5} {seconds[name]:7.1f} s  {told}", flush=True)
    result = {"checks": verdicts, "seconds": seconds, "whole": set(verdicts) == set(CHECKS)}
    if PLANTED:
        result |= {"planted": PLANTED, "planted_found": sum(each is not None for each in PLANTED.values())}
    (TREE.out / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    print("RESULT " + json.dumps(result))
    return int("fail" in verdicts.values())


if __name__ == "__main__":
    sys.exit(main())
