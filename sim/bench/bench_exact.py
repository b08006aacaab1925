# SPDX-License-Identifier: GPL-2.0-or-later
"""What an EXACT router costs, and how far M1's and M2's rates are from the max-min optimum.

Cost: CPU time of one router as a share of a core, packets, allocations and hellos together, at 2 Mb/s of 1500-byte
packets (or a packet a second and flow, if that is more). Gap: largest |rate / optimum - 1| over the flows of chains of
1 to 10 hops and of 20 random meshes (30 nodes on 1 km x 1 km, 6 flows). The optimum is that of linear programs over the
sets of links that exclude each other (550 m). M2 is judged as an algorithm: routers know their positions and no link
waits for another. Beside it: over a medium whose links take turns, and without positions, where hops stand for
distance.
"""

import sys

from perhop.report import result_line
from perhop.study import exact_studies
from rich.console import Console
from rich.table import Table

TEN_FLOWS_SHARE = 0.001
M2_GAP = 0.15


def main() -> int:
    """Return 0 when both bounds hold."""
    found = exact_studies.run("cost", "gap", "oscillation")
    cost, gap = found["cost"], found["gap"]
    console = Console(stderr=True, width=120)

    table = Table(title="Cost of a router")
    for heading in ("mode", "flows", "packets/s", "ns a packet", "us an allocation", "share of a core"):
        table.add_column(heading, justify="right")
    for mode, rows in cost.items():
        for flows, row in rows.items():
            cells = [f"{row['packets_per_s']:.0f}", f"{row['ns_per_packet']:.0f}", f"{row['us_per_allocation']:.1f}"]
            table.add_row(mode.upper(), flows, *cells, f"{row['cpu_share']:.4%}")
    console.print(table)

    names = {
        "m1": "M1, links take turns",
        "m2": "M2",
        "m2_exclusive": "M2, links take turns",
        "m2_hops": "M2, no positions",
    }
    table = Table(title="Largest gap to the max-min optimum")
    table.add_column("hops / mesh")
    for name in names.values():
        table.add_column(name, justify="right")
    for kind, label in (("chain_gaps", "{} hops"), ("mesh_gaps", "mesh {}")):
        for place in range(len(gap["m2"][kind])):
            table.add_row(label.format(place + 1), *(f"{gap[name][kind][place]:.1%}" for name in names))
    console.print(table)

    largest = {name: max(gap[name]["chain_gaps"] + gap[name]["mesh_gaps"]) for name in names}
    shares = {flows: max(cost[mode][flows]["cpu_share"] for mode in cost) for flows in cost["m2"]}
    packet_ns = {flows: max(cost[mode][flows]["ns_per_packet"] for mode in cost) for flows in cost["m2"]}
    ok = shares["10"] < TEN_FLOWS_SHARE and largest["m2"] <= M2_GAP
    result_line.print_result(
        "bench-exact",
        {
            "flows": {
                flows: {"ns_per_packet": round(packet_ns[flows], 1), "cpu_share": round(shares[flows], 7)}
                for flows in shares
            },
            "m1_gap": round(largest["m1"], 4),
            "m2_gap": round(largest["m2"], 4),
            "m2_gap_links_take_turns": round(largest["m2_exclusive"], 4),
            "m2_gap_without_positions": round(largest["m2_hops"], 4),
            "gaps": gap,
            "cost": cost,
            "oscillation": found["oscillation"],
            "ok": ok,
        },
    )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
