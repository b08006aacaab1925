# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds dist/perhop_VERSION_amd64.deb of the wheel in dist and of the Python packages of .venv that it needs.

Debian 12 has several of them not at all or too old, so the package brings them along, in an environment of its own for
Debian's Python: /usr/lib/perhop. Nothing is fetched. Afterwards the package is tried: lintian's errors, then, in a
mount namespace (root) that sees the package's files and not the checkout, an experiment, a man page and completion.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.metadata
import os
import shutil
import subprocess
import sys
import zipfile
from email.utils import formatdate
from pathlib import Path

import man_pages
from packaging.requirements import Requirement
from perhop import __version__
from perhop.wireshark import EXTCAP, extcap_script
from typer.completion import get_completion_script

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
WORK = ROOT / "out" / "deb"
STAGE = WORK / "root"
HOME = Path("/usr/lib/perhop")
PYTHON = HOME / "bin" / "python3"
# Of Debian 12: compiled packages of .venv are for it.
PYTHON_VERSION = "3.11"
WIRESHARK = Path("/usr/lib/x86_64-linux-gnu/wireshark")
LAUNCHER = f"""\
#!{PYTHON} -I
import sys

from perhop.cli import main

sys.exit(main())
"""
CONTROL = """\
Package: perhop
Version: {version}
Architecture: amd64
Maintainer: {maintainer}
Installed-Size: {installed_kib}
Depends: {depends}
Recommends: iproute2
Suggests: tshark, iperf3, babeld
Section: net
Priority: optional
Description: 802.11-like MAC that measures what every packet costs on every hop
 Simulators of networks whose every node is the Verilated gateware of an FPGA's
 MAC, with TCP policies that act on the measured delays; live networks of
 Linux namespaces over the same MACs; reports, captures and metrics.
"""


def wheel() -> Path:
    """The wheel in dist. Raises SystemExit."""
    found = sorted(DIST.glob(f"perhop-{__version__}-*.whl"))
    if not found:
        raise SystemExit(f"there is no wheel of {__version__} in {DIST.name}: run `make deb`, which builds one")
    return found[-1]


