# SPDX-License-Identifier: GPL-2.0-or-later
"""Where gr-perhop is installed and nothing says where: what Python and Companion find of it. For gr_perhop.py."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from waiting import wait_until

LONGEST_S = 600
LOOK_S = 4  # between two looks at a window that may still be drawn
DISPLAY = ":87"
WINDOW = r"\.grc"  # the title begins with the name of the flowgraph
INSTALLED = Path("/usr/local")


def companion() -> Any:
    """Companion without its window, with its library of blocks."""
    from gnuradio import gr
    from gnuradio.grc.core.platform import Platform

    parts = (gr.major_version(), gr.api_version(), gr.minor_version())
    platform = Platform(name="inside", prefs=gr.prefs(), version=gr.version(), version_parts=parts)
    platform.build_library()
    return platform


def of_companion() -> dict[str, bool]:
    """The blocks of perhop that Companion's library has, by their keys: whether it could read them."""
    platform = companion()
    return {key: key in platform.block_classes for key in platform.blocks if key.startswith("perhop_")}


def shown(name: str) -> str:
    """The visible window whose title has the words; empty if there is none."""
    found = subprocess.run(
        ["xdotool", "search", "--onlyvisible", "--name", name], capture_output=True, text=True, check=False
    )
    return found.stdout.partition("\n")[0]


def quiet(picture: Path) -> bool:
    """Whether the screen stands still, and is not empty: two pictures in turn are one."""
    before = picture.read_bytes() if picture.is_file() else b""
    subprocess.run(["import", "-window", "root", "-strip", "png:" + str(picture)], check=True)
    return picture.read_bytes() == before


def picture(example: Path, out: Path) -> None:
    """Companion with an example of the module, and the blocks of perhop in its list."""
    out.unlink(missing_ok=True)
    os.environ["DISPLAY"] = DISPLAY
    screen = subprocess.Popen(["Xvfb", DISPLAY, "-screen", "0", "1600x1000x24"])
    try:
        wait_until(lambda: subprocess.run(["xdotool", "getdisplaygeometry"]).returncode == 0, LONGEST_S, "Xvfb", 0.5)
        companion = subprocess.Popen(["gnuradio-companion", str(example)])
        try:
            wait_until(lambda: shown(WINDOW), LONGEST_S, "Companion's window", LOOK_S)
            wait_until(lambda: quiet(out), LONGEST_S, "Companion to have drawn its window", LOOK_S)
            # There is no window manager that would give it the screen and the keyboard.
            window = shown(WINDOW)
            subprocess.run(["xdotool", "windowsize", window, "1600", "1000", "windowfocus", window], check=True)
            wait_until(lambda: quiet(out), LONGEST_S, "Companion to fill the screen", LOOK_S)
            # The search of the list of blocks: it shows those whose key has the word.
            subprocess.run(["xdotool", "key", "ctrl+f"], check=True)
            subprocess.run(["xdotool", "type", "--delay", "100", "perhop"], check=True)
            wait_until(lambda: quiet(out), LONGEST_S, "Companion to have searched", LOOK_S)
        finally:
            companion.terminate()
            companion.wait(timeout=LONGEST_S)
    finally:
        screen.terminate()
        screen.wait(timeout=LONGEST_S)


def main() -> int:
    """Writes inside.json."""
    out = Path(sys.argv[1])
    import perhop_gr

    assert Path(perhop_gr.__file__).is_relative_to(INSTALLED), perhop_gr.__file__
    wanted = {f"perhop_{name}" for name in perhop_gr.__all__}
    for name in perhop_gr.__all__:
        getattr(perhop_gr, name)
    found = of_companion()
    missing = sorted(wanted - {key for key, read in found.items() if read})
    picture(INSTALLED / "share/gr-perhop/examples/dsss_loopback.grc", out / "companion.png")
    said = {"blocks": sorted(found), "missing": missing, "screenshot": "out/gr-perhop/companion.png"}
    (out / "inside.json").write_text(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
