# SPDX-License-Identifier: GPL-2.0-or-later
"""How docs/kernel_transports.md writes its figures."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_cells import Gain
from perhop.study.summaries import Mean

LINE_CHARACTERS = 120


def kbps(value: Mean | None) -> str:
    if value is None:
        return "-"
    half = f" ± {value.half / 1e3:.0f}" if value.count > 1 else ""
    return f"{value.value / 1e3:.0f}{half}"


def ratio(value: Mean | None) -> str:
    return "-" if value is None else f"{value.value:.2f} ± {value.half:.2f}"


def milliseconds(value: Mean | None) -> str:
    return "-" if value is None else f"{value.value:.0f}"


def parts(megabytes: Mapping[str, float]) -> str:
    """Of a kernel's memory, in the order of their names in `kernel_costs`."""
    return ", ".join(f"{value:.2f}" for value in megabytes.values())


def marked(found: Gain) -> str:
    """The goodput that a policy gives, bold where the policy helps, slanted where it costs goodput."""
    mark = "**" if found.helps else "_" if found.costs else ""
    return f"{mark}{ratio(found.goodput)}{mark}"
