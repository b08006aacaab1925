# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/exact_on_meshes.md, from what bench-mesh has measured.

What is known of a mesh that does not hold is written by hand in mesh_tried.yaml, by the mesh's name; under `all` what
was tried for all of them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import yaml
from perhop import files, paths
from perhop.errors import PerhopError

LINE_CHARACTERS = 120
TRIED = Path(__file__).with_name("mesh_tried.yaml")


class Mesh(Protocol):
    """What the page needs of a random mesh."""

    ratios: list[float]
    control_share: float
    loss: float

    @property
    def gap(self) -> float:
        """How far the flow that is farthest from its optimum is from it."""


def tried() -> dict[str, str]:
    """What was tried, by the name of a mesh or `all`."""
    return yaml.safe_load(TRIED.read_text(encoding="utf-8")) or {}


def write(
    grids: Mapping[int, Mapping[str, Any]],
    meshes: Mapping[int, Mesh],
    paced: Mapping[int, Mesh],
    answered: Mapping[int, Mesh],
    paced_share: float,
    failed: list[str],
    holds: Callable[[Mesh], bool],
    page: Path,
) -> None:
    """The page. Raises PerhopError when mesh_tried.yaml says something of a mesh that holds, or of none."""
    notes = tried()
    far = {f"mesh-{number}" for number, each in meshes.items() if not holds(each)}
    if unknown := sorted(set(notes) - far - {"all"}):
        raise PerhopError(f"{TRIED.name} says why {', '.join(unknown)} does not hold, but it does", "mend it")
    files.write_text(page, text_of(grids, meshes, paced, answered, paced_share, failed, holds, notes))


def text_of(
    grids: Mapping[int, Mapping[str, Any]],
    meshes: Mapping[int, Mesh],
    paced: Mapping[int, Mesh],
    answered: Mapping[int, Mesh],
    paced_share: float,
    failed: list[str],
    holds: Callable[[Mesh], bool],
    notes: Mapping[str, str],
) -> str:
    """The page."""
    within = sum(map(holds, meshes.values()))
    alone = sum(map(holds, paced.values()))
    mac = sum(map(holds, answered.values()))
    both = sum(holds(each) for number, each in meshes.items() if holds(answered[number]))
    conclusion = (
        f"Of {len(meshes)} random meshes {within} have every flow within 20 % of its max-min optimum on the air. UDP "
        f"flows that are paced at {paced_share:g} of the optimum for good get there on {alone} where no packet goes "
        f"back, and on {mac} where small packets go back as often as EXACT's reports; EXACT's flows do on {both} of "
        f"these {mac}. Hellos take at most {max(each.control_share for each in meshes.values()):.1%} of a station's "
        f"time."
    )
    rows = [
        f"| {number} | {_ratios(each)} | {each.loss:.1%} | {each.control_share:.2%} | {_ratios(paced[number])} | "
        f"{_ratios(answered[number])} | {'yes' if holds(each) else '**no**'} |"
        for number, each in meshes.items()
    ]
    grid_rows = [
        f"| {side}x{side} | {mode.upper()} | {cell.goodput_bps / 1e3:.0f} | {cell.jain:.3f} | "
        f"{cell.product_bps / 1e3:.0f} | {cell.loss:.1%} | {cell.control_share:.2%} |"
        for side, modes in grids.items()
        for mode, cell in modes.items()
    ]
    return f"""# EXACT on meshes

{textwrap.fill(conclusion, LINE_CHARACTERS)}

Written by `sim/bench/bench_mesh.py --document`; `make bench-mesh` measures the same. Version
{paths.version()["git"]}.

{_failed_section(meshes, paced, answered, failed, holds, notes)}
## What is judged

Grids: two flows of four hops that cross in the middle of 5x5 and 9x9 nodes 250 m apart. M2's goodput times Jain's
index is at least M1's, its hellos take at most 3 % of the time of any station that senses them, and at most 5 % of its
packets are lost. Random meshes: 30 nodes on 1 km x 1 km, six flows between any of them, under M2, on meshes that no
constant was chosen on (`perhop-exact meshes`). What each flow delivers, as a mean over seeds, is within 20 % of its
max-min optimum. That is the one of linear programs over the sets of links that exclude each other, with 0.9 of the
channel time given out. Runs of 70 s, of which 60 s count.

## Two flows that cross in a grid

| grid | mode | kb/s | Jain's index | kb/s times Jain's index | lost | hellos' share of air |
|---|---|---|---|---|---|---|
{chr(10).join(grid_rows)}

## Random meshes

What each flow delivered over its optimum: under EXACT (M2), as UDP that is paced at {paced_share:g} of it, and as such
UDP with a packet of 40 bytes back as often as EXACT reports (answered UDP).

| mesh | flows | lost | hellos' share of air | paced UDP | answered UDP | holds |
|---|---|---|---|---|---|---|
{chr(10).join(rows)}
"""


def _failed_section(
    meshes: Mapping[int, Mesh],
    paced: Mapping[int, Mesh],
    answered: Mapping[int, Mesh],
    failed: list[str],
    holds: Callable[[Mesh], bool],
    notes: Mapping[str, str],
) -> str:
    """What does not hold, each mesh with what was tried."""
    if not failed:
        return ""
    lines = [f"- {sentence}." for sentence in failed]
    for number, each in meshes.items():
        if holds(each):
            continue
        alone, mac = (
            "holds" if holds(udp) else f"misses it, too, by {udp.gap:.0%}" for udp in (paced[number], answered[number])
        )
        note = " ".join(notes.get(f"mesh-{number}", "Nothing was tried for it alone.").split())
        lines.append(
            f"- **mesh {number}**: a flow is {each.gap:.0%} off. Paced UDP {alone}, answered UDP {mac}. {note}"
        )
    every = f"\n\n{textwrap.fill(' '.join(notes['all'].split()), LINE_CHARACTERS)}" if "all" in notes else ""
    return "## Where it does not hold\n\n" + "\n".join(lines) + every + "\n"


def _ratios(mesh: Mesh) -> str:
    return " ".join(f"{ratio:.2f}" for ratio in mesh.ratios)
