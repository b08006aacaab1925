# SPDX-License-Identifier: GPL-2.0-or-later
"""`make wheel`: what `make` has built is installed where there is no checkout and no compiler, and makes the same runs.

The wheel goes into an empty environment of each Python that is here, without root's rights (but for a Python that only
root may run), in a mount namespace in which the checkout is an empty folder and every compiler an empty file, with
nothing on PATH but that environment. There `perhop run chain` must give, run by run, the hashes of the checkout's
program. Bounds: a wheel of 60 MB; 60 s from nothing to the report, downloads apart; a run in a thousand steps takes at
most twice the CPU time of one in one step.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from perhop.report.result_line import print_result

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "wheel"
INSIDE = Path(__file__).with_name("inside.py")
COMPILERS = "gcc g++ cc c++ cpp clang clang++ ld as cmake ninja make ccache verilator"
MOST_BYTES = 60_000_000
MOST_S = 60.0
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")
VERSIONS = ("3.11", "3.12", "3.13")

# $1: the checkout, $2: an empty folder, then the command. In a mount namespace of its own, as root of it.
HIDE = rf"""
mount --bind "$2" "$1"
for name in {COMPILERS}; do
  for file in /usr/bin/$name /usr/bin/$name-* /usr/bin/*-linux-gnu-$name* /usr/local/bin/$name; do
    if [ -f "$file" ]; then mount --bind /dev/null "$(readlink -f "$file")" 2>/dev/null || true; fi
  done
done
shift 2
exec "$@"
"""


def hashes(folder: Path) -> dict[str, str]:
    """The hash of the transmissions of each run in an output folder, by its label."""
    results = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("runs/*/result.json")]
    return {result["label"]: result["trace_hash"] for result in results}


def of_checkout(jobs: int) -> dict[str, str]:
    """What the checkout's own program gives; finished runs of it are kept."""
    out = OUT / "checkout"
    command = [str(Path(sys.executable).with_name("perhop")), "run", "chain", "--jobs", str(jobs), "--out", str(out)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the checkout cannot run chain:\n{done.stdout}")
    return hashes(out)


def pythons(versions: Iterable[str]) -> dict[str, str]:
    """The Pythons of this machine that the wheel is for, by version; the system's is among them, and pyenv's are."""
    found = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in versions:
        name = f"python{version}"
        # pyenv's own are asked before its shims, which may be on PATH and know of another version only.
        places = ["/usr/bin:/usr/local/bin", *map(str, sorted(pyenv.glob(f"{version}.*/bin"))), os.environ["PATH"]]
        if (python := next(filter(None, (shutil.which(name, path=place) for place in places)), None)) is None:
            continue
        # Behind a name there may be a program that chooses by the folder it is called in.
        asked = [python, "-c", "import sys; print(sys._base_executable)"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found[version] = done.stdout.strip()
    return found


def may_run(python: str) -> bool:
    """Whether a user without rights may: a Python in root's home is root's alone."""
    return subprocess.run([*AS_NOBODY, python, "-c", ""], capture_output=True, check=False).returncode == 0


def try_wheel(wheel: Path, python: str, jobs: int) -> dict[str, Any]:
    """What inside.py found, with the seconds that its packages took to fetch, and the hashes of its runs."""
    with tempfile.TemporaryDirectory(prefix="perhop-wheel-") as folder:
        place = Path(folder)
        for name in ("empty", "home", "packages", "work"):
            (place / name).mkdir()
        shutil.copy2(wheel, place / "packages")
        shutil.copy2(INSIDE, place)
        begun_s = time.monotonic()
        fetched = ["-m", "pip", "download", "-q", "--only-binary", ":all:", "-d", str(place / "packages"), str(wheel)]
        subprocess.run([python, *fetched], check=True, stdin=subprocess.DEVNULL)
        download_s = time.monotonic() - begun_s
        inside = [python, str(place / "inside.py"), str(place), "--jobs", str(jobs)]
        apart = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
        if not os.geteuid() and may_run(python):
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(place)], check=True)
            inside = [*AS_NOBODY, *inside]
        done = subprocess.run(
            [*apart, "/bin/sh", "-ec", HIDE, "sh", str(ROOT), str(place / "empty"), *inside],
            cwd=place / "work",
            env={"HOME": str(place / "home"), "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            check=False,
        )
        told = place / "told.json"
        if not told.is_file():
            raise SystemExit(f"{wheel.name} with {python}: the trial ended with {done.returncode} and said nothing")
        return {
            **json.loads(told.read_text(encoding="utf-8")),
            "download_s": round(download_s, 1),
            "hashes": hashes(place / "work" / "out" / "runs" / "chain"),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--python", action="append", choices=VERSIONS, help="only with this version")
    arguments = parser.parse_args()
    wheels = list((ROOT / "dist").glob("perhop-*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"dist holds {len(wheels)} wheels, and must hold one: host/wheel/build.py makes it")
    (wheel,) = wheels
    size_bytes = wheel.stat().st_size
    wrong = [] if size_bytes <= MOST_BYTES else [f"the wheel has {size_bytes} bytes, more than {MOST_BYTES}"]
    expected = of_checkout(arguments.jobs)
    tried = pythons(arguments.python or VERSIONS)
    told = {version: try_wheel(wheel, python, arguments.jobs) for version, python in tried.items()}
    verdicts = {}
    for version, trial in told.items():
        different = [label for label in expected if trial["hashes"].get(label) != expected[label]]
        problems = [*trial["problems"], *(f"another hash: {label}" for label in different[:5])]
        if trial["seconds"] > MOST_S:
            problems.append(f"{trial['seconds']} s from nothing to the report are more than {MOST_S:g}")
        verdicts[version] = "fail" if problems else "pass"
        wrong += [f"Python {version}: {problem}" for problem in problems]
        steps = ", ".join(f"{name} {took_s} s" for name, took_s in trial["steps"].items())
        took = f"{trial['seconds']} s ({trial['cpu_s']} s of CPU) to the report"
        print(f"Python {version}: {took}; {steps}; download {trial['download_s']} s")
    for line in wrong:
        print(f"does not hold: {line}")
    result = {
        "bytes": size_bytes,
        "same_hashes": all(trial["hashes"] == expected for trial in told.values()),
        "smoke_s": max(trial["seconds"] for trial in told.values()),
        "smoke_cpu_s": max(trial["cpu_s"] for trial in told.values()),
        "download_s": max(trial["download_s"] for trial in told.values()),
        "stepped_cpu_ratio": max((trial["stepped"] for trial in told.values() if trial["stepped"]), default=None),
        "runs": len(expected),
        "pythons": verdicts,
        "as_root": [version for version, trial in told.items() if trial["root"]],
        "wheel": str(wheel.relative_to(ROOT)),
        "does_not_hold": wrong,
    }
    print_result("wheel", result)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
