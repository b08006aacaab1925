# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the kernel of User-Mode Linux is, which `make kernel` builds; PERHOP_KERNEL names another one."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from perhop import paths
from perhop.errors import PerhopError

PROGRAM = "perhop-kernel"
VARIABLE = "PERHOP_KERNEL"
MACHINE = "x86_64"


def folder() -> Path:
    return paths.repository() / "out" / "kernel"


def file() -> Path:
    override = os.environ.get(VARIABLE)
    return Path(override).resolve() if override else folder() / "linux"


def description() -> Path:
    """Of what the image in folder() was built."""
    return folder() / "kernel.json"


def described() -> dict[str, Any]:
    try:
        told = json.loads(description().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def check() -> Path:
    """The image. Raises PerhopError where there is none, or where none can run."""
    if sys.platform != "linux" or platform.machine() != MACHINE:
        raise PerhopError(
            f"kernels in virtual time run on Linux on {MACHINE}, and this is {sys.platform} on {platform.machine()}",
            "use --backend sim",
        )
    image = file()
    if not (image.is_file() and os.access(image, os.X_OK)):
        remedy = f"mend {VARIABLE}" if os.environ.get(VARIABLE) else "run `make kernel` (some minutes, once)"
        raise PerhopError(f"there is no kernel at {paths.shown(image)}", f"{remedy}, or use --backend sim")
    return image
