# SPDX-License-Identifier: GPL-2.0-or-later
"""How far above theory the Es/N0 lies at which 8 % of the frames are lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from perhop.report.figures import COLOURS, MARKERS, drawing

from phy_bench import frame_errors
from phy_bench.frame_errors import PER_LIMIT, RATE_NAMES, Point
from phy_bench.points import Bench
from phy_bench.sections.section import LOSS_DB, Section, table

OFFSETS_DB = (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0)


@dataclass
class Curve:
    """Frame errors over Es/N0 of one rate, with the worst offsets or without any."""

    rate: int
    offsets: bool
    points: list[tuple[float, float, float]]
    """Es/N0 in dB, frame error rate, bit error rate."""
    limit_db: float | None

    @property
    def loss_db(self) -> float | None:
        """Above theory's Es/N0."""
        return None if self.limit_db is None else self.limit_db - frame_errors.theory_point_db(self.rate)

    @property
    def name(self) -> str:
        return f"{RATE_NAMES[self.rate]}, {'worst offsets' if self.offsets else 'no offsets'}"

    @property
    def limit(self) -> str:
        return "never" if self.limit_db is None else f"{self.limit_db:.2f} dB ({self.loss_db:+.2f})"


class FrameErrors(Section):
    """At the worst offsets at most LOSS_DB above theory."""

    title = "Frame errors"

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self.curves: list[Curve] = []

    def measure(self, bench: Bench) -> None:
        works = {
            (rate, offsets, away): Point(rate, frame_errors.theory_point_db(rate) + away, self._frames, offsets)
            for rate in RATE_NAMES
            for offsets in (True, False)
            for away in OFFSETS_DB
        }
        found = bench.by_name(works)
        for rate, offsets in dict.fromkeys((rate, offsets) for rate, offsets, _ in works):
            rows = [
                (
                    works[rate, offsets, away].es_n0_db,
                    found[rate, offsets, away]["per"],
                    found[rate, offsets, away]["ber"],
                )
                for away in OFFSETS_DB
            ]
            limit_db = frame_errors.limit_db([(es_n0_db, per) for es_n0_db, per, _ in rows], self._frames)
            self.curves.append(Curve(rate, offsets, rows, limit_db))

    def lines(self) -> list[str]:
        lines = []
        for curve in self.curves:
            theory_db = frame_errors.theory_point_db(curve.rate)
            lines.append(f"{curve.name}: {PER_LIMIT:.0%} frame errors at {curve.limit}; theory {theory_db:.2f} dB")
            lines += [
                f"  Es/N0 {es_n0_db:5.1f} dB  frame errors {per:6.3f} "
                f"(theory {frame_errors.theory_per(curve.rate, es_n0_db):6.3f})  bit errors {ber:.1e}"
                for es_n0_db, per, ber in curve.points
            ]
        return lines

    def wrong(self) -> list[str]:
        return [
            f"{curve.name}: {curve.limit}, the bound is theory + {LOSS_DB[curve.rate]} dB"
            for curve in self.curves
            if curve.offsets and (curve.loss_db is None or curve.loss_db > LOSS_DB[curve.rate])
        ]

    def page(self, folder: Path) -> str:
        draw(self.curves, folder / "frame_errors.svg")
        rows = [
            (
                curve.name,
                f"{frame_errors.theory_point_db(curve.rate):.1f}",
                "-" if curve.limit_db is None else f"{curve.limit_db:.1f}",
                "-" if curve.loss_db is None else f"{curve.loss_db:+.1f}",
                f"{LOSS_DB[curve.rate]:.1f}" if curve.offsets else "",
            )
            for curve in self.curves
        ]
        return f"""{self._frames} frames of {frame_errors.OCTETS} octets a point, long preamble. Theory is ideal
differential detection of every symbol (R. F. Pawula, 1982).

{table(("", "theory: 8 % at (dB)", "measured (dB)", "above theory (dB)", "bound (dB)"), rows)}

![Frame errors over Es/N0](frame_errors.svg)"""

    def result(self) -> dict[str, Any]:
        per: dict[str, dict[str, float | None]] = {}
        for curve in self.curves:
            key = f"{'worst' if curve.offsets else 'clean'}_db"
            per.setdefault(str(curve.rate + 1), {})[key] = None if curve.limit_db is None else round(curve.limit_db, 2)
        curves = {
            curve.name: {
                "theory_db": round(frame_errors.theory_point_db(curve.rate), 2),
                "limit_db": None if curve.limit_db is None else round(curve.limit_db, 2),
                "loss_db": None if curve.loss_db is None else round(curve.loss_db, 2),
                "points": [[round(es_n0_db, 2), per, ber] for es_n0_db, per, ber in curve.points],
            }
            for curve in self.curves
        }
        return {"per": per, "curves": curves}


def draw(curves: Sequence[Curve], file: Path) -> None:
    """Each rate's curves beside theory."""
    with drawing(file, columns=2) as (_, axes):
        for axis, rate in zip(axes, RATE_NAMES, strict=True):
            point_db = frame_errors.theory_point_db(rate)
            fine = np.linspace(point_db - 1.5, point_db + 2.5, 80)
            theory = [frame_errors.theory_per(rate, value) for value in fine]
            axis.plot(fine, theory, color="#7F7F7F", label="theory: differential detection")
            for number, curve in enumerate(each for each in curves if each.rate == rate):
                shown = [(es_n0_db, per) for es_n0_db, per, _ in curve.points if per]
                style = {"color": COLOURS[number], "marker": MARKERS[number], "linewidth": 1.8}
                axis.plot(*zip(*shown, strict=True), label=curve.name.partition(", ")[2], **style)
            axis.axhline(PER_LIMIT, color="#5B6673", linewidth=0.8, linestyle="--")
            axis.text(fine[0], PER_LIMIT * 1.08, "8 %", color="#5B6673", fontsize=9)
            axis.set_yscale("log")
            axis.set_ylim(1e-3, 1)
            axis.set_title(f"{RATE_NAMES[rate]}, frames of {frame_errors.OCTETS} octets", loc="left")
            axis.set_xlabel("Es/N0 (dB)")
            axis.set_ylabel("frame error rate")
            axis.legend(loc="lower left")
