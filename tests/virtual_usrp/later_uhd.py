# SPDX-License-Identifier: GPL-2.0-or-later
"""Installs the UHD of Debian 13, 4.8, in a system of its own below out/virtual-usrp: test_later_uhd.py runs it there.

Needs root, for debootstrap and chroot. It is made once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from bare_systems import StepError, bare_system, call  # noqa: E402

OUT = ROOT / "out" / "virtual-usrp"
RELEASE = "trixie"
SYSTEM = OUT / RELEASE
PACKAGES = ("uhd-host", "python3-uhd")


def missing() -> str:
    """Why that UHD cannot be run here; empty where it can."""
    if os.geteuid() != 0:
        return "it is in a system of its own, which only root may enter"
    if not (SYSTEM / "usr/bin/uhd_usrp_probe").exists():
        return f"there is no {SYSTEM.relative_to(ROOT)}: `make virtual-usrp` installs Debian 13's UHD there"
    return ""


def version() -> str:
    """Of that UHD."""
    return call(OUT / "later_uhd.log", "chroot", SYSTEM, "uhd_config_info", "--version").split()[-1]


def main() -> int:
    """Return 0 when it is there."""
    OUT.mkdir(parents=True, exist_ok=True)
    log = OUT / "later_uhd.log"
    try:
        bare_system(OUT, RELEASE, log)
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        call(log, "chroot", SYSTEM, "apt-get", "update", "-q", **quiet)
        install = ("apt-get", "install", "-y", "-q", "--no-install-recommends", *PACKAGES)
        call(log, "chroot", SYSTEM, *install, **quiet)
    except (StepError, OSError) as error:
        print(f"later_uhd: {error}", file=sys.stderr)
        return 1
    print(f"UHD {version()} is in {SYSTEM.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
