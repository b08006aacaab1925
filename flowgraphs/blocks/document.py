# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes README.md of this folder: of each block its ports, its parameters and what Companion says of it.

python flowgraphs/blocks/document.py            writes the page
python flowgraphs/blocks/document.py --check    says whether it is current, by its exit status
"""

import argparse
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
PAGE = HERE / "README.md"
HEAD = """<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
<!-- Written by flowgraphs/blocks/document.py. Do not edit. -->
# Blocks of gr-perhop

Each block is in Companion's category perhop and in Python's `perhop_gr`. [flowgraphs](../README.md) shows them at work.

"""


def cell(text: object) -> str:
    """Text in a cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\\\|")


def port(entry: dict) -> str:
    """A port in a word or two."""
    if entry["domain"] == "message":
        return f"`{entry['id']}` (messages)"
    many = "" if str(entry.get("multiplicity", "1")) == "1" else ", several"
    return f"{entry.get('label', 'stream')} ({entry.get('dtype', 'complex')}{many})"


def section(path: Path) -> str:
    """What the page says of the block of a file."""
    block = yaml.safe_load(path.read_text())
    lines = [f"## {block['label']}", "", f"`{block['id']}`; `perhop_gr.{block['id'].removeprefix('perhop_')}`", ""]
    for name in ("inputs", "outputs"):
        ports = ", ".join(port(entry) for entry in block.get(name, []))
        lines.append(f"- {name}: {ports or 'none'}")
    # Companion keeps the lines of what it says; here each is a paragraph.
    for line in block["documentation"].splitlines():
        lines += ["", line.rstrip()] if line.strip() else []
    lines.append("")
    if block.get("parameters"):
        lines += ["| parameter | is | type | at first |", "|---|---|---|---|"]
        for parameter in block["parameters"]:
            options = parameter.get("option_labels") or parameter.get("options")
            about = parameter.get("label", parameter["id"]) + (f": {', '.join(map(str, options))}" if options else "")
            first = cell(parameter.get("default", ""))
            lines.append(
                f"| `{parameter['id']}` | {cell(about)} | {cell(parameter.get('dtype', ''))} | "
                f"{f'`{first}`' if first else ''} |"
            )
        lines.append("")
    return "\n".join(line.rstrip() for line in lines)


def page() -> str:
    """The whole page."""
    blocks = sorted(HERE.glob("*.block.yml"))
    return HEAD + "\n".join(section(path) for path in blocks).rstrip() + "\n"


def main() -> int:
    """0; with --check 1 if the page is not current."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        if not PAGE.is_file() or PAGE.read_text() != page():
            print(f"{PAGE.name} is not current: python flowgraphs/blocks/document.py writes it", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
