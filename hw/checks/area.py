# SPDX-License-Identifier: GPL-2.0-or-later
"""The area of the blocks is a statement: what Yosys counts, and how much UHD may take, which is an assumption.

The check counts the block of the smallest target anew, holds page and guide to that count, and asks that the
assumption stands beside it. What it cannot know is what UHD takes: Vivado's report of a build tells.
"""

from __future__ import annotations

import re
from types import ModuleType

from checks.host import constant
from checks.tree import CheckError, Tree

SMALLEST = "e310_perhop_44"
PAGE, GUIDE, REPORT = "hw/reports/area.md", "hw/README.md", "hw/reports/area.py"
NAMES = {"lut": "LUT", "ff": "FF", "bram": "block RAM", "dsp": "DSP"}
# Yosys' count may differ a little between its versions; the page is written anew when it differs by more.
TOLERANCE = 0.005
ASSUMPTION = "**How much UHD takes is an assumption, not a measurement**"


def check_area(tree: Tree, used: dict[str, float], report: ModuleType) -> str:
    """Holds device table, page and guide against a count of the smallest target; `report` is hw/reports/area.py."""
    device = report.DEVICES[SMALLEST.partition("_")[0]]
    wrong = []
    for name, count in used.items():
        free = int(getattr(device, name) * (1 - device.uhd_share))
        if count > free:
            wrong.append(
                f"the block takes {count:g} {NAMES[name]}, and UHD, as assumed, leaves {free} of {device.part}"
            )
    wrong += [
        f"{REPORT}: {name} is given a share of UHD without saying that it is an assumption"
        for name, each in report.DEVICES.items()
        if "assum" not in each.uhd_basis
    ]
    rows = page_rows(tree)
    for name in sorted(rows.keys() ^ tree.image_cores().keys()):
        wrong.append(f"{PAGE}: an image is missing, or is none: {name}")
    if SMALLEST in rows:
        row = rows[SMALLEST]
        wrong += [
            f"{PAGE}: {SMALLEST} takes {count:g} {NAMES[name]}, not {row[name]:g}: run hw/reports/area.py"
            for name, count in used.items()
            if abs(row[name] - count) > TOLERANCE * count
        ]
        wrong += _guide(tree, device, row)
    for path in (PAGE, GUIDE):
        if "assumption" not in tree.read(path):
            wrong.append(f"{path}: the area stands there without its assumption")
    if ASSUMPTION not in tree.read(PAGE):
        wrong.append(f"{PAGE} does not say: {ASSUMPTION}")
    if wrong:
        raise CheckError("\n".join(wrong))
    told = ", ".join(f"{count:g} {NAMES[name]}" for name, count in used.items())
    return f"{SMALLEST}: {told}; fits where UHD takes {device.uhd_share:.0%}, which is assumed"


def page_rows(tree: Tree) -> dict[str, dict[str, float]]:
    """By image, what the page says that it takes, and how much UHD may take."""
    found = {}
    for line in tree.read(PAGE).splitlines():
        if re.match(r"\| `\w+` \|", line):
            cells = [each.strip() for each in line.strip("|").split("|")]
            counts = [float(each.partition(" of ")[0].replace(",", "")) for each in cells[2:6]]
            found[cells[0].strip("`")] = dict(zip(NAMES, counts, strict=True)) | {"may": float(cells[8].strip("%"))}
    return found


def _guide(tree: Tree, device: object, row: dict[str, float]) -> list[str]:
    """The guide repeats the smallest target's row, and the assumption."""
    said = constant(tree, GUIDE, r"^\| `area` \| (.*) \|$")
    wanted = [
        f"takes {row['lut']:,.0f} of an XC7Z020's {device.lut:,} LUT ({row['lut'] / device.lut:.1%})".replace(
            "%", " %"
        ),
        f", {row['ff']:,.0f} of {device.ff:,} FF",
        f"less than {row['may']:.0f} % of the LUT",
        f"The check asks for {device.uhd_share:.0%}".replace("%", " %"),
    ]
    return [f"{GUIDE}: the line `area` does not say: {each}" for each in wanted if each not in said]
