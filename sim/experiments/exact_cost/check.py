# SPDX-License-Identifier: GPL-2.0-or-later
"""What an EXACT router costs at 10, 100 and 1000 flows, on this machine (rows E-10, X-18, X-19)."""

from __future__ import annotations

from pathlib import Path

from perhop.study import exact_studies
from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results

PROGRAMS = (exact_studies.PROGRAM,)
PAPER_SHARE = 0.04
OWN_SHARE = 0.001


def check(results: Results | None, folder: Path) -> Check:
    """CPU time of packets, allocations and hellos together, as a share of a core."""
    cost = exact_studies.run("cost")["cost"]
    lines = [
        f"{mode.upper()}, {flows} flows at {row['packets_per_s']:.0f} "
        f"packets/s: {row['ns_per_packet']:.0f} ns a packet, "
        f"{row['us_per_allocation']:.1f} us an allocation, {row['cpu_share']:.4%} of a core, "
        f"{row['state_bytes'] / 1024:.0f} KiB of state"
        for mode, rows in cost.items()
        for flows, row in rows.items()
    ]
    ten = max(rows["10"]["cpu_share"] for rows in cost.values())
    packet_ns = max(rows["10"]["ns_per_packet"] for rows in cost.values())
    router = RowVerdict(
        "pass" if ten < PAPER_SHARE and ten < OWN_SHARE else "fail",
        f"{ten:.4%} of a core at 10 flows and 2 Mb/s (below {PAPER_SHARE:.0%} wanted), {packet_ns:.0f} ns a packet",
    )
    rows = {"E-10": router, "X-18": router, "X-19": scaling(cost)}
    return Check(all(row.verdict == "pass" for row in rows.values()), lines, {"cost": cost}, rows=rows)


def scaling(cost: dict[str, dict[str, dict[str, float]]]) -> RowVerdict:
    """Cost and state, by mode and number of flows."""
    most = max(rows["1000"]["cpu_share"] for rows in cost.values())
    return RowVerdict(
        "pass" if most < PAPER_SHARE else "fail",
        "share of a core at 10, 100, 1000 flows: "
        + "; ".join(
            f"{mode.upper()} " + ", ".join(f"{row['cpu_share']:.4%}" for row in rows.values())
            for mode, rows in cost.items()
        )
        + "; packets stay at a constant cost, allocations grow with the flows; KiB of state, which has room for 1024 "
        + "flows from the start: "
        + "; ".join(
            f"{mode.upper()} " + ", ".join(f"{row['state_bytes'] / 1024:.0f}" for row in rows.values())
            for mode, rows in cost.items()
        ),
    )
