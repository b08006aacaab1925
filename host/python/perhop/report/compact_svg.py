# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the SVG of a figure in few lines and bytes: the same picture, to a hundredth of a point.

matplotlib writes a point of a path a line, with six decimals, and names every group. A picture that is committed, or
that is part of a page, needs none of that.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
# Attributes that hold lengths; those of a transform are rounded where it moves, never where it scales or turns.
LENGTHS = ("x", "y", "width", "height", "cx", "cy", "r")

LINE_CHARACTERS = 2000

NUMBER = re.compile(r"-?\d*\.?\d+(?:e[-+]?\d+)?")


def compact(text: str) -> str:
    """The picture of `text`, an SVG file, as one element; what is drawn and its order are as they were."""
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", XLINK)
    root = ET.fromstring(text[text.index("<svg") :])
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    _strip(root, used)
    # Lines that an editor can open.
    return re.sub(rf"(.{{{LINE_CHARACTERS},}}?>)(?=<)", r"\1\n", ET.tostring(root, encoding="unicode")) + "\n"


def _strip(element: ET.Element, used: set[str]) -> None:
    if element.get("id") not in used:
        element.attrib.pop("id", None)
    if "d" in element.attrib:
        element.set("d", _path(element.get("d", "")))
    if "transform" in element.attrib:
        element.set(
            "transform", re.sub(r"translate\([^)]*\)", lambda found: _rounded(found[0]), element.get("transform", ""))
        )
    for name in LENGTHS:
        if name in element.attrib and not element.get(name, "").endswith("%"):
            element.set(name, _rounded(element.get(name, "")))
    if element.tag in (f"{{{SVG}}}style", f"{{{SVG}}}text"):
        return
    element.text = None
    kept: list[ET.Element] = []
    for child in element:
        if child.tag == f"{{{SVG}}}metadata":
            continue
        _strip(child, used)
        child.tail = None
        # A group that says nothing is its children.
        kept += list(child) if child.tag == f"{{{SVG}}}g" and not child.attrib else [child]
    element[:] = kept


def _path(data: str) -> str:
    """A letter is not repeated for each point of a line; letters need no space around them."""
    found = []
    last = ""
    for letter, points in re.findall(r"([A-Za-z])([^A-Za-z]*)", _rounded(" ".join(data.split()))):
        # After M, further points are those of a line.
        again = (letter == last and letter != "M") or (letter == "L" and last == "M")
        found.append((" " if again else letter) + points.strip())
        last = letter if letter not in "zZ" else ""
    return "".join(found)


def _rounded(text: str) -> str:
    return NUMBER.sub(lambda found: f"{round(float(found[0]), 2) + 0.0:.2f}".rstrip("0").rstrip("."), text)
