# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/phy: the page of what was measured, a section a question, and its figures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from perhop import files, paths

from phy_bench import frame_errors
from phy_bench.sections.section import Section

LINE_CHARACTERS = 120


def wrapped(paragraph: str) -> str:
    """Prose in lines of at most LINE_CHARACTERS; tables, figures and titles as they are."""
    if paragraph.startswith(("|", "!", "#")):
        return paragraph
    return textwrap.fill(" ".join(paragraph.split()), LINE_CHARACTERS, break_long_words=False, break_on_hyphens=False)


def write(sections: Iterable[Section], folder: Path) -> None:
    """README.md and the figures."""
    version = paths.version()["git"]  # before anything is written
    head = f"""# How good the DSSS modem is

Written by `sim/bench/bench_phy.py --document`; `make bench-phy` measures the same. Version {version}.

Measured on the bit-true model in C++ (`perhop.modem`), which the [gateware](../../gateware/rtl/phy/README.md) equals
number by number. Es is the energy of a symbol of 1 us; noise fills the band of 22 Msps.
Worst offsets: carrier +-{frame_errors.CARRIER_HZ / 1e3:.0f} kHz, clock +-{frame_errors.CLOCK_PPM} ppm, signs drawn."""
    parts = [head, *(f"## {section.title}\n\n{section.page(folder)}" for section in sections)]
    paragraphs = "\n\n".join(parts).split("\n\n")
    files.write_text(folder / "README.md", "\n\n".join(wrapped(each) for each in paragraphs) + "\n")
