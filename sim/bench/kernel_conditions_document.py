# SPDX-License-Identifier: GPL-2.0-or-later
"""The section of docs/kernel_transports.md on what is beyond one flow over a clean chain (kernel_conditions.py)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import kernel_cells
import kernel_conditions
from kernel_conditions import Found
from kernel_words import LINE_CHARACTERS, kbps, marked, milliseconds, ratio

HEAD = "Several flows, meshes, errors, another reception rule"


def policies_of(found: Found) -> list[str]:
    """None first."""
    none = kernel_cells.label(kernel_cells.NONE)
    return [none, *(policy for policy in dict.fromkeys(key[2] for key in found.cells) if policy != none)]


def tcps_of(found: Found) -> list[str]:
    return list(dict.fromkeys(key[1] for key in found.cells))


def table(found: Found, tcp: str, policies: Sequence[str]) -> list[str]:
    """A TCP alone, then what each policy gives it, a row a condition."""
    known, gains = kernel_conditions.conditions(), found.gains()
    rows = []
    for name in dict.fromkeys(key[0] for key in found.cells if key[1] == tcp):
        alone = found.cells[name, tcp, policies[0]]
        cells = [
            ", ".join(
                (kbps(kernel_cells.goodput(alone)), milliseconds(kernel_cells.round_trip(alone)), *_fairness(alone))
            )
        ]
        for policy in policies[1:]:
            each = gains.get((name, tcp, policy))
            if each is None:
                cells.append("-")
                continue
            told = (marked(each), ratio(each.rtt), *_fairness(found.cells[name, tcp, policy]))
            cells.append(", ".join(told))
        rows.append(f"| {known[name].title} | {' | '.join(cells)} |")
    return rows


def _fairness(samples: Mapping[int, kernel_cells.Sample]) -> tuple[str, ...]:
    """Of several flows."""
    found = kernel_conditions.fairness(samples)
    return (f"{found.value:.2f}",) if found else ()


def lines(found: Found) -> list[str]:
    """For a person who waits."""
    told = []
    for tcp in tcps_of(found):
        told += [
            f"{tcp}: condition, alone, {', '.join(policies_of(found)[1:])}",
            *table(found, tcp, policies_of(found)),
        ]
    return told


def as_json(found: Found | None) -> dict[str, Any]:
    """Of the RESULT line: condition, TCP, policy."""
    rows: dict[str, Any] = {}
    if found is None:
        return rows
    gains = found.gains()
    for (name, tcp, policy), samples in found.cells.items():
        rtt, fairness = kernel_cells.round_trip(samples), kernel_conditions.fairness(samples)
        row = {
            "bps": round(kernel_cells.goodput(samples).value),
            "rtt_ms": round(rtt.value, 1) if rtt else None,
            "jain": round(fairness.value, 4) if fairness else None,
        }
        if (gained := gains.get((name, tcp, policy))) is not None:
            row["goodput"] = round(gained.goodput.value, 4)
            row["rtt"] = round(gained.rtt.value, 4) if gained.rtt else None
        rows.setdefault(name, {}).setdefault(tcp, {})[policy] = row
    return rows


def section(found: Found, measured_with: str) -> str:
    """What policies give each TCP beyond one flow over a clean chain."""
    policies = policies_of(found)
    head = " | ".join(["condition", "alone: kb/s, ms", *policies[1:]])
    tables = "\n".join(
        f"### {tcp}, Linux kernels in virtual time\n\n| {head} |\n|---{'|---' * len(policies)}|\n"
        f"{chr(10).join(table(found, tcp, policies))}\n"
        for tcp in tcps_of(found)
    )
    known = kernel_conditions.conditions()
    exact = "; ".join(
        f"{known[name].title} {', '.join((kbps(kernel_cells.goodput(samples)), *_fairness(samples)))}"
        for name, samples in found.exact.items()
    )
    about = (
        "Goodput is the sum of all flows, the round trip the mean of theirs; a third figure is Jain's index of the "
        "flows' goodputs, 1 where all are equal. Under policies goodput and round trip are over those of the same TCP "
        "alone, bold and slanted as above. Flows begin 0.5 s after each other; meshes are those of "
        "[bench-robust](robustness.md): 30 nodes on a square kilometre, flows between far ones. "
        f"{measured_with}"
    )
    of_exact = f"EXACT's flows in the same conditions (UDP, ns-3's place, M2), in kb/s: {exact}."
    return f"""## {HEAD}

{textwrap.fill(about, LINE_CHARACTERS)}

{tables}
{textwrap.fill(of_exact, LINE_CHARACTERS)}
"""
