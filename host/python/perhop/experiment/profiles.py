# SPDX-License-Identifier: GPL-2.0-or-later
"""The timing profiles of gateware/spec, with errors for people who type their names."""

from __future__ import annotations

from perhop.errors import FieldError, choose_from
from perhop.registers import spec_generated as spec


def find(name: str) -> spec.TimingProfile:
    """The profile called `name`. Raises FieldError."""
    if name not in spec.PROFILES:
        raise FieldError(("mac", "profile"), f"is {name!r}, an unknown profile", choose_from(name, spec.PROFILES))
    return spec.PROFILES[name]


def rate_index(name: str, rate_mbps: float, field: tuple[str | int, ...] = ("mac", "data_rate_mbps")) -> int:
    """Index of the rate of `rate_mbps`, which `field` says, in the profile called `name`. Raises FieldError."""
    rates_mbps = [rate.bps / 1e6 for rate in find(name).rates]
    for index, known_mbps in enumerate(rates_mbps):
        if abs(known_mbps - rate_mbps) < 1e-9:
            return index
    listing = ", ".join(f"{known_mbps:g}" for known_mbps in rates_mbps)
    raise FieldError(field, f"is {rate_mbps:g}, which is no rate of {name}", f"use one of: {listing} (Mb/s)")