def needed(wheel_file: Path) -> list[importlib.metadata.Distribution]:
    """What the wheel needs and what that needs, as it is installed in .venv."""
    with zipfile.ZipFile(wheel_file) as opened:
        name = next(each for each in opened.namelist() if each.endswith(".dist-info/METADATA"))
        lines = opened.read(name).decode().splitlines()
    todo = [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist: ")]
    found: dict[str, importlib.metadata.Distribution] = {}
    while todo:
        requirement = Requirement(todo.pop())
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        distribution = importlib.metadata.distribution(requirement.name)
        if not requirement.specifier.contains(distribution.version, prereleases=True):
            raise SystemExit(f".venv has {requirement.name} {distribution.version}, and {requirement} is needed")
        if distribution.name.lower() not in found:
            found[distribution.name.lower()] = distribution
            todo += distribution.requires or []
    return list(found.values())


def environment(wheel_file: Path) -> None:
    """/usr/lib/perhop: a virtual environment of Debian's Python with all packages."""
    home = staged(HOME)
    site = home / "lib" / f"python{PYTHON_VERSION}" / "site-packages"
    site.mkdir(parents=True)
    (home / "bin").mkdir()
    (home / "bin" / "python3").symlink_to(f"/usr/bin/python{PYTHON_VERSION}")
    (home / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    with zipfile.ZipFile(wheel_file) as opened:
        for member in opened.infolist():
            target = Path(opened.extract(member, site))
            if target.is_file():
                # Programs are executable in the wheel, too, and so are libraries, which Debian's are not.
                program = member.external_attr >> 16 & 0o111 and ".so" not in target.suffixes
                target.chmod(0o755 if program else 0o644)
    for distribution in needed(wheel_file):
        for file in distribution.files or []:
            # What lies elsewhere are programs, and of them perhop calls none.
            if ".." in file.parts or "__pycache__" in file.parts:
                continue
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file.locate(), target)
            if ".so" in target.suffixes:
                target.chmod(0o644)


def beside() -> None:
    """The command, its man pages and completion, and what Wireshark gets."""
    executable(staged(Path("/usr/bin/perhop")), LAUNCHER)
    man_pages.write(staged(Path("/usr/share/man/man1")))
    for shell, place in (
        ("bash", "/usr/share/bash-completion/completions/perhop"),
        ("zsh", "/usr/share/zsh/vendor-completions/_perhop"),
    ):
        script = get_completion_script(prog_name="perhop", complete_var="_PERHOP_COMPLETE", shell=shell)
        target = staged(Path(place))
        target.parent.mkdir(parents=True)
        target.write_text(script + "\n")
    executable(staged(WIRESHARK / "extcap" / EXTCAP), extcap_script(str(PYTHON)))
    plugin = staged(WIRESHARK / "plugins" / "perhop.lua")
    plugin.parent.mkdir(parents=True)
    plugin.symlink_to(HOME / f"lib/python{PYTHON_VERSION}/site-packages/perhop/wireshark/perhop.lua")


def documents(version: str, maintainer: str) -> None:
    folder = staged(Path("/usr/share/doc/perhop"))
    folder.mkdir(parents=True)
    (folder / "copyright").write_text(
        "perhop's own files are under the GNU General Public License, version 2 or later:\n"
        "/usr/share/common-licenses/GPL-2 has its text. Each Python package in /usr/lib/perhop has its licence in\n"
        "its folder NAME.dist-info.\n"
    )
    entry = f"perhop ({version}) bookworm; urgency=medium\n\n  * See CHANGELOG.md of the source.\n\n"
    entry += f" -- {maintainer}  {formatdate(usegmt=False)}\n"
    (folder / "changelog.gz").write_bytes(gzip.compress(entry.encode(), mtime=0))


def depends() -> str:
    """Debian's libraries that perhop's own programs need, by dpkg-shlibdeps, and the Python that all is for."""
    (WORK / "debian").mkdir(exist_ok=True)
    (WORK / "debian" / "control").write_text("Source: perhop\n\nPackage: perhop\nArchitecture: amd64\n")
    package = staged(HOME) / f"lib/python{PYTHON_VERSION}/site-packages"
    brought = [folder for folder in (package / "perhop" / "lib", package / "perhop.libs") if folder.is_dir()]
    programs = [f"-e{file}" for file in (package / "perhop" / "bin").iterdir()]
    command = ["dpkg-shlibdeps", "-O", "--ignore-missing-info", *(f"-l{folder}" for folder in brought), *programs]
    done = subprocess.run(command, cwd=WORK, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"dpkg-shlibdeps fails:\n{done.stderr}")
    libraries = done.stdout.strip().partition("shlibs:Depends=")[2]
    major, minor = PYTHON_VERSION.split(".")
    return f"{libraries}, python{PYTHON_VERSION}, python3 (>= {PYTHON_VERSION}), python3 (<< {major}.{int(minor) + 1})"


def maintainer() -> str:
    """Who builds: DEBFULLNAME and DEBEMAIL, as Debian's tools have it, or git's user."""

    def git(field: str) -> str:
        command = ["git", "config", f"user.{field}"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    name = os.environ.get("DEBFULLNAME") or git("name") or "unknown"
    return f"{name} <{os.environ.get('DEBEMAIL') or git('email') or 'root@localhost'}>"


def staged(place: Path) -> Path:
    return STAGE / place.relative_to("/")


def executable(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def build() -> Path:
    shutil.rmtree(WORK, ignore_errors=True)
    STAGE.mkdir(parents=True)
    STAGE.chmod(0o755)
    wheel_file = wheel()
    version, by = __version__, maintainer()
    os.umask(0o022)
    environment(wheel_file)
    beside()
    documents(version, by)
    installed = sum(file.lstat().st_size for file in STAGE.rglob("*"))
    control = CONTROL.format(version=version, maintainer=by, installed_kib=installed // 1024, depends=depends())
    (STAGE / "DEBIAN").mkdir()
    (STAGE / "DEBIAN" / "control").write_text(control)
    target = DIST / f"perhop_{version}_amd64.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "-z3", "--build", str(STAGE), str(target)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return target


# $1: the checkout, $2: what the package has unpacked to. In a mount namespace of its own, as root of it.
TRIAL = r"""
set -e
M=$(mktemp -d)
mount -t tmpfs none "$M"
cp -a "$2" "$M/package"
mkdir "$M/empty"
mount --bind "$M/package/usr/lib/perhop" /usr/lib/perhop
mount --bind "$M/empty" "$1"
cd "$M"
P=$M/package/usr/bin/perhop
$P run chain --quick --jobs 1 --out "$M/trial" --json > /dev/null
test -s "$M/trial/report.html"
man -l $M/package/usr/share/man/man1/perhop-run.1.gz | grep -q -- --scheduler
. $M/package/usr/share/bash-completion/completions/perhop
COMP_WORDS=(perhop imp) COMP_CWORD=1
_perhop_completion $P
test "${COMPREPLY[*]}" = import
$M/package/usr/lib/x86_64-linux-gnu/wireshark/extcap/perhop-extcap --extcap-interfaces | grep -q perhop-sim
"""


def look(package: Path) -> list[str]:
    """What lintian calls an error, and what does not work where the package is unpacked. [] where all is well."""
    faults = []
    if shutil.which("lintian"):
        # As root it must be told; packages that bring others' files along have embedded libraries and scripts.
        command = ["lintian", "--allow-root", "--fail-on", "none", "--suppress-tags", ",".join(EXPECTED), str(package)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        (WORK / "lintian.txt").write_text(done.stdout + done.stderr)
        faults += [line for line in done.stdout.splitlines() if line.startswith("E: ")]
    else:
        print("lintian is not installed (Debian's package lintian): its look is left out")
    if os.geteuid() != 0:
        print("the trial needs root, for mounts of its own: it is left out")
        return faults
    unpacked = WORK / "unpacked"
    subprocess.run(["dpkg-deb", "-x", str(package), str(unpacked)], check=True)
    # A place to mount it at, where no package is installed.
    made = not HOME.exists()
    HOME.mkdir(exist_ok=True)
    command = ["unshare", "-m", "bash", "-c", TRIAL, "trial", str(ROOT), str(unpacked)]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    if made:
        HOME.rmdir()
    if done.returncode != 0:
        faults.append(f"the trial failed: {(done.stdout + done.stderr)[-2000:]}")
    return faults


# Tags that a package of brought-along Python packages cannot avoid.
EXPECTED = (
    "embedded-library",
    "custom-library-search-path",
    "unstripped-binary-or-object",
    "no-manual-page",
    # perhop's own environment has its own path to Python.
    "wrong-path-for-interpreter",
    # Modules of NumPy and SciPy that call nothing of the C library.
    "library-not-linked-against-libc",
)


def main() -> int:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    package = build()
    print(f"{package.relative_to(ROOT)}  {package.stat().st_size / 1e6:.1f} MB")
    faults = look(package)
    print("\n".join(faults) or "the package was looked at and tried: no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
