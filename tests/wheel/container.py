# SPDX-License-Identifier: GPL-2.0-or-later
"""`make container`: host/wheel/Containerfile is built from the wheel in dist on bare Debian systems, and runs there.

The systems are made by debootstrap and stand for the images that the Containerfile names, since no registry of images
is asked. buildah builds in them as root, without a daemon. In each container, `perhop run chain --quick` must give the
hashes of the checkout's program, and there must be no compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from perhop.report.result_line import print_result
from wheel import hashes

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from bare_systems import StepError, bare_system, call  # noqa: E402

OUT = ROOT / "out" / "container"
CONTAINERFILE = ROOT / "host/wheel/Containerfile"
RELEASES = {"bookworm": "docker.io/library/debian:bookworm-slim", "trixie": "docker.io/library/debian:trixie-slim"}
COMPILERS = "gcc g++ cc c++ clang cmake make verilator"
NO_COMPILER = f"for name in {COMPILERS}; do ! command -v $name || exit 1; done"


class Store:
    """buildah with images and containers of its own."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def __call__(self, *words: str | Path) -> str:
        places = ["--root", OUT / "images", "--runroot", OUT / "images.run"]
        return call(self.log, "buildah", *places, *words, BUILDAH_ISOLATION="chroot").strip()

    def remove(self) -> None:
        self("rm", "--all")
        self("rmi", "--all", "--force")


def of_checkout(jobs: int) -> dict[str, str]:
    """What the checkout's own program gives; finished runs of it are kept."""
    out = OUT / "checkout"
    command = [Path(sys.executable).with_name("perhop"), "run", "chain", "--quick", "--jobs", str(jobs), "--out", out]
    call(OUT / "checkout.log", *command)
    return hashes(out)


def try_release(release: str, image: str, jobs: int) -> dict[str, Any]:
    """Builds the container and runs perhop in it: seconds, size, version of Python, hashes. Raises StepError."""
    log = OUT / f"{release}.log"
    log.unlink(missing_ok=True)
    root, store = bare_system(OUT, release, log), Store(log)
    store.remove()
    base = store("from", "scratch")
    store("add", "-q", base, root, "/")
    store("commit", "-q", "--rm", base, image)
    begun_s = time.monotonic()
    argument = f"BASE={image}"
    store("build", "--pull-never", "--build-arg", argument, "-t", "perhop", "-f", CONTAINERFILE, ROOT / "dist")
    build_s = time.monotonic() - begun_s
    config = json.loads(store("inspect", "--type", "image", "perhop"))["OCIv1"]["config"]
    container = store("from", "--pull-never", "perhop")
    inside = ["run", container, "--"]
    store(*inside, "sh", "-c", NO_COMPILER)
    begun_s = time.monotonic()
    # As whoever starts the container: its entry point, the folder that it says.
    store(*inside, *config["Entrypoint"], "run", "chain", "--quick", "--jobs", str(jobs))
    run_s = time.monotonic() - begun_s
    python = store(*inside, "python3", "-c", "import sys; print(*sys.version_info[:2], sep='.')")
    doctor = store(*inside, *config["Entrypoint"], "doctor", "--json")
    mounted = Path(store("mount", container))
    told = hashes(mounted / config["WorkingDir"].removeprefix("/") / "out/runs/chain")
    size_bytes = int(call(log, "du", "--summarize", "--block-size=1", mounted).split()[0])
    store.remove()
    return {
        "build_s": round(build_s, 1),
        "run_s": round(run_s, 1),
        "python": python,
        "bytes": size_bytes,
        "doctor": {each["feature"]: each["ok"] for each in json.loads(doctor)["features"]},
        "hashes": told,
    }


def main() -> int:
    """0 if perhop runs in every container as in the checkout, 1 if not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--release", action="append", choices=RELEASES, help="only this one")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("debootstrap and buildah's chroots need root")
    wheels = list((ROOT / "dist").glob("perhop-*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"dist holds {len(wheels)} wheels, and must hold one: `make container` builds it")
    OUT.mkdir(parents=True, exist_ok=True)
    expected = of_checkout(arguments.jobs)
    told: dict[str, dict[str, Any]] = {}
    wrong = []
    for release in arguments.release or RELEASES:
        try:
            trial = told[release] = try_release(release, RELEASES[release], arguments.jobs)
        except StepError as error:
            wrong.append(f"{release}: {error}")
            continue
        same = trial.pop("hashes") == expected
        trial["same_hashes"] = same
        if not same:
            wrong.append(f"{release}: the runs have other hashes than the checkout's")
        if not trial.pop("doctor")["simulations"]:
            wrong.append(f"{release}: perhop doctor says that simulations do not work")
        print(
            f"{release}, Python {trial['python']}: built in {trial['build_s']} s, {trial['bytes'] / 1e6:.0f} MB; "
            f"{len(expected)} runs and their report in {trial['run_s']} s",
            flush=True,
        )
    for line in wrong:
        print(f"does not hold: {line}")
    print_result("container", {"releases": told, "runs": len(expected), "does_not_hold": wrong})
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
