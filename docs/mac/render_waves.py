# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws waves/*.json (WaveJSON, wavedrom.com), of this folder and of docs/hw, as the SVG beside each.

`--check` only says which are out of date.
"""

import argparse
import json
import sys
from pathlib import Path

from yowasp_wavedrom import render

DOCS = Path(__file__).resolve().parents[1]
WAVES = (DOCS / "mac" / "waves", DOCS / "hw" / "waves")
# On a dark page the black lines of WaveDrom would vanish.
BACKGROUND = '<rect width="100%" height="100%" fill="white"/>'


def drawn(source: Path) -> str:
    """The SVG of a WaveJSON file; raises ValueError that names the file where it is not JSON."""
    try:
        wave = json.loads(source.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{source.name}: {error}") from error
    svg = render(wave)
    head_end = svg.index(">") + 1
    return svg[:head_end] + BACKGROUND + svg[head_end:] + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for source in sorted(path for folder in WAVES for path in folder.glob("*.json")):
        picture, svg = source.with_suffix(".svg"), drawn(source)
        if not picture.is_file() or picture.read_text() != svg:
            stale.append(picture.name)
            if not check:
                picture.write_text(svg)
    for name in stale:
        print(f"{name}: {'out of date, run docs/mac/render_waves.py' if check else 'drawn'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
