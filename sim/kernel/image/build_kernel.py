# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds the kernel of User-Mode Linux that runs of the backend `kernel` use: out/kernel/linux (`make kernel`).

From Debian's source package at the version of source.yaml, with kernel.config, without a patch and without root:
packages are downloaded and unpacked, not installed. The image is the same on every machine with the same compiler. Ends
with one RESULT line.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml
from perhop import paths
from perhop.errors import PerhopError
from perhop.experiment.program import hash_of, joint_hash
from perhop.kernel import image

HERE = Path(__file__).resolve().parent
# The kernel writes when, by whom and where it was built into itself.
SAME_EVERYWHERE = {
    "KBUILD_BUILD_TIMESTAMP": "2023-11-14 22:13:20 UTC",
    "KBUILD_BUILD_USER": "perhop",
    "KBUILD_BUILD_HOST": "perhop",
    "KBUILD_BUILD_VERSION": "1",
}
LOG_LINES = 15


class Work:
    """The folder of a build, and its log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packages = folder / "packages"
        self.unpacked = folder / "unpacked"
        self.tools = folder / "tools"
        self.log = folder / "build.log"
        for made in (self.packages, self.unpacked, self.tools):
            made.mkdir(parents=True, exist_ok=True)
        self.log.unlink(missing_ok=True)

    def run(self, what: str, command: list[str], cwd: Path | None = None, **more: str) -> None:
        """Raises PerhopError with the end of the log."""
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"\n$ {' '.join(command)}\n")
            log.flush()
            try:
                done = subprocess.run(
                    command,
                    cwd=cwd,
                    env={**os.environ, **more},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    check=False,
                )
            except OSError as error:
                raise PerhopError(f"{command[0]} cannot be run ({error.strerror})", "this needs Debian 12") from None
        if done.returncode != 0:
            said = "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:])
            raise PerhopError(f"{what} failed:\n{said}", f"look at {paths.shown(self.log)}")


def fetch(work: Work, source: dict[str, Any]) -> Path:
    """The source package, as it was pinned."""
    file = work.packages / f"{source['package']}_{source['version']}_all.deb"
    if not file.exists():
        pinned = f"{source['package']}={source['version']}"
        try:
            work.run(f"downloading {pinned}", ["apt-get", "download", "-q", pinned], cwd=work.packages)
        except PerhopError as error:
            raise PerhopError(
                error.problem,
                f"run `apt-get update`; or take {file.name} from snapshot.debian.org and "
                f"put it into {paths.shown(work.packages)}",
            ) from None
    found = hash_of(file)
    if found != source["sha256"]:
        file.unlink()
        raise PerhopError(
            f"{file.name} has the hash {found}, not that of source.yaml",
            "try again; or mend that file",
        )
    return file


def tool_environment(work: Work, tools: dict[str, list[str]]) -> dict[str, str]:
    """What the build needs beside a compiler: of the machine, or else unpacked."""
    missing = [package for tool, packages in tools.items() if shutil.which(tool) is None for package in packages]
    for package in missing:
        if not list(work.packages.glob(f"{package}_*.deb")):
            work.run(f"downloading {package}", ["apt-get", "download", "-q", package], cwd=work.packages)
        file = next(work.packages.glob(f"{package}_*.deb"))
        work.run(f"unpacking {file.name}", ["dpkg", "-x", str(file), str(work.tools)])
    if not missing:
        return {}
    usr = work.tools / "usr"
    found = {"PATH": f"{usr / 'bin'}:{os.environ['PATH']}", "BISON_PKGDATADIR": str(usr / "share/bison")}
    return found | ({"M4": str(usr / "bin/m4")} if "m4" in missing else {})


def check_configuration(made: Path, fragment: Path) -> None:
    """Kconfig drops what it does not know, or what something else rules out, without a word. Raises PerhopError."""
    has = set(made.read_text(encoding="utf-8").splitlines())
    wanted = [line for line in fragment.read_text(encoding="utf-8").splitlines() if line.startswith("CONFIG_")]
    dropped = [line for line in wanted if line not in has]
    if dropped:
        raise PerhopError(f"Kconfig has dropped {', '.join(dropped)}", f"mend {paths.shown(fragment)}")


def build(source: dict[str, Any], fragment: Path, jobs: int) -> None:
    folder = image.folder()
    work = Work(folder)
    package = fetch(work, source)
    environment = {**SAME_EVERYWHERE, **tool_environment(work, source["tools"])}
    work.run("unpacking the source package", ["dpkg", "-x", str(package), str(work.unpacked)])
    work.run("unpacking the source", ["tar", "-xf", str(work.unpacked / source["archive"]), "-C", str(work.unpacked)])
    tree = work.unpacked / source["folder"]
    compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
    make = ["make", "ARCH=um", f"CC={compiler}", f"-j{jobs}"]
    work.run("configuring", [*make, "allnoconfig", f"KCONFIG_ALLCONFIG={fragment}"], cwd=tree, **environment)
    check_configuration(tree / ".config", fragment)
    work.run("building", [*make, "linux"], cwd=tree, CCACHE_BASEDIR=str(tree), **environment)
    work.run("stripping", ["strip", "-o", str(folder / "linux.new"), str(tree / "linux")])
    (folder / "linux.new").replace(image.file())
    work.run("removing the source", ["rm", "-rf", str(work.unpacked)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    jobs = parser.parse_args().jobs
    begun = time.monotonic()
    fragment, pinned = HERE / "kernel.config", HERE / "source.yaml"
    source = yaml.safe_load(pinned.read_text(encoding="utf-8"))
    of = joint_hash([hash_of(fragment), hash_of(pinned)])
    try:
        known = image.described()
        current = known.get("of") == of and image.file().exists() and hash_of(image.file()) == known.get("sha256")
        if not current:
            print(f"building {source['package']} {source['version']} (some minutes)", flush=True)
            build(source, fragment, jobs)
            known = {"of": of, "version": source["version"], "sha256": hash_of(image.file())}
            image.description().write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    except PerhopError as error:
        print(error, file=sys.stderr)
        return 1
    result = {
        "target": "kernel",
        "image": paths.shown(image.file()),
        "version": known["version"],
        "sha256": known["sha256"],
        "bytes": image.file().stat().st_size,
        "built": not current,
        "build_s": round(time.monotonic() - begun, 1),
    }
    (image.folder() / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print("RESULT " + json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
