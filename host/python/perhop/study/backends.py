# SPDX-License-Identifier: GPL-2.0-or-later
"""The backends by name: simulated (sim), that with Linux kernels (kernel), in namespaces in real time (live), on hosts
(radio)."""

from __future__ import annotations

from pathlib import Path

from perhop.errors import PerhopError, choose_from
from perhop.study.backend import NAMES, Backend, Sim


def choose(name: str, inventory: Path | None) -> Backend:
    """Raises PerhopError."""
    if name not in NAMES:
        raise PerhopError(f"there is no backend {name!r}", choose_from(name, NAMES))
    if name != "radio" and inventory is not None:
        raise PerhopError("--inventory is for --backend radio", "leave it out, or add --backend radio")
    # What a simulation does not need is not loaded for it.
    if name == "radio":
        from perhop.radio.backend import Radio

        return Radio(inventory)
    if name == "live":
        from perhop.realtime.live_backend import Live

        return Live()
    if name == "kernel":
        from perhop.kernel.backend import Kernel

        return Kernel()
    return Sim()
