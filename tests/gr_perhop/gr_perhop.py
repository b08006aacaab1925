# SPDX-License-Identifier: GPL-2.0-or-later
"""`make gr-perhop`: the blocks as an out-of-tree module: built, tested, installed, and found by Companion.

The module is installed as `make install` does, into /usr/local of a mount namespace, which is empty there and gone
afterwards. In it, without any variable that names a folder, Python imports the package, Companion's library has each
block, and the window of Companion is photographed with them (out/gr-perhop/companion.png, under Xvfb). Needs root, or
user namespaces. Where dist holds a wheel, its extra `gnuradio` is tried, too, with Debian's GNU Radio.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import extra
from perhop.report.result_line import print_result

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "gr-perhop"
BUILD = OUT / "build"
INSIDE = Path(__file__).with_name("inside.py")
EXTRA = Path(__file__).with_name("extra.py")
PYTHON = "/usr/bin/python3"  # GNU Radio is Debian's, and so is its Python
INSTALL = f"""
set -e
mount -t tmpfs tmpfs /usr/local
make -s -C "$1" install > "$2/install.log"
cd /
exec env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$2/home" LANG=C.UTF-8 {PYTHON} "$3" "$2"
"""


def step(name: str, *command: str | Path, log: Path) -> bool:
    """A command whose output goes to a file; says where it failed."""
    print(f"{name} ...", flush=True)
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "GRC_BLOCKS_PATH")}
    with log.open("w") as sink:
        done = subprocess.run(list(map(str, command)), stdout=sink, stderr=subprocess.STDOUT, env=env, check=False)
    if done.returncode != 0:
        print(f"{name} failed, see {log.relative_to(ROOT)}:\n{log.read_text()[-2000:]}", file=sys.stderr)
    return done.returncode == 0


def extra_of(wheel: Path) -> dict[str, Any]:
    """What extra.py tells of a wheel's extra for GNU Radio, and whether it is as it must be."""
    place = OUT / "extra"
    place.mkdir(parents=True, exist_ok=True)
    print(f"the extra of {wheel.name} ...", flush=True)
    variables = extra.installed(wheel, place)
    command = [str(place / "environment/bin/python"), str(EXTRA), str(place)]
    done = subprocess.run(command, cwd=place, env=variables, capture_output=True, text=True, check=False)
    (OUT / "extra.log").write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        print(f"the extra failed, see out/gr-perhop/extra.log:\n{(done.stdout + done.stderr)[-2000:]}", file=sys.stderr)
        return {"good": False}
    told = json.loads((place / "extra.json").read_text())
    ran = told["loopback"] is not None and told["loopback"]["whole"] == extra.FRAMES
    return {**told, "good": ran and not told["missing"] and bool(told["blocks"])}


def main() -> int:
    """0 if all of it is as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--modules", type=Path, help="folder with modem.*.so and station.*.so that are built already")
    arguments = parser.parse_args()
    modules = arguments.modules.resolve() if arguments.modules else ""
    (OUT / "home").mkdir(parents=True, exist_ok=True)
    configure = ["cmake", "-S", ROOT / "flowgraphs", "-B", BUILD, f"-DPERHOP_MODULES={modules}"]
    result: dict[str, object] = {"qa": {}, "blocks": [], "missing": [], "screenshot": None}
    good = step("configure", *configure, log=OUT / "configure.log")
    good = good and step("build", "make", "-C", BUILD, f"-j{arguments.jobs}", log=OUT / "build.log")
    if good:
        good = step("QA", "ctest", "--test-dir", BUILD, "--output-on-failure", log=OUT / "qa.log")
        outcomes = re.findall(r"Test +#\d+: (\S+) \.+ *(\**\w+)", (OUT / "qa.log").read_text())
        result["qa"] = {name: "pass" if outcome == "Passed" else "fail" for name, outcome in outcomes}
        good = good and bool(outcomes)
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        unshare = ["unshare", "--mount", *user, "bash", "-c", INSTALL, "install", BUILD, OUT, INSIDE]
        shown = step("install, and look with Companion", *unshare, log=OUT / "companion.log")
        good = good and shown
        if shown:
            result |= json.loads((OUT / "inside.json").read_text())
            good = good and not result["missing"] and bool(result["blocks"])
            print(f"Companion has {len(result['blocks'])} blocks: {OUT.relative_to(ROOT)}/companion.png", flush=True)
    wheels = list((ROOT / "dist").glob("perhop-*.whl"))
    result["extra"] = extra_of(wheels[0]) if len(wheels) == 1 else None
    if result["extra"] is None:
        print("the wheel's extra is not tried: dist holds no wheel (`make wheel`)", flush=True)
    else:
        good = good and result["extra"]["good"]
    print_result("gr-perhop", result)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
