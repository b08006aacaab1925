# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles a .grc file to Python, and says what is wrong with it: grcc alone takes blocks that it does not know."""

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLOCKS = HERE.parent / "blocks"


def compiled(grc: Path, out: Path) -> Path:
    """Writes <out>/<id>.py; ValueError says what is wrong with the flowgraph."""
    os.environ.pop("DISPLAY", None)
    from gnuradio import gr
    from gnuradio.grc.core.platform import Platform

    version = gr.version()
    parts = (gr.major_version(), gr.api_version(), gr.minor_version())
    platform = Platform(name="compile", prefs=gr.prefs(), version=version, version_parts=parts)
    platform.build_library([str(BLOCKS), *gr.prefs().get_string("grc", "global_blocks_path", "").split(":")])
    graph = platform.make_flow_graph(str(grc.resolve()))
    unknown = [block.name for block in graph.blocks if block.is_dummy_block]
    if unknown:
        raise ValueError(f"{grc.name}: blocks that GNU Radio does not know: {', '.join(unknown)}")
    graph.rewrite()
    graph.validate()
    if not graph.is_valid():
        wrong = "; ".join(" ".join(str(message).split()) for _, message in graph.iter_error_messages())
        raise ValueError(f"{grc.name}: {wrong}")
    generator = platform.Generator(graph, str(out))
    generator.write()
    return Path(generator.file_path)


def main() -> int:
    """Compiles the files of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("grc", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for grc in arguments.grc:
        try:
            print(compiled(grc, arguments.out))
        except ValueError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
