# SPDX-License-Identifier: GPL-2.0-or-later
"""The wheel's extra `gnuradio`, beside Debian's GNU Radio: what Companion finds of it, and whether an example runs.

`installed` makes an environment with it; called as a program, by that environment's Python, this writes extra.json.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "flowgraphs/examples"
FRAMES = 200


def installed(wheel: Path, place: Path) -> dict[str, str]:
    """An environment that has Debian's packages, too, with the wheel; the variables of a program that uses it."""
    environment = place / "environment"
    subprocess.run(
        ["/usr/bin/python3", "-m", "venv", "--clear", "--system-site-packages", str(environment)], check=True
    )
    subprocess.run([str(environment / "bin/pip"), "install", "-q", f"{wheel}[gnuradio]"], check=True)
    return {
        "PATH": f"{environment}/bin:/usr/bin:/bin",
        "GRC_BLOCKS_PATH": f"{environment}/share/gnuradio/grc/blocks",
        "HOME": str(place),
        "LANG": "C.UTF-8",
    }


def main() -> None:
    """Writes extra.json into the folder."""
    place = Path(sys.argv[1])
    sys.path.insert(0, str(HERE))
    import perhop_gr
    from gnuradio import gr
    from inside import companion, of_companion

    assert Path(perhop_gr.__file__).is_relative_to(sys.prefix), perhop_gr.__file__
    found = of_companion()
    wanted = {f"perhop_{name}" for name in perhop_gr.__all__}
    # The checkout's blocks, which run.py looks for beside its folder, are not to be found.
    examples = place / "examples"
    examples.mkdir(exist_ok=True)
    grc = shutil.copy(Path(sys.prefix) / "share/gr-perhop/examples/dsss_loopback.grc", examples)
    program = shutil.copy(EXAMPLES / "run.py", examples)
    platform = companion()
    graph = platform.make_flow_graph(str(grc))
    graph.rewrite()
    platform.Generator(graph, str(place)).write()
    command = [sys.executable, str(program), "dsss_loopback", f"frames={FRAMES}", "--compiled", str(place)]
    quiet = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(command, capture_output=True, text=True, env=quiet, check=False)
    (place / "loopback.log").write_text(done.stdout + done.stderr)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    told = {
        "gnuradio": gr.version(),
        "blocks": sorted(found),
        "missing": sorted(wanted - {key for key, read in found.items() if read}),
        "loopback": json.loads(lines[-1]) if done.returncode == 0 and lines else None,
    }
    (place / "extra.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
